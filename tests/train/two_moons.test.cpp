// Compares the shipped run of two_moons with the best possible error.
#include "tests/train/training_testing.h"

namespace wellspring {
namespace {

// The best possible root mean square error of either theta is 0.41102, as
// docs/generators/algorithms/sbi.md explains. Squared errors are below 4, with a mean of 0.17 and a
// standard deviation of about 0.2. For 100000 samples, five standard errors are 0.0032 for the mean
// and 0.004 for its root. The network may add 1 %.
TEST(TwoMoonsRun, ReachesTheBestPossibleError) {
#ifdef WELLSPRING_SANITIZED
  GTEST_SKIP() << "tests accuracy only and is slow under sanitizers";
#endif
  const test::TemporaryFolder folder;
  const RunConfig config = RunConfig::load(
      WELLSPRING_SOURCE_DIR "/configs/two_moons.yaml",
      std::vector<std::string>{"device=cpu", "threads=1", "eval.every=0",
                               "train.checkpoint_every=0", "out=" + folder.path().string()});
  TrainObserver observer;
  Trainer trainer(config, observer, test::quick());
  const EvaluationResult result = trainer.run().evaluation->results.at(0);
  ASSERT_EQ(result.heads.size(), 1u);
  int seen = 0;
  for (const Score& score : result.heads[0].scores) {
    if (!score.what.starts_with("rmse")) continue;
    ++seen;
    EXPECT_NEAR(score.best.value_or(0), 0.41102, 1e-5);
    EXPECT_NEAR(score.value, 0.41102, 0.008) << score.what;
  }
  EXPECT_EQ(seen, 2);
}

}  // namespace
}  // namespace wellspring
