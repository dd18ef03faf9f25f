// `wellspring sweep`: runs `wellspring train` for combinations of settings and seeds, and shows a
// table of the results.
#include "train/sweep.h"

#include "cli/command.h"
#include "cli/local_ranks.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/result_view.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/io/files.h"
#include "core/signals.h"
#include "core/text/plural.h"
#include "core/text/text.h"
#include "kernels/runtime/threads.h"
#include "train/check_run.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/same_run.h"
#include "train/finished_run.h"
#include "train/normalised_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <memory>
#include <optional>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace wellspring::cli {
namespace {

namespace fs = std::filesystem;

struct SweepArguments {
  std::string config, out, figure;
  std::vector<std::string> overrides, over;
  std::vector<std::string> seeds;
  int jobs = 1;
};

/// Starts `wellspring train` in its own process group, so that a Ctrl-C reaches only the sweep,
/// which passes it on. The output of the run goes to `log`.
pid_t start_training(const std::string& config, const std::vector<std::string>& overrides,
                     const fs::path& log) {
  std::vector<std::string> words = {"wellspring", "train", config};
  words.insert(words.end(), overrides.begin(), overrides.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0666);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t handled;
  sigemptyset(&handled);
  for (const int signal : SignalGuard::kSignals) sigaddset(&handled, signal);
  posix_spawnattr_setsigdefault(&attributes, &handled);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  pid_t child = 0;
  const int error =
      posix_spawn(&child, "/proc/self/exe", &files, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (error != 0)
    fail(ErrorKind::runtime, {"cannot start a training process", std::strerror(error),
                              "use a smaller --jobs, or raise the limit on processes"});
  return child;
}

/// The text of the last error message in a log.
std::string last_error(const fs::path& log) {
  const std::string text = read_text(log);
  const std::size_t at = text.rfind("wellspring: error: ");
  if (at == std::string::npos) return "see " + log.string();
  const std::size_t begin = at + std::strlen("wellspring: error: ");
  return text.substr(begin, text.find('\n', begin) - begin);
}

/// Runs everything that is not finished yet.
class Sweep {
 public:
  Sweep(const SweepArguments& arguments, SweepPlan plan)
      : arguments_(arguments),
        plan_(std::move(plan)),
        outcomes_(plan_.runs.size()),
        figure_(arguments.figure) {}

  int run() {
    for (std::size_t r = 0; r < plan_.runs.size(); ++r)
      if (plan_.runs[r].finished) finish(r, "finished before");
    std::size_t next = 0;
    while (true) {
      for (; next < plan_.runs.size() && !interrupt_requested() &&
             running_.size() < static_cast<std::size_t>(arguments_.jobs);
           ++next)
        if (outcomes_[next].status == SweepStatus::waiting) start(next);
      if (running_.empty()) break;
      pass_on_interrupt();
      if (!reap()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return report();
  }

 private:
  fs::path log_of(std::size_t r) const { return plan_.runs[r].folder.string() + ".log"; }

  void start(std::size_t r) {
    running_[start_training(arguments_.config, plan_.runs[r].overrides, log_of(r))] = r;
    say(r, "started");
  }

  /// Passes an interrupt on to all runs, once: each then writes a checkpoint and ends.
  void pass_on_interrupt() {
    if (!interrupt_requested() || passed_on_) return;
    passed_on_ = true;
    for (const auto& [child, r] : running_) ::kill(child, SIGINT);
  }

  /// Returns true if a run has ended.
  bool reap() {
    for (const auto& [child, r] : running_) {
      int status = 0;
      if (::waitpid(child, &status, WNOHANG) != child) continue;
      const std::size_t ended = r;
      running_.erase(child);
      end(ended, status);
      return true;
    }
    return false;
  }

  void end(std::size_t r, int status) {
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (code == 0) return finish(r, "finished");
    SweepOutcome& outcome = outcomes_[r];
    if (code == kInterruptedExitCode) {
      outcome.status = SweepStatus::interrupted;
      return say(r, "interrupted, with a checkpoint");
    }
    outcome.status = SweepStatus::failed;
    outcome.reason =
        code < 0 ? fmt::format("ended by signal {}", WTERMSIG(status)) : last_error(log_of(r));
    say(r, fmt::format("failed ({}); see {}", outcome.reason, log_of(r).string()));
  }

  void finish(std::size_t r, const std::string& how) {
    SweepOutcome& outcome = outcomes_[r];
    outcome.status = SweepStatus::finished;
    const fs::path& folder = plan_.runs[r].folder;
    if (figure_.empty()) figure_ = sweep_figure(folder, "accuracy") ? "accuracy" : "loss";
    outcome.value = sweep_figure(folder, figure_);
    if (!outcome.value) {
      outcome.status = SweepStatus::failed;
      outcome.reason = fmt::format("its last evaluation has no figure '{}'", figure_);
    }
    say(r, outcome.value ? fmt::format("{}: {} {:.4g}", how, figure_, *outcome.value)
                         : outcome.reason);
    write_sweep(plan_, outcomes_, figure_, arguments_.out);
  }

  void say(std::size_t r, const std::string& what) const {
    tell(stdout, "[{}/{}] {}: {}\n", r + 1, plan_.runs.size(), printable(plan_.runs[r].name),
         printable(what));
  }

  int report() {
    const std::string figure = figure_.empty() ? "result" : figure_;
    write_sweep(plan_, outcomes_, figure, arguments_.out);
    tell(stdout, "{}\n", printable(aligned(sweep_table(plan_, outcomes_, figure))));
    tell(stdout, "mean and standard deviation; {}\n",
         printable((fs::path(arguments_.out) / "sweep.html").string()));
    const auto count = [&](SweepStatus status) {
      return static_cast<std::size_t>(std::ranges::count(outcomes_, status, &SweepOutcome::status));
    };
    const std::size_t failed = count(SweepStatus::failed);
    if (interrupt_requested()) {
      tell(stderr, "wellspring: interrupted; repeat the command to continue\n");
      return kInterruptedExitCode;
    }
    if (failed == 0) return 0;
    tell(stderr, "wellspring: {} of the sweep failed; repeat the command to try again\n",
         counted(failed, "run"));
    return static_cast<int>(ErrorKind::runtime);
  }

  const SweepArguments& arguments_;
  SweepPlan plan_;
  std::vector<SweepOutcome> outcomes_;
  std::string figure_;  ///< "": not known yet
  std::map<pid_t, std::size_t> running_;
  bool passed_on_ = false;
};

/// True if the run has finished. If it has begun, completes `config` from its data, as the trainer
/// did (train.epochs, `normalise`): checkpoints have the completed settings.
bool has_finished(RunConfig& config) {
  if (finished_run(config)) return true;
  if (!CheckpointStore(config.folder()).newest()) return false;
  std::vector<std::string> notes;
  static_cast<void>(open_normalised(config, std::nullopt, TrainerOptions{}, {}, notes));
  return finished_run(config).has_value();
}

/// Refuses a folder whose run has different settings, and an unknown figure, before any run begins.
void expect_startable(const RunConfig& config, const std::string& figure) {
  if (const auto newest = CheckpointStore(config.folder()).newest())
    expect_same_run(*newest, read_checkpoint_header(*newest), config);
  if (figure.empty()) return;
  RunConfig following = config;
  following.train.keep_best = figure;
  check_run(following);
}

/// Gives a run its part of the CPU threads, unless the configuration or an override sets threads.
void share_threads(const RunConfig& config, int jobs, std::vector<std::string>& overrides) {
  const bool given = std::ranges::any_of(
      overrides, [](const std::string& text) { return text.starts_with("threads="); });
  if (jobs == 1 || given || config.threads != 0) return;
  overrides.push_back(fmt::format("threads={}", std::max(1, compute_threads(0).count / jobs)));
}

int run(const SweepArguments& arguments) {
  expect_one_process("sweep");
  std::vector<SweepAxis> axes;
  for (const std::string& text : arguments.over) axes.push_back(parse_axis(text));
  SweepPlan plan = plan_sweep(std::move(axes), arguments.seeds, arguments.overrides, arguments.out);
  // All configurations are read before the first run begins.
  for (SweepRun& run : plan.runs) {
    RunConfig config = RunConfig::load(arguments.config, run.overrides);
    if (config.evaluation.sources.empty())
      fail(ErrorKind::config, {"a sweep needs evaluation data", "eval.sources is empty",
                               "add sources to eval.sources"});
    run.finished = has_finished(config);
    if (!run.finished) expect_startable(config, &run == plan.runs.data() ? arguments.figure : "");
    share_threads(config, arguments.jobs, run.overrides);
  }
  make_folders(arguments.out);
  SignalGuard signals(
      {.stopping = "\nwellspring: stopping all runs, each with a checkpoint\n",
       .ended = "\nwellspring: aborted; the runs still stop with their checkpoints\n"});
  const int code = Sweep(arguments, std::move(plan)).run();
  forget_undelivered();
  return code;
}

}  // namespace

Command add_sweep(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand(
      "sweep", "train a configuration with several settings and seeds, and compare the results");
  auto options = std::make_shared<SweepArguments>();
  app->add_option("config", options->config, kConfigurationHelp)->required();
  app->add_option("settings", options->overrides, "key=value: overrides of all runs");
  app->add_option("--over", options->over,
                  "KEY=VALUE,VALUE,...: one run for each value of a key of the configuration; "
                  "repeat the option for all combinations of several keys")
      ->allow_extra_args(false);
  app->add_option("--seeds", options->seeds,
                  "comma-separated seeds: one run of each combination per seed (default: the seed "
                  "of the configuration)")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_output_option(*app, "--out", options->out,
                    "folder of the sweep: a run folder and a log for each run, sweep.json and "
                    "sweep.html");
  app->get_option("--out")->required();
  constexpr double kMostJobs = 1024;
  add_whole_option(*app, "--jobs", options->jobs, 1, kMostJobs,
                   "number of runs at a time; they share the CPU threads, unless threads is set");
  app->add_option("--figure", options->figure,
                  "held-out figure of the table, such as loss or digits.accuracy, as in "
                  "train.keep_best (default: accuracy of the first held-out source, or else its "
                  "loss)");
  return {app, [options] { return run(*options); }};
}

}  // namespace wellspring::cli
