// Runs of several ranks as processes: started by `--ranks` or by a launcher's variables, killed,
// stopped and resumed.
#include "tests/cli/train_testing.h"
#include "tests/support/image_fixtures.h"
#include "tests/train/linear_bound.h"
#include "tests/train/trained_rows.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstring>
#include <fstream>
#include <random>
#include <set>
#include <signal.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace wellspring::test {
namespace {

class RankProcesses : public Train {
 protected:
  std::vector<std::string> train(int ranks, std::vector<std::string> settings = {}) const {
    settings.insert(settings.begin(), {"train", "small.yaml", "--ranks", std::to_string(ranks),
                                       "train.batch=12", "threads=1"});
    return settings;
  }
  /// A run that lasts until it is stopped. `timeout`: seconds.
  std::vector<std::string> endless(int ranks, const std::string& timeout = "60") const {
    return train(ranks,
                 {"train.steps=1000000", "train.checkpoint_every=5", "--rank-timeout", timeout});
  }
  Process start(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), wellspring_path());
    return Process(std::move(arguments), folder());
  }
  /// Processes of the ranks, by rank.
  std::vector<int> ranks_of(const Process& process) const {
    std::istringstream text(shell(fmt::format("pgrep -P {}", process.id())).out);
    std::vector<int> ids;
    for (int id; text >> id;) ids.push_back(id);
    return ids;
  }
  /// Step of the newest complete checkpoint; 0: there is no checkpoint.
  int newest_step() const {
    int newest = 0;
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(folder() / "runs/small/checkpoints", missing)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("step-")) newest = std::max(newest, std::stoi(name.substr(5)));
    }
    return newest;
  }
  void wait_for_checkpoint(Process& process) const {
    while (process.running() && !fs::exists(folder() / "runs/small/checkpoints"))
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  void wait_for_step(Process& process, int step) const {
    while (process.running() && newest_step() < step)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
};

TEST_F(RankProcesses, TrainToTheSameBytesHoweverTheyAreStarted) {
  const Outcome first = run(train(3));
  EXPECT_EQ(first.exit_code, 0);
  expect_parts(first.out, {"another seed ", "out=runs/small-seed2 --ranks 3"});
  const std::string expected = weights();
  fs::remove_all(folder() / "runs");
  EXPECT_EQ(run(train(3)).exit_code, 0);
  EXPECT_TRUE(weights() == expected) << "a second run differs";

  const std::vector<std::string> launchers = {
      "export OMPI_COMM_WORLD_RANK=$r OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_LOCAL_RANK=$r "
      "OMPI_COMM_WORLD_LOCAL_SIZE=3",
      "export PMI_RANK=$r PMI_SIZE=3 MPI_LOCALRANKID=$r MPI_LOCALNRANKS=3",
      "export SLURM_PROCID=$r SLURM_STEP_NUM_TASKS=3 SLURM_LOCALID=$r SLURM_NODEID=0 "
      "SLURM_STEP_TASKS_PER_NODE=3 SLURM_STEP_NODELIST=localhost SLURM_JOB_ID=$$"};
  for (const std::string& variables : launchers) {
    SCOPED_TRACE(variables);
    fs::remove_all(folder() / "runs");
    const Outcome outcome = shell(
        fmt::format(
            "p=(); for r in 2 0 1; do ({}; exec '{}' train small.yaml train.batch=12 threads=1 "
            ">out$r) & p+=($!); done; s=0; for i in ${{p[@]}}; do wait $i || s=$?; done; exit $s",
            variables, wellspring_path()),
        folder());
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_TRUE(weights() == expected);
    EXPECT_NE(slurp(folder() / "out0").find("3 ranks with 4 rows"), std::string::npos);
    EXPECT_EQ(slurp(folder() / "out1"), "");  // only rank 0 prints
  }
}

/// The commands that are installed.
std::vector<std::string> mpirun_commands() {
  std::vector<std::string> found;
  for (const char* const mpirun : {"mpirun.openmpi --oversubscribe", "mpirun.mpich"})
    if (shell(fmt::format("command -v {}", split_words(mpirun)[0])).exit_code == 0)
      found.emplace_back(mpirun);
  return found;
}
constexpr const char* kNoMpirun = "no mpirun (Debian: openmpi-bin, mpich)";
const Process::Environment kAsRoot = {{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                                      {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}};

TEST_F(RankProcesses, TrainUnderMpirun) {
  const std::vector<std::string> commands = mpirun_commands();
  if (commands.empty()) GTEST_SKIP() << kNoMpirun;
  for (const std::string& mpirun : commands) {
    for (const int ranks : {2, 3, 4}) {
      SCOPED_TRACE(fmt::format("{} -n {}", mpirun, ranks));
      EXPECT_EQ(run(train(ranks)).exit_code, 0);
      const std::string expected = weights();
      fs::remove_all(folder() / "runs");
      const Outcome outcome =
          shell(fmt::format("{} -n {} '{}' train small.yaml train.batch=12 threads=1", mpirun,
                            ranks, wellspring_path()),
                folder(), kAsRoot);
      EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
      EXPECT_TRUE(weights() == expected);
      fs::remove_all(folder() / "runs");
    }
  }
}

/// The files that rank_rows has written.
struct RankRows {
  RankRows(const fs::path& folder, std::size_t rank) {
    const std::string name = (folder / fmt::format("rows.{}", rank)).string();
    std::ifstream file(name);
    for (std::string line; std::getline(file, line);) digests.push_back(line);
    const std::string bytes = slurp(name + ".gradients");
    gradients.resize(bytes.size() / sizeof(float));
    std::memcpy(gradients.data(), bytes.data(), gradients.size() * sizeof(float));
  }
  std::vector<std::string> digests;  ///< one per row
  std::vector<float> gradients;
};

/// Mixed images of a generator and of files, and a linear network. A rank has an even number of
/// rows, because mixing works on pairs.
TEST_F(RankProcesses, TrainOnTheSameRowsAndGradientsUnderMpirun) {
  const std::vector<std::string> commands = mpirun_commands();
  if (commands.empty()) GTEST_SKIP() << kNoMpirun;
  write_image_folder(folder() / "photos", 2, 9, 8, 8);
  spill(config(), fmt::format(R"(name: small
device: cpu
threads: 1
data:
  size: 8
  augment: [flip_x: 0.5]
  mix: {{mixup: 0.8, cutmix: 1, probability: 0.8}}
  sources:
    - {{name: shapes, generator: shapes, weight: 3, repeats: 2}}
    - {{name: photos, kind: files, path: {}/photos, storage: streamed}}
model: {{name: mlp, widths: []}}
train: {{batch: 24, steps: 12}}
)",
                              folder().string()));
  constexpr std::size_t kBatch = 24, kSteps = 12, kMostRanks = 4;
  const std::string program = fmt::format("'{}' small.yaml {} rows", WELLSPRING_RANK_ROWS, kSteps);
  ASSERT_EQ(shell(program, folder()).exit_code, 0);
  const RankRows expected(folder(), 0);
  ASSERT_EQ(expected.digests.size(), kSteps * kBatch);
  ASSERT_GT(std::set(expected.digests.begin(), expected.digests.end()).size(), kBatch);
  // The same weights in the first step of all runs.
  const TrainedSteps first = train_steps(RunConfig::load(config(), {}), single_rank(), 1);
  const double bound =
      LinearBound({first.rows, first.weights}, kBatch, kMostRanks).gradient(/*e=*/0);
  const std::vector<float> zeros(expected.gradients.size());
  ASSERT_GT(largest_difference(expected.gradients, zeros), 100 * bound) << "it must mean something";
  for (const std::string& mpirun : commands) {
    for (std::size_t ranks = 1; ranks <= kMostRanks; ++ranks) {
      SCOPED_TRACE(fmt::format("{} -n {}", mpirun, ranks));
      const Outcome outcome =
          shell(fmt::format("rm rows.*; {} -n {} {}", mpirun, ranks, program), folder(), kAsRoot);
      ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
      const std::size_t rows = kBatch / ranks;
      std::vector<std::string> all(expected.digests.size());
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        const RankRows own(folder(), rank);
        ASSERT_EQ(own.digests.size(), kSteps * rows);
        for (std::size_t i = 0; i < own.digests.size(); ++i)
          all[i / rows * kBatch + rank * rows + i % rows] = own.digests[i];
        EXPECT_LE(largest_difference(own.gradients, expected.gradients), bound);
        EXPECT_EQ(own.gradients, RankRows(folder(), 0).gradients) << "all ranks have the same sums";
      }
      EXPECT_EQ(all, expected.digests);
    }
  }
}

