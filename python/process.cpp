#include "python/process.h"

#include "core/error.h"
#include "core/signals.h"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <pthread.h>
#include <signal.h>

namespace wellspring::python {
namespace {

/// Whether threads work in this process. A forked child inherits only their traces.
enum class Threads : std::uint8_t { none, own, inherited };
std::atomic<Threads> threads{Threads::none};

void after_fork() {
  if (threads == Threads::own) threads = Threads::inherited;
}

struct sigaction previous;
std::mutex bridge;
int bridges = 0;

void on_interrupt(int signal, siginfo_t* info, void* context) {
  request_interrupt();
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(signal, info, context);
  } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(signal);
  }
}

}  // namespace

void expect_own_threads() {
  if (threads == Threads::own) return;  // every batch asks, so without a system call
  static const int watched = pthread_atfork(nullptr, nullptr, after_fork);
  static_cast<void>(watched);
  Threads none = Threads::none;
  if (threads.compare_exchange_strong(none, Threads::own) || none == Threads::own) return;
  fail(ErrorKind::runtime,
       {"this process was forked after Wellspring had started threads",
        "the threads do not exist in the child, which would wait for them forever",
        "start processes with multiprocessing's method 'spawn' or 'forkserver', or fork before the "
        "first batch"});
}

InterruptBridge::InterruptBridge() {
  const std::lock_guard lock(bridge);
  if (bridges++ > 0) return;
  clear_interrupt();
  struct sigaction action = {};
  action.sa_sigaction = on_interrupt;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, nullptr, &previous);
  sigaction(SIGINT, &action, nullptr);
}

InterruptBridge::~InterruptBridge() {
  const std::lock_guard lock(bridge);
  if (--bridges > 0) return;
  sigaction(SIGINT, &previous, nullptr);
  clear_interrupt();
}

}  // namespace wellspring::python
