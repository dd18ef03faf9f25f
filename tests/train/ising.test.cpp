// A shortened version of the shipped run on Ising lattices: phase and temperature of a spin
// configuration.
#include "tests/train/training_testing.h"

#include <cmath>
#include <string>
#include <vector>

namespace wellspring {
namespace {

// The energy bounds the accuracy of any network (docs/generators/algorithms/ising.md). One sixtieth
// of the run reaches 94 %; the standard error is 0.7 %.
TEST(IsingRun, LearnsPhasesUpToTheBoundOfTheEnergy) {
#ifdef WELLSPRING_SANITIZED
  GTEST_SKIP() << "tests accuracy only and is slow under sanitizers";
#endif
  constexpr double kBest = 0.953;
  const std::vector<std::string> shortened = {
      "device=cpu",     "threads=1",      "eval.every=0",     "train.ema=0",
      "train.steps=40", "train.batch=64", "eval.samples=1000"};
  test::Listener listener;
  Trainer trainer(RunConfig::load(WELLSPRING_SOURCE_DIR "/configs/ising.yaml", shortened), listener,
                  test::in_memory());
  const EvaluationResult result = trainer.run().evaluation->results.at(0);
  ASSERT_TRUE(result.accuracy.has_value());
  EXPECT_GT(*result.accuracy, 0.88);
  EXPECT_LT(*result.accuracy, kBest + 5 * std::sqrt(kBest * (1 - kBest) / 1000));
  ASSERT_EQ(result.heads.size(), 2u);
  EXPECT_EQ(result.heads[1].scores.at(0).what, "rmse of temperature");
  EXPECT_LT(result.heads[1].scores.at(0).value, 0.35) << "the mean temperature alone gives 0.6";
}

}  // namespace
}  // namespace wellspring