TEST_F(RankProcesses, TrainUnderTorchrun) {
  if (shell("command -v torchrun").exit_code != 0) GTEST_SKIP() << "no torchrun (PyPI: torch)";
  EXPECT_EQ(run(train(3)).exit_code, 0);
  const std::string expected = weights();
  fs::remove_all(folder() / "runs");
  const Outcome outcome = shell(
      fmt::format("torchrun --standalone --nproc-per-node 3 --no-python '{}' train small.yaml "
                  "train.batch=12 threads=1",
                  wellspring_path()),
      folder());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(weights() == expected);
}

/// False alarms are impossible: every end below is awaited, not timed.
TEST_F(RankProcesses, EndTogetherAndLoseNothingWhenOneIsKilled) {
  std::minstd_rand random(5);
  int steps = 0;
  for (int kill_number = 0; kill_number < 20; ++kill_number) {
    Process process = start(endless(3));
    wait_for_checkpoint(process);
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 400));
    std::vector<int> ranks;
    while (process.running() && ranks.size() < 3) ranks = ranks_of(process);
    ASSERT_EQ(ranks.size(), 3u);
    ASSERT_EQ(::kill(ranks[random() % 3], SIGKILL), 0);
    const Outcome outcome = process.wait();
    EXPECT_EQ(outcome.exit_code, 128 + SIGKILL) << outcome.err;
    expect_parts(outcome.err, {"was ended by signal 9"});
    // Ranks that have not connected yet cannot notice this; the starting process ends them.
    if (outcome.err.find("was ended by signal 15") == std::string::npos)
      expect_parts(outcome.err, {"ended without reporting an error", "checkpoint"});
    for (const int rank : ranks)
      EXPECT_NE(::kill(rank, 0), 0) << "rank process " << rank << " is left";
    // The next run continues from a checkpoint that is never older than the previous run's.
    EXPECT_GE(newest_step(), steps);
    steps = newest_step();
  }
}

