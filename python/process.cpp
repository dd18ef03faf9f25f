#include "python/process.h"

#include "core/error.h"
#include "core/signals.h"

#include <atomic>
#include <mutex>
#include <new>
#include <pthread.h>
#include <signal.h>

namespace wellspring::python {
namespace {

/// True once threads work. A child that is forked later does not have them.
std::atomic<bool> started = false, lost = false;

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
  static const int refused = pthread_atfork(nullptr, nullptr, [] { lost.store(started.load()); });
  if (refused != 0) throw std::bad_alloc();
  started.store(true, std::memory_order_relaxed);
  if (!lost.load(std::memory_order_relaxed)) return;
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
