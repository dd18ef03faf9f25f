// Exit code and folder of runs that are ended from outside, by signals, pipes without a reader,
// closed streams, or limits.
#include "tests/cli/command.h"
#include "tests/support/error_testing.h"
#include "tests/support/image_fixtures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <signal.h>
#include <sstream>
#include <string>
#include <vector>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEndingRun = R"(name: small
device: cpu
threads: 1
data:
  size: 8
  sources: [{name: shapes, generator: shapes}]
model: {name: cnn, widths: [4], blocks: [0], pool: [1], norm: none}
optimizer: {kind: sgd, lr: 0.01}
train: {batch: 4, steps: 20, log_every: 5}
eval: {samples: 16, sources: [{of: shapes}]}
)";

class TrainExit : public testing::Test {
 protected:
  TrainExit() { spill(folder_ / "small.yaml", kEndingRun); }
  fs::path run_folder() const { return folder_ / "runs/small"; }
  /// Runs `before` and then `train small.yaml ARGUMENTS` in a shell.
  Outcome train_in_shell(const std::string& arguments, const std::string& before = "") const {
    return shell(before + "'" + wellspring_path() + "' train small.yaml " + arguments,
                 folder_.path());
  }
  Outcome train(std::vector<std::string> settings = {}) const {
    settings.insert(settings.begin(), {"train", "small.yaml"});
    return wellspring(std::move(settings), folder_.path());
  }
  int checkpoints() const {
    int count = 0;
    for (const auto& entry : fs::directory_iterator(run_folder() / "checkpoints"))
      count += fs::exists(entry.path() / "checkpoint.json") ? 1 : 0;
    return count;
  }
  std::vector<std::string> metrics() const {
    std::istringstream text(slurp(run_folder() / "metrics.jsonl"));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }

  TemporaryFolder folder_;
};

TEST_F(TrainExit, SavesACheckpointWhenItsReaderCloses) {
  const Outcome outcome =
      train_in_shell("train.steps=10000000 | head -n 1; echo status ${PIPESTATUS[0]} >&2");
  expect_parts(outcome.err, {"status 75"});
  EXPECT_EQ(checkpoints(), 1);
}

TEST_F(TrainExit, IgnoresUnwritableOutput) {
  const Outcome outcome = train_in_shell("> /dev/full");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(checkpoints(), 1);
  EXPECT_EQ(train_in_shell("train.steps=0 2> /dev/full").exit_code, 2);
}

TEST_F(TrainExit, KeepsFilesCleanWithClosedStreams) {
  const Outcome outcome = train_in_shell("<&- >&- 2>&-");
  EXPECT_EQ(outcome.exit_code, 0);
  ASSERT_EQ(metrics().size(), 7u);  // run, four windows, evaluation, rates
  for (const std::string& line : metrics()) {
    EXPECT_TRUE(line.starts_with("{\"kind\":") && line.ends_with("}")) << line;
  }
  EXPECT_EQ(checkpoints(), 1);
}

TEST_F(TrainExit, LeavesWhatEvalPrintsAsJson) {
  ASSERT_EQ(train().exit_code, 0);
  const Outcome outcome = wellspring({"eval", "runs/small", "--json"}, folder_.path());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  // eval does not compare the held-out rows with the training data.
  std::string recorded = metrics().at(5);
  const std::string compared = "\"trained_on\":0";
  ASSERT_NE(recorded.find(compared), std::string::npos) << recorded;
  recorded.replace(recorded.find(compared), compared.size(), "\"trained_on\":null");
  const std::size_t results = recorded.find("\"seconds\"");
  ASSERT_NE(results, std::string::npos) << recorded;
  EXPECT_EQ(outcome.out.substr(0, results), recorded.substr(0, results));
  EXPECT_EQ(std::ranges::count(outcome.out, '\n'), 1);
}