/// The waiting ranks notice a stopped one after the timeout. The process that started the ranks ends
/// it with SIGKILL, because a stopped process handles no other signal.
TEST_F(RankProcesses, EndTogetherWhenOneHangs) {
  Process process = start(endless(3, "20"));
  wait_for_step(process, 5);
  const std::vector<int> ranks = ranks_of(process);
  ASSERT_EQ(ranks.size(), 3u);
  ASSERT_EQ(::kill(ranks[1], SIGSTOP), 0);
  // docs/ranks.md promises 30 s after the timeout.
  const Outcome outcome = process.wait(std::chrono::seconds(120));
  EXPECT_EQ(outcome.exit_code, 128 + SIGKILL) << outcome.err;
  expect_parts(outcome.err,
               {"rank 1 has done nothing for 20 s", "continues from its newest checkpoint",
                "rank 1 does not end, so it is killed", "rank 1 was ended by signal 9"});
  for (const int rank : ranks)
    EXPECT_NE(::kill(rank, 0), 0) << "rank process " << rank << " is left";

  const int step = newest_step();
  Process next = start(endless(3));
  wait_for_step(next, step + 1);
  next.send(SIGTERM);
  const Outcome resumed = next.wait();
  EXPECT_EQ(resumed.exit_code, 75) << resumed.err;
  expect_parts(resumed.out, {fmt::format("step-{}", step)});
}

/// The path of the shared cache that a process has mapped, even if it has lost its name; "": none.
std::string mapped_cache(int process) {
  std::ifstream maps(fmt::format("/proc/{}/maps", process));
  for (std::string line; std::getline(maps, line);) {
    const std::size_t begin = line.find("/dev/shm/wellspring-cache-");
    if (begin != std::string::npos) return line.substr(begin, line.find(' ', begin) - begin);
  }
  return "";
}

/// In every second run, a rank is killed while the cache is filled or soon after; in the others, in
/// training.
TEST_F(RankProcesses, LeaveNoSharedCacheWhenOneIsKilled) {
  if (!fs::is_directory("/dev/shm")) GTEST_SKIP() << "/dev/shm does not exist";
  constexpr int kKills = 20, kImages = 60, kSide = 160;  // 120 images take 0.1 s to decode
  write_image_folder(folder() / "photos", 2, kImages, kSide, kSide);
  spill(config(), R"(name: small
device: cpu
data:
  size: 16
  sources:
    - name: photos
      kind: files
      path: photos
      resize: 16
      storage: streamed
      cache: [{tier: shm, rows: decoded}]
model: {name: mlp}
train: {log_every: 5}
)");
  std::minstd_rand random(6);
  for (int kill_number = 0; kill_number < kKills; ++kill_number) {
    SCOPED_TRACE(kill_number);
    fs::remove_all(folder() / "runs");
    Process process = start(endless(3));
    std::vector<int> ranks;
    while (process.running() && ranks.size() < 3) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ranks = ranks_of(process);
    }
    ASSERT_EQ(ranks.size(), 3u);
    std::string cache;
    while (process.running() && cache.empty()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      for (const int rank : ranks)
        if (cache.empty()) cache = mapped_cache(rank);
    }
    ASSERT_NE(cache, "") << "the cache is not in /dev/shm";
    if (kill_number % 2 == 0) wait_for_checkpoint(process);
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 50));
    ASSERT_EQ(::kill(ranks[random() % 3], SIGKILL), 0);
    EXPECT_EQ(process.wait().exit_code, 128 + SIGKILL);
    EXPECT_FALSE(fs::exists(cache)) << cache;
  }
}

