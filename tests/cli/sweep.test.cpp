// `sweep` and the features of trained networks on the command line.
#include "tests/cli/train_testing.h"
#include "tests/support/image_fixtures.h"

#include <chrono>
#include <csignal>
#include <thread>

namespace wellspring::test {
namespace {

class Sweeps : public Train {
 protected:
  Outcome sweep(std::vector<std::string> more) const {
    std::vector<std::string> arguments = {"sweep", "small.yaml", "--out", "s"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
};

TEST_F(Sweeps, RunEachCombinationOnce) {
  const std::vector<std::string> two = {"train.steps=5", "--over", "optimizer.lr=0.01,0.1",
                                        "--seeds", "1"};
  const Outcome first = sweep(two);
  EXPECT_EQ(first.exit_code, 0) << first.err;
  expect_parts(first.out,
               {"[1/2] lr=0.01,seed=1: started", "[2/2] lr=0.1,seed=1: finished: accuracy",
                "lr    runs  accuracy", "0.01  1"});
  EXPECT_TRUE(fs::exists(folder() / "s/lr=0.1,seed=1/report.html"));
  const std::string metrics = slurp(folder() / "s/lr=0.1,seed=1/metrics.jsonl");
  const Outcome more = sweep({"train.steps=5", "--over", "optimizer.lr=0.01,0.1", "--seeds", "1,2",
                              "--jobs", "2", "--figure", "shapes.loss"});
  EXPECT_EQ(more.exit_code, 0) << more.err;
  expect_parts(more.out, {"[1/4] lr=0.01,seed=1: finished before: shapes.loss",
                          "[4/4] lr=0.1,seed=2: started", "0.1   2", "sweep.html"});
  EXPECT_EQ(more.out.find("lr=0.1,seed=1: started"), std::string::npos) << more.out;
  EXPECT_EQ(slurp(folder() / "s/lr=0.1,seed=1/metrics.jsonl"), metrics);
}

/// The trainer completes train.epochs and `normalise` from the files, and stores them.
TEST_F(Sweeps, ContinueRunsOnFiles) {
  write_image_folder(folder() / "photos", 2, 10, 8, 8);
  spill(config(), R"(name: small
device: cpu
threads: 1
data: {size: 8, sources: [{name: photos, kind: files, path: photos, resize: 8}]}
eval: {sources: [{of: photos, fraction: 0.4}]}
model: {name: mlp}
train: {batch: 4}
)");
  for (const std::string length : {"train.steps=6", "train.epochs=2"}) {
    SCOPED_TRACE(length);
    fs::remove_all(folder() / "s");
    const Outcome first = sweep({length, "--seeds", "1"});
    ASSERT_EQ(first.exit_code, 0) << first.err;
    const std::string log = slurp(folder() / "s/seed=1.log");
    const Outcome more = sweep({length, "--seeds", "1,2"});
    EXPECT_EQ(more.exit_code, 0) << more.err;
    expect_parts(more.out, {"[1/2] seed=1: finished before: accuracy", "[2/2] seed=2: started"});
    EXPECT_EQ(slurp(folder() / "s/seed=1.log"), log);
    fs::remove(folder() / "s/seed=1/report.html");  // as if it had been stopped
    const Outcome rest = sweep({length, "--seeds", "1,2"});
    EXPECT_EQ(rest.exit_code, 0) << rest.err;
    expect_parts(rest.out, {"seed=1: finished: accuracy", "seed=2: finished before"});
  }
  const Outcome other = sweep({"train.epochs=3", "--seeds", "1"});
  EXPECT_EQ(other.exit_code, 2) << other.out;
  expect_parts(other.err, {"cannot be extended"});
}

TEST_F(Sweeps, ShareThreadsUnlessTheirNumberIsSet) {
  const auto threads_of = [&](const std::string& value, const std::vector<std::string>& more) {
    std::string text = kConfig;
    text.replace(text.find("threads: 1"), 10, "threads: " + value);
    spill(config(), text);
    std::vector<std::string> arguments = {"sweep", "small.yaml", "train.steps=5", "--jobs",
                                          "2",     "--out",      "s" + value};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = wellspring(arguments, folder(), {{"OMP_NUM_THREADS", "6"}});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const std::string resolved = slurp(folder() / ("s" + value) / "run/config.resolved.yaml");
    const std::size_t at = resolved.find("threads: ");
    return resolved.substr(at, resolved.find('\n', at) - at);
  };
  EXPECT_EQ(threads_of("0", {}), "threads: 3");
  EXPECT_EQ(threads_of("2", {}), "threads: 2");
  EXPECT_EQ(threads_of("4", {"threads=1"}), "threads: 1");
}

TEST_F(Sweeps, GoOnAfterAFailure) {
  const Outcome outcome = sweep({"train.steps=5", "--over", "memory=0.000001,0"});
  EXPECT_EQ(outcome.exit_code, 1);
  expect_parts(outcome.out, {"memory=0.000001: failed (", "see s/memory=0.000001.log",
                             "memory=0: finished: accuracy", "0 of 1"});
  expect_parts(outcome.err, {"1 run of the sweep failed"});
}

TEST_F(Sweeps, RefuseAnyBadConfigurationFirst) {
  const Outcome outcome = sweep({"--over", "train.batch=8,no"});
  EXPECT_EQ(outcome.exit_code, 2);
  expect_parts(outcome.err, {"'batch' must be an integer, got 'no'"});
  EXPECT_FALSE(fs::exists(folder() / "s"));
  EXPECT_EQ(sweep({"eval.sources=[]"}).exit_code, 2);
}

TEST_F(Sweeps, RefuseAnUnknownFigureAndOtherSettingsFirst) {
  const Outcome unknown = sweep({"train.steps=5", "--figure", "accurracy"});
  EXPECT_EQ(unknown.exit_code, 2);
  expect_parts(unknown.err, {"there is no held-out figure 'accurracy'"});
  EXPECT_FALSE(fs::exists(folder() / "s"));
  ASSERT_EQ(sweep({"train.steps=5"}).exit_code, 0);
  const Outcome other = sweep({"train.steps=5", "--over", "train.batch=8", "optimizer.lr=0.3"});
  EXPECT_EQ(other.exit_code, 0) << "another name, so another folder: " << other.err;
  const Outcome reused = sweep({"train.steps=5", "--over", "train.batch=8"});
  EXPECT_EQ(reused.exit_code, 2) << reused.out;
  expect_parts(reused.err, {"batch=8", "belongs to a run with a different configuration", "lr"});
}

TEST_F(Sweeps, StopWithCheckpoints) {
  Process process({wellspring_path(), "sweep", "small.yaml", "--out", "s", "train.steps=1000000"},
                  folder());
  const fs::path metrics = folder() / "s/run/metrics.jsonl";
  ASSERT_TRUE(process.wait_until(
      [&] { return fs::exists(metrics) && slurp(metrics).find("\"step\"") != std::string::npos; }));
  process.send(SIGINT);
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.exit_code, 75);
  expect_parts(outcome.out, {"run: interrupted, with a checkpoint"});
  expect_parts(outcome.err, {"repeat the command to continue"});
  EXPECT_FALSE(fs::is_empty(folder() / "s/run/checkpoints"));
}

TEST_F(Train, WritesFeaturesAndEvaluatesThem) {
  ASSERT_EQ(run({"train", "small.yaml"}).exit_code, 0);
  const Outcome features = run({"features", "runs/small", "--out", "f.npz"});
  EXPECT_EQ(features.exit_code, 0) << features.err;
  expect_parts(features.out, {"f.npz: 8 features of 64 samples"});
  const Outcome layer = run({"features", "runs/small", "--layer", "nothing", "--out", "f.npz"});
  EXPECT_EQ(layer.exit_code, 2);
  expect_parts(layer.err, {"it has no layer 'nothing'"});
  const Outcome knn = run({"eval", "runs/small", "--knn", "3"});
  EXPECT_EQ(knn.exit_code, 0) << knn.err;
  expect_parts(knn.out,
               {"held out, shapes: k-NN accuracy", "64 samples of 64 training samples, k = 3"});
  const Outcome json = run({"eval", "runs/small", "--knn", "3", "--json"});
  expect_parts(json.out, {R"({"kind":"knn","neighbours":3,"temperature":0.07,"layer":"")"});
  EXPECT_EQ(run({"eval", "runs/small", "--layer", "head"}).exit_code, 2);
}

TEST_F(Train, RefusesOtherHeadsInEvaluations) {
  ASSERT_EQ(run({"train", "small.yaml"}).exit_code, 0);
  const Outcome outcome =
      run({"eval", "runs/small",
           "heads=[{name: place, loss: regression, targets: [x]}, {name: shapes}]"});
  EXPECT_EQ(outcome.exit_code, 2);
  expect_parts(outcome.err, {"heads=[", "has no effect", "keeps the heads"});
}

}  // namespace
}  // namespace wellspring::test
