#include "train/signals.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <stdexcept>

namespace wellspring {
namespace {

class Signal : public testing::TestWithParam<int> {};

TEST_P(Signal, RaisesTheFlagOnly) {
  const SignalGuard guard;
  EXPECT_FALSE(interrupt_requested());
  raise(GetParam());
  EXPECT_TRUE(interrupt_requested());
}
INSTANTIATE_TEST_SUITE_P(Each, Signal, testing::ValuesIn(SignalGuard::kSignals));

TEST(Signals, ASecondInterruptEndsTheProcessWith130) {
  EXPECT_EXIT(
      {
        const SignalGuard guard;
        raise(SIGINT);
        raise(SIGINT);
        std::exit(0);
      },
      testing::ExitedWithCode(130), "");
}

TEST(Signals, ASecondTerminationWaits) {
  const SignalGuard guard;
  raise(SIGTERM);
  raise(SIGTERM);
  EXPECT_TRUE(interrupt_requested());
}

TEST(Signals, OneGuardAtATime) {
  const SignalGuard guard;
  EXPECT_THROW(SignalGuard(), std::logic_error);
}

TEST(Signals, TheGuardRestoresWhatWasInstalled) {
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
