// Runs of several ranks as processes: started by `--ranks` or by a launcher's variables, killed,
// stopped and resumed.
#include "tests/cli/train_testing.h"
#include "tests/support/image_fixtures.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <random>
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
  /// A run that lasts until it is stopped.
  std::vector<std::string> endless(int ranks) const {
    return train(ranks,
                 {"train.steps=1000000", "train.checkpoint_every=5", "--rank-timeout", "60"});
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
  /// Step of the newest complete checkpoint.
  int newest_step() const {
    int newest = 0;
    for (const auto& entry : fs::directory_iterator(folder() / "runs/small/checkpoints")) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("step-")) newest = std::max(newest, std::stoi(name.substr(5)));
    }
    return newest;
  }
  void wait_for_checkpoint(Process& process) const {
    while (process.running() && !fs::exists(folder() / "runs/small/checkpoints"))
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

TEST_F(RankProcesses, TrainUnderMpirun) {
  int found = 0;
  for (const char* const mpirun : {"mpirun.openmpi --oversubscribe", "mpirun.mpich"}) {
    if (shell(fmt::format("command -v {}", split_words(mpirun)[0])).exit_code != 0) continue;
    ++found;
    for (const int ranks : {2, 3, 4}) {
      SCOPED_TRACE(fmt::format("{} -n {}", mpirun, ranks));
      EXPECT_EQ(run(train(ranks)).exit_code, 0);
      const std::string expected = weights();
      fs::remove_all(folder() / "runs");
      const Outcome outcome = shell(
          fmt::format("{} -n {} '{}' train small.yaml train.batch=12 threads=1", mpirun, ranks,
                      wellspring_path()),
          folder(), {{"OMPI_ALLOW_RUN_AS_ROOT", "1"}, {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}});
      EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
      EXPECT_TRUE(weights() == expected);
      fs::remove_all(folder() / "runs");
    }
  }
  if (found == 0) GTEST_SKIP() << "no mpirun (Debian: openmpi-bin, mpich)";
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

TEST_F(RankProcesses, LeaveNoSharedCacheWhenOneIsKilled) {
  if (!fs::is_directory("/dev/shm")) GTEST_SKIP() << "/dev/shm does not exist";
  write_image_folder(folder() / "photos", 2, 12, 16, 16);
  spill(config(), R"(name: small
device: cpu
data:
  size: 16
  sources:
    - {name: photos, kind: files, path: photos, storage: streamed, cache: [{tier: shm, rows: decoded}]}
model: {name: mlp}
train: {log_every: 5}
)");
  std::minstd_rand random(6);
  for (int kill_number = 0; kill_number < 4; ++kill_number) {
    fs::remove_all(folder() / "runs");
    Process process = start(endless(3));
    wait_for_checkpoint(process);
    while (process.running() && newest_step() < 5)  // then all ranks have opened the cache
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 200));
    const std::vector<int> ranks = ranks_of(process);
    ASSERT_EQ(ranks.size(), 3u);
    const Outcome mapped = shell(
        fmt::format("grep -o -m 1 '/dev/shm/wellspring-cache-[^ ]*' /proc/{}/maps", ranks[0]));
    ASSERT_EQ(mapped.exit_code, 0) << "the cache is not in /dev/shm";
    ASSERT_EQ(::kill(ranks[random() % 3], SIGKILL), 0);
    EXPECT_EQ(process.wait().exit_code, 128 + SIGKILL);
    EXPECT_FALSE(fs::exists(mapped.out.substr(0, mapped.out.find('\n')))) << mapped.out;
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

  Process second = start(endless(2));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  second.send(SIGTERM);  // to the process that started them
  const Outcome again = second.wait();
  EXPECT_EQ(again.exit_code, 75) << again.err;
  EXPECT_NE(again.out.find("2 ranks with 6 rows"), std::string::npos) << again.out;

  const int step = newest_step();
  Process third = start(endless(3));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
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
