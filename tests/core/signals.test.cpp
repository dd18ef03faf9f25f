#include "core/signals.h"

#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

namespace wellspring {
namespace {

/// Restores the default action, because the parent process may ignore the signal (nohup).
class DefaultAction {
 public:
  explicit DefaultAction(int signal) : signal_(signal), before_(::signal(signal, SIG_DFL)) {}
  ~DefaultAction() { ::signal(signal_, before_); }
  DefaultAction(const DefaultAction&) = delete;
  DefaultAction& operator=(const DefaultAction&) = delete;

 private:
  int signal_;
  sighandler_t before_;
};

/// Without a grace period, every further SIGINT counts.
constexpr std::chrono::nanoseconds kAtOnce{0};

class GuardedSignal : public testing::TestWithParam<int> {};

TEST_P(GuardedSignal, OnlyRaisesTheFlag) {
  const DefaultAction default_action(GetParam());
  const SignalGuard guard;
  EXPECT_FALSE(interrupt_requested());
  EXPECT_NO_THROW(stop_if_interrupted());
  raise(GetParam());
  EXPECT_TRUE(interrupt_requested());
  EXPECT_THROW(stop_if_interrupted(), Interrupted);
}
INSTANTIATE_TEST_SUITE_P(Each, GuardedSignal, testing::ValuesIn(SignalGuard::kSignals));

class IgnoredSignal : public testing::TestWithParam<int> {};

TEST_P(IgnoredSignal, StaysIgnored) {
  const DefaultAction default_action(GetParam());
  ::signal(GetParam(), SIG_IGN);
  const SignalGuard guard;
  raise(GetParam());
  EXPECT_FALSE(interrupt_requested());
}
INSTANTIATE_TEST_SUITE_P(Each, IgnoredSignal, testing::Values(SIGHUP, SIGPIPE));

TEST(SignalGuard, ExitsWith130AfterASecondInterrupt) {
  EXPECT_EXIT(
      {
        const SignalGuard guard({}, kAtOnce);
        raise(SIGINT);
        raise(SIGINT);
        std::exit(0);
      },
      testing::ExitedWithCode(130), "");
}

// timeout(1) signals its child and then the whole process group, so the child gets two signals.
TEST(SignalGuard, CountsInterruptsWithinHalfASecondAsOne) {
  EXPECT_EQ(SignalGuard::kOneInterrupt, std::chrono::milliseconds(500));
  EXPECT_EXIT(
      {
        const SignalGuard guard({}, std::chrono::hours(1));
        for (int i = 0; i < 3; ++i) raise(SIGINT);
        std::exit(interrupt_requested() ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(SignalGuard, SurvivesRepeatedTerminations) {
  const SignalGuard guard;
  raise(SIGTERM);
  raise(SIGTERM);
  raise(SIGINT);
  EXPECT_TRUE(interrupt_requested());
}

/// Standard error of a child process that raises `signals` one by one, with the given messages.
std::string stderr_after(std::vector<int> signals, std::chrono::nanoseconds one = kAtOnce,
                         SignalGuard::Words later = {}) {
  const test::TemporaryFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    const int file = open((folder / "said").c_str(), O_CREAT | O_WRONLY, 0600);
    if (dup2(file, STDERR_FILENO) < 0) _exit(1);
    SignalGuard guard({.stopping = "stopping\n", .ended = "ended\n"}, one);
    if (later.stopping != nullptr) guard.say(later);
    for (const int signal : signals) {
      errno = EDOM;
      raise(signal);
      if (errno != EDOM) _exit(1);  // the handler must preserve errno
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) != 1);
  return test::slurp(folder / "said");
}

TEST(SignalGuard, PrintsItsMessageImmediately) {
  EXPECT_EQ(stderr_after({SIGTERM, SIGTERM}), "stopping\n");
  EXPECT_EQ(stderr_after({SIGINT, SIGTERM}), "stopping\n");
  EXPECT_EQ(stderr_after({SIGTERM, SIGINT}), "stopping\nstopping\n") << "Ctrl-C has its own answer";
  EXPECT_EQ(stderr_after({SIGINT, SIGINT}), "stopping\nended\n");
  EXPECT_EQ(stderr_after({SIGINT, SIGINT}, std::chrono::hours(1)), "stopping\n");
}

TEST(SignalGuard, PrintsItsLatestMessage) {
  EXPECT_EQ(stderr_after({SIGINT, SIGINT}, kAtOnce, {.stopping = "later\n", .ended = "done\n"}),
            "later\ndone\n");
}

TEST(SignalGuard, RefusesASecondGuard) {
  const SignalGuard guard;
  EXPECT_THROW(SignalGuard(), std::logic_error);
}

TEST(SignalGuard, RestoresTheOldHandlers) {
  struct sigaction before {
  }, after{};
  sigaction(SIGTERM, nullptr, &before);
  { const SignalGuard guard; }
  sigaction(SIGTERM, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
  EXPECT_FALSE(interrupt_requested());
}

}  // namespace
}  // namespace wellspring
