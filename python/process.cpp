#include "python/process.h"

#include "core/error.h"
#include "core/signals.h"

#include <atomic>
#include <mutex>
#include <signal.h>
#include <unistd.h>

namespace wellspring::python {
namespace {

/// The process whose threads work; 0: none yet. A forked child inherits its parent's number.
std::atomic<pid_t> owner{0};

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
  pid_t none = 0;
  if (owner.compare_exchange_strong(none, getpid()) || none == getpid()) return;
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