TEST_F(RankProcesses, StopAtOneStepAndContinueWithAnotherNumber) {
  Process process = start(endless(4));
  wait_for_checkpoint(process);
  const std::vector<int> ranks = ranks_of(process);
  ASSERT_EQ(ranks.size(), 4u);
  ::kill(ranks[2], SIGTERM);  // one of them is enough
  const Outcome stopped = process.wait();
  EXPECT_EQ(stopped.exit_code, 75) << stopped.err;

  int step = newest_step();
  Process second = start(endless(2));
  wait_for_step(second, step + 1);
  second.send(SIGTERM);  // to the process that started them
  const Outcome again = second.wait();
  EXPECT_EQ(again.exit_code, 75) << again.err;
  EXPECT_NE(again.out.find("2 ranks with 6 rows"), std::string::npos) << again.out;

  step = newest_step();
  Process third = start(endless(3));
  wait_for_step(third, step + 1);
  third.send(SIGTERM);
  const Outcome last = third.wait();
  EXPECT_EQ(last.exit_code, 75) << last.err;
  expect_parts(last.out, {"3 ranks with 4 rows", fmt::format("step-{}", step)});
  EXPECT_GT(newest_step(), step);
}

/// Only rank 0 opens the run folder.
TEST_F(RankProcesses, TellWhyOneFails) {
  const Outcome outcome = run(train(3, {"out=small.yaml/run"}));
  EXPECT_NE(outcome.exit_code, 0);
  expect_parts(outcome.err,
               {"error: rank 0: small.yaml", "error: rank 1: rank 0 has failed: small.yaml",
                "error: rank 2: rank 0 has failed: small.yaml"});
}

TEST_F(RankProcesses, RefusesWhatDoesNotFit) {
  expect_parts(run(train(5)).err, {"a batch of 12 rows cannot be divided among 5 ranks"});
  expect_parts(run({"train", "small.yaml", "--ranks", "0"}).err, {"--ranks", "0"});
  const Outcome both = wellspring(train(2), folder(),
                                  {{"OMPI_COMM_WORLD_RANK", "0"},
                                   {"OMPI_COMM_WORLD_SIZE", "2"},
                                   {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                                   {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
  EXPECT_EQ(both.exit_code, 2);
  expect_parts(both.err, {"mpirun (Open MPI) has already started 2 ranks", "leave out --ranks"});
  EXPECT_FALSE(fs::exists(folder() / "runs"));
  const Outcome other = wellspring(
      {"diagnose", "small.yaml"}, folder(),
      {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "2"}});
  EXPECT_EQ(other.exit_code, 2);
  expect_parts(other.err, {"torchrun started this as process 2 of 2", "diagnose uses one process"});
}

TEST_F(RankProcesses, BenchRanksMeasuresEachNumberOfProcesses) {
  const auto bench = [&](std::vector<std::string> settings) {
    settings.insert(settings.begin(), {"bench", "ranks", "small.yaml", "threads=1"});
    return wellspring(settings, folder());
  };
  const Outcome outcome = bench({"--ranks", "3", "--repeats", "1", "--weak", "--json", "r.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_parts(outcome.out, {"times one rank"});
  const nlohmann::json report = nlohmann::json::parse(slurp(folder() / "r.json"));
  EXPECT_GT(report["machine"]["threads"], 0);
  const nlohmann::json& rows = report["rows"];
  ASSERT_EQ(rows.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(rows[i]["ranks"], i + 1);
    EXPECT_EQ(rows[i]["turns"].size(), 1U);
    EXPECT_GT(rows[i]["samples_per_second"], 0);
  }
  EXPECT_FALSE(fs::exists(folder() / "runs"));
}

TEST_F(RankProcesses, BenchRanksRefusesBeforeItMeasures) {
  const auto refused = [&](std::vector<std::string> arguments, const std::string& part) {
    arguments.insert(arguments.begin(), {"bench", "ranks"});
    const Outcome outcome = wellspring(arguments, folder());
    EXPECT_EQ(outcome.exit_code, 2);
    expect_parts(outcome.err, {part});
    EXPECT_EQ(outcome.out, "");
  };
  refused({}, "bench ranks takes a configuration");
  refused({"shapes"}, "bench ranks takes a configuration");
  refused({"small.yaml", "train.batch=12", "--ranks", "5"}, "12 rows cannot be divided among 5");
  refused({"small.yaml", "train.graph=check"}, "train.graph is check");
  refused({"small.yaml", "--batch", "64"}, "change the configuration with key=value");
}

}  // namespace
}  // namespace wellspring::test
