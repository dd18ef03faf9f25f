#include "train/signals.h"

#include <atomic>
#include <stdexcept>
#include <unistd.h>

namespace wellspring {
namespace {

// A signal handler has no other way to speak; nothing else of the library is global.
std::atomic<bool> requested{false};
std::atomic<bool> installed{false};
static_assert(std::atomic<bool>::is_always_lock_free);

// 128 + SIGINT: what shells report for a process that Ctrl-C ended.
constexpr int kInterrupted = 130;

// Does nothing but raise the flag: everything else, file access above all, waits for the trainer.
extern "C" void raise_flag(int signal) {
  if (requested.exchange(true) && signal == SIGINT) _exit(kInterrupted);
}

}  // namespace

SignalGuard::SignalGuard() {
  if (installed.exchange(true)) throw std::logic_error("two SignalGuards at a time");
  requested = false;
  struct sigaction action {};
  action.sa_handler = raise_flag;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;  // reads and writes under way go on
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &previous_[i]);
}

SignalGuard::~SignalGuard() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &previous_[i], nullptr);
  requested = false;
  installed = false;
}

bool interrupt_requested() noexcept {
  return requested.load(std::memory_order_relaxed);
}
void request_interrupt() noexcept {
  requested = true;
}
void clear_interrupt() noexcept {
  requested = false;
}

}  // namespace wellspring
