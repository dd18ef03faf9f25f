// A run that is killed at any moment and restarted has the same results as an uninterrupted run.
#include "kernels/random/philox.h"
#include "tests/train/training_testing.h"

#include <chrono>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

extern char** environ;

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

pid_t start(const fs::path& config, const fs::path& work) {
  std::vector<std::string> arguments = {WELLSPRING_TRAIN_WORKER, config.string(),
                                        "train.steps=300",       "train.checkpoint_every=7",
                                        "eval.every=50",         "train.keep_best=loss"};
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  sigset_t ours;  // the parent process may ignore signals (nohup)
  sigfillset(&ours);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigdefault(&attributes, &ours);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  const fs::path back = fs::current_path();
  fs::current_path(work);  // `out` is relative, so both runs have the same configuration
  pid_t child = 0;
  const int error =
      posix_spawn(&child, WELLSPRING_TRAIN_WORKER, nullptr, &attributes, pointers.data(), environ);
  posix_spawnattr_destroy(&attributes);
  fs::current_path(back);
  if (error != 0) throw std::runtime_error("posix_spawn failed");
  return child;
}

int wait_for(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

#ifdef WELLSPRING_SANITIZED
constexpr int kKills = 3;  // each run takes long
#else
constexpr int kKills = 20;
#endif

TEST(KilledRuns, EndWithTheBytesOfAnUninterruptedRun) {
  const TemporaryFolder straight, broken, configs;
  const fs::path config = configs / "small.yaml";
  test::spill(config, test::kSmallRun);

  const auto begin = std::chrono::steady_clock::now();
  const int status = wait_for(start(config, straight.path()));
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  const auto whole = std::chrono::steady_clock::now() - begin;

  RngStream draw(SampleRng{20, 0}, Purpose::noise);
  int killed = 0, attempts = 0;
  while (killed < kKills && attempts < 200) {
    ++attempts;
    const pid_t child = start(config, broken.path());
    // Long enough for some steps, short enough to kill most runs.
    std::this_thread::sleep_for(whole * (0.02 + 0.4 * draw.uniform()));
    kill(child, SIGKILL);
    const int end = wait_for(child);
    if (WIFSIGNALED(end)) {
      ++killed;
    } else {
      ASSERT_EQ(WEXITSTATUS(end), 0);
      fs::remove_all(broken.path() / "runs");  // the run finished before the kill: start again
    }
  }
  EXPECT_EQ(killed, kKills);
  const int end = wait_for(start(config, broken.path()));
  ASSERT_TRUE(WIFEXITED(end) && WEXITSTATUS(end) == 0);
  const fs::path best = "runs/small/checkpoints/best";
  EXPECT_EQ(fs::read_symlink(broken.path() / best), fs::read_symlink(straight.path() / best));
  EXPECT_TRUE(fs::exists(broken.path() / best / "checkpoint.json"));
  for (const char* name : {"model.safetensors", "state.safetensors", "checkpoint.json"}) {
    const fs::path file = fs::path("runs/small/checkpoints/step-300") / name;
    const std::string bytes = slurp(straight.path() / file);
    ASSERT_FALSE(bytes.empty());
    EXPECT_TRUE(bytes == slurp(broken.path() / file)) << name;
  }
}

}  // namespace
}  // namespace wellspring::test