TEST_F(TrainExit, LeavesAFinishedRunUntouched) {
  ASSERT_EQ(train().exit_code, 0);
  const auto everything = [&] {
    return shell("cd runs/small && find . -type f -printf '%p %T@ ' -exec sha256sum {} +",
                 folder_.path())
        .out;
  };
  const std::string before = everything();
  const Outcome again = train();
  EXPECT_EQ(again.exit_code, 0) << again.err;
  expect_parts(again.out, {"already finished (20 steps); nothing to do", "accuracy",
                           "runs/small/report.html", "out=runs/small-2", "init.from=runs/small"});
  EXPECT_EQ(everything(), before);
  EXPECT_EQ(std::ranges::count_if(metrics(),
                                  [](const std::string& line) {
                                    return line.find("\"evaluation\"") != std::string::npos;
                                  }),
            1);
  // The learning rate decreases over the whole run, so the run cannot be extended.
  const Outcome refused = train({"train.steps=40"});
  EXPECT_EQ(refused.exit_code, 2) << refused.out;
  expect_parts(refused.err, {"planned for 20 steps and cannot be extended to 40",
                             "optimizer.floor=1", "init.from=runs/small/checkpoints/step-20"});
  EXPECT_EQ(suggestions(again.out).size(), 2u) << again.out;
  expect_suggestions_work(again.out, folder_.path());
}

TEST_F(TrainExit, ExtendsARunWithAConstantSchedule) {
  const auto constant = [&](const std::string& steps) {
    return train({"optimizer.floor=1", "optimizer.warmup=0", steps});
  };
  ASSERT_EQ(constant("train.steps=20").exit_code, 0);
  const std::vector<std::string> commands = suggestions(constant("train.steps=20").out);
  ASSERT_EQ(commands.size(), 2u);
  EXPECT_TRUE(commands[1].ends_with("optimizer.floor=1 optimizer.warmup=0 train.steps=40"))
      << commands[1];
  const Outcome longer = shell(commands[1], folder_.path());
  EXPECT_EQ(longer.exit_code, 0) << longer.err;
  expect_parts(longer.out, {"extended from 20 steps to 40", "finished after 40 steps"});
}

TEST_F(TrainExit, RefusesFoldersWithOtherFiles) {
  fs::create_directories(folder_ / "home/photos");
  spill(folder_ / "home/letter.tex", "");
  for (const char* out : {"home", "."}) {  // "." is the folder of small.yaml
    const Outcome outcome = train({std::string("out=") + out});
    EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
    expect_parts(outcome.err, {"contains other files: ", "out=FOLDER"});
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "home"), {}), 2);
  expect_parts(train({"out=/"}).err, {"/: contains other files: ", " more"});
  // Files from batch systems and notes from users are accepted.
  fs::create_directories(folder_ / "job");
  for (const char* name : {"job/slurm-17.out", "job/run.sh", "job/.note"})
    spill(folder_ / name, "");
  EXPECT_EQ(train({"out=job"}).exit_code, 0);
}

// Decoding 3000 links to the same image takes about a minute on one core.
TEST_F(TrainExit, StopsAtASignalWhileDecodingImages) {
  const int side = 1024;
  const fs::path first = folder_ / "images/a/0.jpg";
  write_bytes(first, encode_jpeg(noise_rgb(side, side, 1), side, side));
  write_bytes(folder_ / "images/b/0.jpg", encode_jpeg(noise_rgb(8, 8, 2), 8, 8));
  for (int i = 1; i < 3000; ++i)
    fs::create_hard_link(first, folder_ / ("images/a/" + std::to_string(i) + ".jpg"));
  Process process({wellspring_path(), "train", "small.yaml", "eval.sources=[]",
                   "data.sources=[{name: files, kind: files, path: images, resize: 8}]"},
                  folder_.path());
  // The run creates its folder before it reads its data.
  ASSERT_TRUE(process.wait_until([&] { return fs::exists(run_folder() / ".lock"); }));
  process.send(SIGTERM);
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.exit_code, 75) << outcome.err;
  expect_parts(outcome.err, {"stopping"});
  expect_parts(outcome.out, {"stopped by a signal before the first step"});
  EXPECT_FALSE(fs::exists(run_folder() / "checkpoints"));
}

TEST_F(TrainExit, ReportsTheFileSizeLimit) {
  const Outcome outcome = train_in_shell("", "ulimit -f 1; exec ");
  EXPECT_EQ(outcome.exit_code, 1) << "signal " << outcome.signal;
  expect_parts(outcome.err, {"File too large", "ulimit -f"});
}

}  // namespace
}  // namespace wellspring::test
