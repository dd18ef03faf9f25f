// `train` with keep_best, patience, max_time, epochs and --extend.
#include "tests/cli/train_testing.h"

namespace wellspring::test {
namespace {

TEST_F(Train, KeepsAndNamesTheBestCheckpoint) {
  const Outcome outcome = run({"train", "small.yaml", "train.keep_best=accuracy", "eval.every=5"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_parts(outcome.out, {"best             shapes.accuracy ", "runs/small/checkpoints/best"});
  const Outcome best = run({"eval", "runs/small/checkpoints/best"});
  EXPECT_EQ(best.exit_code, 0) << best.err;
  const Outcome from = run({"train", "small.yaml", "out=again", "train.steps=2",
                            "init.from=runs/small/checkpoints/best"});
  EXPECT_EQ(from.exit_code, 0) << from.err;
  const Outcome again = run({"train", "small.yaml", "train.keep_best=accuracy", "eval.every=5"});
  expect_parts(again.out, {"already finished", "shapes.accuracy "});
}

TEST_F(Train, StopsWithoutImprovementAndSuggestsMorePatience) {
  const Outcome outcome = run({"train", "small.yaml", "train.keep_best=accuracy", "eval.every=2",
                               "train.patience=2", "optimizer.lr=1e-30"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_parts(outcome.out, {"stopped by train.patience at step 6 of 20",
                             "the learning-rate schedule of 20 steps had not ended",
                             "a higher limit", "train.patience=4"});
  ASSERT_EQ(suggestions(outcome.out).size(), 1u) << outcome.out;
  const Outcome more = shell(suggestions(outcome.out)[0], folder());
  EXPECT_EQ(more.exit_code, 0) << more.err;
  expect_parts(more.out, {"resumed", "stopped by train.patience at step 10 of 20"});
}

TEST_F(Train, StopsAtTheTimeLimit) {
  const Outcome outcome = run({"train", "small.yaml", "train.max_time=0.001 s"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_parts(outcome.out, {", at most 1 ms", "stopped by train.max_time at step ", " of 20",
                             " of training", "held out, shapes: accuracy", "train.max_time="});
  const Outcome more = run({"train", "small.yaml", "train.max_time=1h"});
  EXPECT_EQ(more.exit_code, 0) << more.err;
  expect_parts(more.out, {"finished after 20 steps"});
}

TEST_F(Train, ExtendsARunThatHasEnded) {
  const std::vector<std::string> constant = {"train", "small.yaml", "optimizer.floor=1",
                                             "optimizer.warmup=0"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), constant.begin(), constant.end());
    return run(more);
  };
  expect_parts(with({"--extend", "10"}).err, {"--extend: runs/small has no checkpoint"});
  ASSERT_EQ(with({}).exit_code, 0);
  const Outcome longer = with({"--extend", "10"});
  EXPECT_EQ(longer.exit_code, 0) << longer.err;
  expect_parts(longer.out,
               {"extended from 20 steps to 30", "finished after 30 steps", "train.steps=60"});
  expect_parts(with({"--extend", "10"}).out, {"finished after 40 steps"});
  const Outcome shorter = with({});
  EXPECT_EQ(shorter.exit_code, 2);
  expect_parts(shorter.err, {"has 40 steps, but the configuration has only 20", "train.steps=40"});
  EXPECT_EQ(with({"--extend", "0"}).exit_code, 2);
  EXPECT_EQ(with({"--extend", "5", "--resume", "never"}).exit_code, 2);
  const std::string extended = weights();
  fs::remove_all(folder() / "runs");
  ASSERT_EQ(with({"train.steps=40"}).exit_code, 0);
  EXPECT_TRUE(weights() == extended);
}

TEST_F(Train, NamesTheCommandThatContinuesAnExtension) {
  const std::vector<std::string> command = {"train",
                                            "small.yaml",
                                            "optimizer.floor=1",
                                            "optimizer.warmup=0",
                                            "eval.every=2",
                                            "optimizer.lr=0",
                                            "train.keep_best=loss",
                                            "train.patience=2",
                                            "train.steps=20",
                                            "--extend",
                                            "10"};
  const std::vector<std::string> first(command.begin(), command.end() - 2);
  ASSERT_EQ(run(first).exit_code, 0);  // at step 6
  const Outcome outcome = run(command);
  EXPECT_EQ(outcome.exit_code, 2);
  expect_parts(outcome.err,
               {"at step 6 of 20, stopped by train.patience", "without --extend: ",
                "small.yaml optimizer.floor=1 optimizer.warmup=0 eval.every=2 optimizer.lr=0 "
                "train.keep_best=loss train.steps=20 train.patience=4"});
}

}  // namespace
}  // namespace wellspring::test
