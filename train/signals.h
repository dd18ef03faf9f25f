// SIGINT, SIGTERM and SIGUSR1 as a flag that the trainer looks at between steps. Called by the
// command line; host only.
#pragma once

#include <array>
#include <signal.h>

namespace wellspring {

/// While it lives, the three signals only raise a flag; a second SIGINT ends the process at once
/// with status 130, as shells report it. At most one lives at a time. Restores what was installed
/// before.
class SignalGuard {
 public:
  SignalGuard();
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

  static constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGUSR1};

 private:
  std::array<struct sigaction, kSignals.size()> previous_{};
};

/// True once one of the signals has come, while a SignalGuard lives.
bool interrupt_requested() noexcept;
/// As a signal would; for tests and for programs that embed the library.
void request_interrupt() noexcept;
/// Forgets signals that have come.
void clear_interrupt() noexcept;

}  // namespace wellspring
