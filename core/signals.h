// What ends a run by its own will: signals as a flag that long work looks at in between. Installed
// by the command line, looked at by the trainer, by evaluations and by what reads data; host only.
#pragma once

#include <array>
#include <signal.h>

namespace wellspring {

/// Thrown where work ends early because a signal asked for it. No std::exception: nothing failed.
struct Interrupted {};

/// While it lives, the signals that ask a program to end only raise a flag; a second SIGINT ends
/// the process at once with status 130, as shells report it. SIGHUP and SIGPIPE stay ignored where
/// they were (nohup). At most one lives at a time. Restores what was installed before.
class SignalGuard {
 public:
  /// Written to standard error by the handler, as they are: the first time that the flag is raised
  /// and at the first SIGINT; and before the second one ends the process. Null: nothing is said.
  struct Words {
    const char* stopping = nullptr;  ///< must outlive the guard, as the other
    const char* ended = nullptr;
  };
  SignalGuard() : SignalGuard(Words{}) {}
  explicit SignalGuard(Words words);
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

  /// What people, terminals and batch systems send, the soft limit of processor time, and a pipe
  /// whose reader is gone (the write fails then, with EPIPE).
  static constexpr std::array<int, 7> kSignals = {SIGINT, SIGTERM, SIGUSR1, SIGUSR2,
                                                  SIGHUP, SIGXCPU, SIGPIPE};

 private:
  std::array<struct sigaction, kSignals.size()> previous_{};
};

/// True once one of the signals has come, while a SignalGuard lives.
bool interrupt_requested() noexcept;
/// Throws Interrupted once one of them has come.
void stop_if_interrupted();
/// As a signal would; for tests and for programs that embed the library.
void request_interrupt() noexcept;
/// Forgets signals that have come.
void clear_interrupt() noexcept;

}  // namespace wellspring
