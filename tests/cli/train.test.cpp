// `train`, `eval` and `config`: exit codes, messages, signals, resumption.
#include "core/signals.h"
#include "tests/cli/train_testing.h"

#include <chrono>
#include <cstring>
#include <regex>
#include <signal.h>
#include <string>
#include <thread>
#include <vector>

namespace wellspring::test {
namespace {

using ConfigCommand = Train;

// A generator with finitely many samples: training also draws the held-out ones.
TEST_F(Train, SaysWhenTrainingDrawsTheHeldOutSamples) {
  const Outcome outcome = run({"train", "small.yaml", "data.sources.0.generator=sprites"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_parts(outcome.out,
               {"held out", "drawn from the same 737280 distinct samples as the training data",
                "737280 different samples and no others"});
}

TEST_F(Train, PrintsAndStoresItsResults) {
  const Outcome outcome = run({"train", "small.yaml"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_parts(outcome.out, {"held out, shapes: accuracy", "samples/s", "by wall clock",
                             "time             ", "steps ", "data             INCONCLUSIVE",
                             "bench train", "preview.png", "report.html", "Try next", "eval"});
  for (const char* file : {"config.resolved.yaml", "metrics.jsonl", "preview.png", "report.html"}) {
    EXPECT_TRUE(fs::exists(folder() / "runs" / "small" / file)) << file;
  }
  EXPECT_EQ(outcome.out.find('\r'), std::string::npos) << "a progress bar in a file";
  EXPECT_EQ(suggestions(outcome.out).size(), 4u) << outcome.out;
  expect_suggestions_work(outcome.out, folder());
  for (const char* file : {"small.png", "runs/small-seed2/report.html"})
    EXPECT_TRUE(fs::exists(folder() / file)) << file;
}

// Quotes arguments for a shell; does not suggest `eval` without held-out samples.
TEST_F(Train, SuggestsQuotedCommands) {
  const Outcome outcome =
      run({"train", "small.yaml", "eval.sources=[]", "out=it's one", "train.steps=2"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::vector<std::string> commands = suggestions(outcome.out);
  ASSERT_EQ(commands.size(), 3u) << outcome.out;
  EXPECT_TRUE(commands[0].ends_with(
      R"( preview small.yaml 'eval.sources=[]' 'out=it'\''s one' train.steps=2 --step 1)"))
      << commands[0];
  EXPECT_TRUE(
      commands[1].ends_with(R"( 'eval.sources=[]' train.steps=2 seed=2 'out=it'\''s one-seed2')"))
      << commands[1];
  EXPECT_EQ(shell(commands[0], folder()).exit_code, 0);
}

TEST_F(Train, GivesNoIntervalOfOneWindowAndRecordsTheMachine) {
  const Outcome outcome = run({"train", "small.yaml", "train.log_every=10", "train.steps=20",
                               "train.checkpoint_every=0", "eval.every=0"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_parts(outcome.out, {"(1 window; an interval needs 6)"});
  EXPECT_FALSE(std::regex_search(outcome.out, std::regex("samples/s .*(\\+-|to )"))) << outcome.out;
  const std::string metrics = slurp(folder() / "runs/small/metrics.jsonl");
  EXPECT_EQ(metrics.find("{\"kind\":\"run\",\"step\":0,\"time\":\"20"), 0u) << metrics;
  expect_parts(metrics, {"\"host\":", "\"commit\":", "\"device\":\"cpu (", "\"kind\":\"rate\""});
}

TEST_F(Train, PrintsTheBestPossibleAccuracy) {
  const Outcome outcome = run({"train", (source_folder() / "configs/ee_mumu.yaml").string(),
                               "train.steps=3", "eval.samples=64", "device=cpu"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(std::regex_search(
      outcome.out, std::regex("accuracy [0-9.]+ \\+- [0-9.]+ % \\(best possible 86.76 %\\)")))
      << outcome.out;
  const Outcome preview = shell(suggestions(outcome.out).at(1), folder());
  EXPECT_EQ(preview.exit_code, 0) << preview.err;
  const Outcome again = run({"eval", "runs/ee_mumu", "eval.samples=64"});
  EXPECT_TRUE(std::regex_search(again.out, std::regex("accuracy [0-9.]+ \\+- [0-9.]+ % \\(best")))
      << again.out;
}

// A regression reports the error of each target and its smallest possible value, not an accuracy.
TEST_F(Train, PrintsTheSmallestPossibleErrors) {
  const Outcome outcome = run({"train", (source_folder() / "configs/gaussian_linear.yaml").string(),
                               "train.steps=3", "eval.samples=64", "device=cpu"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find("accuracy"), std::string::npos) << outcome.out;
  EXPECT_TRUE(std::regex_search(
      outcome.out, std::regex("rmse +best possible rmse +mae .*\n +theta0 +[0-9.]+ +0\\.4")))
      << outcome.out;
  expect_parts(read_text(folder() / "runs/gaussian_linear/metrics.jsonl"), {"\"best\":0.4"});
}

// Rows have room for 4 items; jets have about 8.
TEST_F(Train, ReportsOverflowAndTheAreaUnderTheCurve) {
  const Outcome outcome = run({"train", (source_folder() / "configs/ginkgo.yaml").string(),
                               "train.steps=3", "train.batch=64", "train.log_every=1",
                               "data.sources.0.params.items=4", "eval.samples=64", "device=cpu"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::size_t warning = outcome.out.find("did not fit into their sets");
  ASSERT_NE(warning, std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("did not fit", warning + 1), std::string::npos)
      << "the sum at the end";
  EXPECT_TRUE(
      std::regex_search(outcome.out, std::regex("area under the curve 0\\.[0-9]+ \\(signal: W\\)")))
      << outcome.out;
  const Outcome other = run({"eval", "runs/ginkgo", "eval.signal=QCD"});
  EXPECT_EQ(other.exit_code, 0) << other.err;
  expect_parts(other.out, {" (signal: QCD), ", "background rejection at 30 %"});
  const Outcome json = run({"eval", "runs/ginkgo", "--json", "eval.signal=1"});
  expect_parts(json.out, {"\"signal\":\"QCD\""});
  const Outcome unknown = run({"eval", "runs/ginkgo", "eval.signal=qcd"});
  EXPECT_EQ(unknown.exit_code, 2);
  expect_parts(unknown.err, {"'qcd'", "did you mean 'QCD'"});
  const Outcome preview = shell(suggestions(outcome.out).at(1), folder());
  EXPECT_EQ(preview.exit_code, 0) << preview.err;
  expect_parts(read_text(folder() / "runs/ginkgo/metrics.jsonl"), {"\"overflow\":{\"samples\":"});
}

TEST_F(Train, EvaluatesItsCheckpoint) {
  ASSERT_EQ(run({"train", "small.yaml"}).exit_code, 0);
  const Outcome outcome = run({"eval", "runs/small"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_parts(outcome.out, {"shapes: accuracy"});
  const Outcome other = run({"eval", "runs/small", "small.yaml", "eval.samples=32"});
  EXPECT_EQ(other.exit_code, 0) << other.err;
  expect_parts(other.out, {"32 samples"});
}

// Batch systems may limit the threads to fewer than the run asks for.
TEST_F(Train, ObeysLimitsOfOpenMp) {
  for (const char* limit : {"OMP_THREAD_LIMIT", "OMP_DYNAMIC"}) {
    Process process({wellspring_path(), "train", "small.yaml", "threads=2"}, folder(),
                    {{limit, limit == std::string("OMP_DYNAMIC") ? "true" : "1"}});
    const Outcome outcome = process.wait(std::chrono::seconds(100));
    EXPECT_EQ(outcome.exit_code, 0) << limit << " " << outcome.err;
    fs::remove_all(folder() / "runs");
  }
}

TEST_F(Train, GivesEqualWeightsInEveryGraphMode) {
  std::vector<std::string> weights_of;
  for (const char* mode : {"on", "off", "check"}) {
    const Outcome outcome = run({"train", "small.yaml", "--graph", mode});
    ASSERT_EQ(outcome.exit_code, 0) << mode << outcome.err;
    weights_of.push_back(weights());
    fs::remove_all(folder() / "runs");
  }
  EXPECT_TRUE(weights_of[0] == weights_of[1]) << "recorded and eager steps differ";
  EXPECT_TRUE(weights_of[0] == weights_of[2]) << "recorded and checked steps differ";
}

/// Waits until the run has written its first metrics; false when it ends first.
bool started(Process& process, const fs::path& metrics) {
  return process.wait_until([&] { return fs::exists(metrics) && fs::file_size(metrics) > 0; });
}

TEST_F(Train, ResumesToTheSameWeightsAfterASignal) {
  // Long enough for the signal to arrive before the last step.
  const std::vector<std::string> arguments = {"train", "small.yaml", "train.steps=3000"};
  ASSERT_EQ(run(arguments).exit_code, 0);
  const std::string uninterrupted = weights();

  std::vector<std::string> command = arguments;
  command.insert(command.begin(), wellspring_path());
  for (const int signal : SignalGuard::kSignals) {
    SCOPED_TRACE(strsignal(signal));
    fs::remove_all(folder() / "runs");
    Process process(command, folder());
    ASSERT_TRUE(started(process, folder() / "runs" / "small" / "metrics.jsonl"));
    process.send(signal);
    const Outcome stopped = process.wait();
    ASSERT_EQ(stopped.exit_code, 75) << stopped.out << stopped.err;
    expect_parts(stopped.out, {"stopped by a signal", "train small.yaml train.steps=3000\n"});

    const Outcome resumed = run(arguments);
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
    expect_parts(resumed.out, {"resumed"});
    EXPECT_TRUE(weights() == uninterrupted) << "the interruption changed the weights";
  }
}

TEST_F(Train, RefusesAFolderInUse) {
  Process first({wellspring_path(), "train", "small.yaml", "train.steps=100000"}, folder());
  ASSERT_TRUE(started(first, folder() / "runs" / "small" / "metrics.jsonl"));
  const Outcome second = run({"train", "small.yaml", "train.steps=100000"});
  EXPECT_EQ(second.exit_code, 1) << second.out;
  expect_parts(second.err, {"runs/small: in use by process ", "another out=FOLDER"});
  first.send(SIGKILL);
  EXPECT_EQ(first.wait().signal, SIGKILL);
  const Outcome third = run({"train", "small.yaml"});
  EXPECT_EQ(third.exit_code, 0) << third.err;
}

/// A command, run after `before`, whose steps are so long that signals arrive during the first one.
std::vector<std::string> large_steps(std::vector<std::string> before = {}) {
  before.push_back(wellspring_path());
  for (const char* argument : {"train", "small.yaml", "train.steps=100000", "train.batch=4096",
                               "data.size=64", "train.log_every=1"})
    before.emplace_back(argument);
  return before;
}

TEST_F(Train, EndsAtOnceAfterASecondInterrupt) {
  Process process(large_steps(), folder());
  ASSERT_TRUE(started(process, folder() / "runs" / "small" / "metrics.jsonl"));
  process.send(SIGINT);
  ASSERT_TRUE(process.wait_until(
      [&] { return process.errors().find("stopping after") != std::string::npos; }));
  // A stopped process makes no progress on its step.
  process.send(SIGSTOP);
  std::this_thread::sleep_for(SignalGuard::kOneInterrupt);
  process.send(SIGINT);
  process.send(SIGCONT);
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.exit_code, 130) << outcome.out << outcome.err;
  const std::size_t answer = outcome.err.find("stopping after this step, with a checkpoint");
  ASSERT_NE(answer, std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("wellspring: aborted", answer), std::string::npos) << outcome.err;
}

// timeout(1) signals the child and then the process group, which contains the child.
TEST_F(Train, WritesACheckpointWhenTimeoutInterruptsIt) {
  Process process(large_steps({"timeout", "-s", "INT", "600"}), folder());
  ASSERT_TRUE(started(process, folder() / "runs" / "small" / "metrics.jsonl"));
  process.send(SIGINT);           // timeout passes the signal on, as if the time had run out
  ::kill(-process.id(), SIGINT);  // once more: signals may arrive as one
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.exit_code, 75) << outcome.out << outcome.err;
  EXPECT_EQ(outcome.err.find("aborted"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("stopping after this step"), std::string::npos) << outcome.err;
}

TEST_F(Train, RefusesToOverwriteWithResumeNever) {
  ASSERT_EQ(run({"train", "small.yaml"}).exit_code, 0);
  const Outcome outcome = run({"train", "small.yaml", "--resume", "never"});
  EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
  EXPECT_EQ(outcome.out, "") << "a refusal comes alone";
  expect_parts(outcome.err, {"holds checkpoints"});
}

TEST_F(ConfigCommand, RoundTrips) {
  const Outcome first = run({"config", "small.yaml", "train.steps=7"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  expect_parts(first.out, {"steps: 7"});
  spill(folder() / "again.yaml", first.out);
  const Outcome second = run({"config", "again.yaml"});
  EXPECT_EQ(second.exit_code, 0) << second.err;
  EXPECT_EQ(second.out, first.out);
}

TEST_F(ConfigCommand, ChecksTheTextAloneWithNoData) {
  const std::vector<std::string> elsewhere = {"config", "small.yaml", "init.from=no/such/run"};
  EXPECT_EQ(run(elsewhere).exit_code, 3);
  std::vector<std::string> text = elsewhere;
  text.emplace_back("--no-data");
  const Outcome outcome = run(text);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_parts(outcome.out, {"from: no/such/run"});
}

TEST_F(ConfigCommand, RefusesToListNodesOfACpu) {
  const Outcome outcome = run({"config", "small.yaml", "--nodes"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  expect_parts(outcome.err, {"--nodes", "a CPU runs the step without kernels", "device=cuda:0"});
  EXPECT_EQ(run({"config", "small.yaml", "--nodes", "--no-data"}).exit_code, 2);
}

// A run that resumes from its own checkpoint does not read the initial weights again.
TEST_F(ConfigCommand, RequiresTheWeightsThatTrainRequires) {
  ASSERT_EQ(run({"train", "small.yaml"}).exit_code, 0);
  fs::rename(folder() / "runs/small", folder() / "first");
  const std::vector<std::string> from_first = {"small.yaml", "init.from=first"};
  const auto with = [&](const char* command) {
    std::vector<std::string> arguments = from_first;
    arguments.insert(arguments.begin(), command);
    return run(arguments).exit_code;
  };
  EXPECT_EQ(with("config"), 0);
  ASSERT_EQ(with("train"), 0);
  fs::remove_all(folder() / "first");
  EXPECT_EQ(with("config"), 0);
  EXPECT_EQ(with("train"), 0);
  fs::remove_all(folder() / "runs");
  EXPECT_EQ(with("config"), 3);
  EXPECT_EQ(with("train"), 3);
}

TEST_F(Train, MixesSamples) {
  const Outcome outcome = run({"train", "small.yaml", "data.mix={mixup: 0.8, cutmix: 1}"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_parts(slurp(folder() / "runs/small/config.resolved.yaml"), {"cutmix: 1\n"});
  expect_parts(run({"describe", "config"}).out, {"data.mix", "cutmix"});
}

TEST_F(Train, RefusesAMissingConfiguration) {
  const Outcome outcome = run({"train", "nowhere.yaml"});
  EXPECT_EQ(outcome.exit_code, 2);
  expect_parts(outcome.err, {"nowhere.yaml"});
}

}  // namespace
}  // namespace wellspring::test
