// How a run ends that somebody else ends, and what its folder is afterwards: signals, pipes without
// a reader, streams that are closed, limits.
#include "tests/cli/command.h"
#include "tests/support/error_testing.h"
#include "tests/support/image_fixtures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <signal.h>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfig = R"(name: small
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

class RunEnds : public testing::Test {
 protected:
  RunEnds() { spill(folder_ / "small.yaml", kConfig); }
  fs::path run_folder() const { return folder_ / "runs/small"; }
  /// `train` with these arguments, and whatever a shell can do with it.
  Outcome in_shell(const std::string& arguments, const std::string& before = "") const {
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

TEST_F(RunEnds, AReaderThatGoesAwayEndsItWithACheckpoint) {
  const Outcome outcome =
      in_shell("train.steps=10000000 | head -n 1; echo status ${PIPESTATUS[0]} >&2");
  EXPECT_NE(outcome.err.find("status 75"), std::string::npos) << outcome.err;
  EXPECT_EQ(checkpoints(), 1);
}

TEST_F(RunEnds, WordsThatCannotBeWrittenEndNothing) {
  const Outcome outcome = in_shell("> /dev/full");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(checkpoints(), 1);
  EXPECT_EQ(in_shell("train.steps=0 2> /dev/full").exit_code, 2);
}

TEST_F(RunEnds, ClosedStreamsDoNotMixWithFiles) {
  const Outcome outcome = in_shell("<&- >&- 2>&-");
  EXPECT_EQ(outcome.exit_code, 0);
  ASSERT_EQ(metrics().size(), 7u);  // the process, four windows, the evaluation and the rates
  for (const std::string& line : metrics()) {
    EXPECT_TRUE(line.starts_with("{\"kind\":") && line.ends_with("}")) << line;
  }
  EXPECT_EQ(checkpoints(), 1);
}

TEST_F(RunEnds, AFinishedRunThatIsCalledAgainSaysSoAndTouchesNothing) {
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
  // Its learning rate falls over the whole run.
  const Outcome refused = train({"train.steps=40"});
  EXPECT_EQ(refused.exit_code, 2) << refused.out;
  expect_parts(refused.err, {"planned for 20 steps and cannot be extended to 40",
                             "optimizer.floor=1", "init.from=runs/small/checkpoints/step-20"});
  EXPECT_EQ(suggestions(again.out).size(), 2u) << again.out;
  expect_suggestions_work(again.out, folder_.path());
}

TEST_F(RunEnds, ARunIsLongerWhereItsScheduleDoesNotDependOnItsLength) {
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

TEST_F(RunEnds, AFolderOfOtherFilesIsLeftAlone) {
  fs::create_directories(folder_ / "home/photos");
  spill(folder_ / "home/letter.tex", "");
  for (const char* out : {"home", "."}) {  // and where small.yaml lies, beside them
    const Outcome outcome = train({std::string("out=") + out});
    EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
    expect_parts(outcome.err, {"contains other files: ", "out=FOLDER"});
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "home"), {}), 2);
  expect_parts(train({"out=/"}).err, {"/: contains other files: ", " more"});
  // What batch systems and people lay beside a run is no reason.
  fs::create_directories(folder_ / "job");
  for (const char* name : {"job/slurm-17.out", "job/run.sh", "job/.note"})
    spill(folder_ / name, "");
  EXPECT_EQ(train({"out=job"}).exit_code, 0);
}

/// Waits until the run has made its folder: that is before it reads its data.
bool opened(Process& process, const fs::path& folder) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (process.running() && std::chrono::steady_clock::now() < end) {
    if (fs::exists(folder / ".lock")) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

// One image under as many names as take a core a minute to decode.
TEST_F(RunEnds, ASignalWhileImagesAreDecodedEndsItThere) {
  const int side = 1024;
  const fs::path first = folder_ / "images/a/0.jpg";
  write_bytes(first, encode_jpeg(noise_rgb(side, side, 1), side, side));
  write_bytes(folder_ / "images/b/0.jpg", encode_jpeg(noise_rgb(8, 8, 2), 8, 8));
  for (int i = 1; i < 3000; ++i)
    fs::create_hard_link(first, folder_ / ("images/a/" + std::to_string(i) + ".jpg"));
  Process process({wellspring_path(), "train", "small.yaml", "eval.sources=[]",
                   "data.sources=[{name: files, kind: files, path: images, resize: 8}]"},
                  folder_.path());
  ASSERT_TRUE(opened(process, run_folder()));
  process.send(SIGTERM);
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.exit_code, 75) << outcome.err;
  EXPECT_NE(outcome.err.find("stopping"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.out.find("stopped by a signal before the first step"), std::string::npos)
      << outcome.out;
  EXPECT_FALSE(fs::exists(run_folder() / "checkpoints"));
}

TEST_F(RunEnds, AFileBeyondTheLimitIsAFailedWrite) {
  const Outcome outcome = in_shell("", "ulimit -f 1; exec ");
  EXPECT_EQ(outcome.exit_code, 1) << "signal " << outcome.signal;
  expect_parts(outcome.err, {"File too large", "ulimit -f"});
}

}  // namespace
}  // namespace wellspring::test
