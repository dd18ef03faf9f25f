// The committed run on Ising lattices, shortened: phase and temperature from a configuration.
#include "tests/train/training_testing.h"

#include <cmath>
#include <string>
#include <vector>

namespace wellspring {
namespace {

// What the energy allows, docs/generators/algorithms/ising.md: no network is right more often. A
// sixtieth of the run is enough for 94 %; the standard error is 0.7 %.
TEST(IsingRun, LearnsThePhasesButNoMoreThanTheEnergyAllows) {
#ifdef WELLSPRING_SANITIZED
  GTEST_SKIP() << "a question of accuracy, slow under sanitizers";
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
  EXPECT_LT(result.heads[1].scores.at(0).value, 0.35) << "0.6: that of the mean temperature";
}

}  // namespace
}  // namespace wellspring
