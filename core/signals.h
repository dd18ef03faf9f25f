// Graceful stop: signals set a flag that long work polls. Installed by the command line, polled by
// the trainer, evaluations and data readers; host only.
#pragma once

#include <array>
#include <chrono>
#include <signal.h>

namespace wellspring {

/// Thrown when work ends early because of a signal. Not a std::exception, because nothing failed.
struct Interrupted {};

/// During its lifetime, signals that ask a program to end only raise a flag. A second SIGINT ends
/// the process immediately with status 130, as shells report it. SIGINTs within half a second of
/// the first count as one, because timeout(1) and job managers signal the process and then its
/// group. If SIGHUP or SIGPIPE was already ignored (nohup), it stays ignored. At most one guard may
/// exist at a time. Restores the previous handlers.
class SignalGuard {
 public:
  /// Messages that the handler writes to stderr; null: none. It writes `stopping` when the flag is
  /// first raised and at the first SIGINT, and `ended` before the second SIGINT ends the process.
  struct Words {
    const char* stopping = nullptr;  ///< both must outlive the guard
    const char* ended = nullptr;
  };
  static constexpr std::chrono::milliseconds kOneInterrupt{500};
  SignalGuard() : SignalGuard(Words{}) {}
  /// `one_interrupt`: time during which further SIGINTs count as the first one.
  explicit SignalGuard(Words words, std::chrono::nanoseconds one_interrupt = kOneInterrupt);
  /// Replaces the messages.
  void say(Words words) noexcept;
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

  /// Signals from people, terminals and batch systems, the soft limit on CPU time, and SIGPIPE for
  /// a pipe without a reader (the write then fails with EPIPE).
  static constexpr std::array<int, 7> kSignals = {SIGINT, SIGTERM, SIGUSR1, SIGUSR2,
                                                  SIGHUP, SIGXCPU, SIGPIPE};

 private:
  std::array<struct sigaction, kSignals.size()> previous_{};
};

/// True after one of the signals has arrived during the lifetime of a SignalGuard.
bool interrupt_requested() noexcept;
/// Throws Interrupted if interrupt_requested().
void stop_if_interrupted();
/// Acts like a signal; for tests and for programs that embed the library.
void request_interrupt() noexcept;
/// Clears the flag.
void clear_interrupt() noexcept;

}  // namespace wellspring
