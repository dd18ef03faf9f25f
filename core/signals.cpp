#include "core/signals.h"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <time.h>
#include <unistd.h>

namespace wellspring {
namespace {

// Globals are a signal handler's only way to communicate; the library has no other globals.
std::atomic<bool> requested{false};
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();
std::atomic<std::int64_t> first_interrupt{kNever};  ///< time in ns
std::atomic<std::int64_t> one_interrupt{0};         ///< ns
std::atomic<bool> installed{false};
std::atomic<const char*> stopping{nullptr}, ended{nullptr};
static_assert(std::atomic<bool>::is_always_lock_free &&
              std::atomic<std::int64_t>::is_always_lock_free &&
              std::atomic<const char*>::is_always_lock_free);

// 128 + SIGINT, as shells report a process that Ctrl-C ended.
constexpr int kInterrupted = 130;

/// write(2) and strlen(3) may be called from handlers (POSIX.1-2016, 2.4.3).
void print(const char* text) {
  if (text == nullptr) return;
  [[maybe_unused]] const ssize_t nobody_to_tell = ::write(STDERR_FILENO, text, std::strlen(text));
}

/// clock_gettime(2) may also be called from handlers.
std::int64_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

enum class Interrupt { none, first, same, second };

Interrupt count_interrupt(int signal) {
  if (signal != SIGINT) return Interrupt::none;
  std::int64_t first = kNever;
  const std::int64_t time = now();
  if (first_interrupt.compare_exchange_strong(first, time)) return Interrupt::first;
  return time - first < one_interrupt ? Interrupt::same : Interrupt::second;
}

// Only raises the flag and prints a message. Everything else, especially file access, is left to
// the code that polls the flag.
extern "C" void raise_flag(int signal) {
  const int before = errno;
  const bool first = !requested.exchange(true);
  const Interrupt interrupt = count_interrupt(signal);
  if (interrupt == Interrupt::second) {
    print(ended);
    _exit(kInterrupted);
  }
  if (first || interrupt == Interrupt::first) print(stopping);
  errno = before;
}

/// The parent process may have chosen to ignore these signals, as nohup does.
bool stays_ignored(int signal, const struct sigaction& previous) {
  return (signal == SIGHUP || signal == SIGPIPE) && previous.sa_handler == SIG_IGN;
}

}  // namespace

SignalGuard::SignalGuard(Words words, std::chrono::nanoseconds one_interrupt_lasts) {
  if (installed.exchange(true)) throw std::logic_error("only one SignalGuard may exist");
  clear_interrupt();
  one_interrupt = one_interrupt_lasts.count();
  say(words);
  struct sigaction action {};
  action.sa_handler = raise_flag;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;  // interrupted reads and writes continue
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &previous_[i]);
    if (!stays_ignored(kSignals[i], previous_[i])) sigaction(kSignals[i], &action, nullptr);
  }
}

void SignalGuard::say(Words words) noexcept {
  stopping = words.stopping;
  ended = words.ended;
}

SignalGuard::~SignalGuard() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &previous_[i], nullptr);
  clear_interrupt();
  stopping = ended = nullptr;
  installed = false;
}

bool interrupt_requested() noexcept {
  return requested.load(std::memory_order_relaxed);
}
void stop_if_interrupted() {
  if (interrupt_requested()) throw Interrupted{};
}
void request_interrupt() noexcept {
  requested = true;
}
void clear_interrupt() noexcept {
  requested = false;
  first_interrupt = kNever;
}

}  // namespace wellspring
