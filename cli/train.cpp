// `wellspring train`: trains as configured and shows the run on the terminal.
#include "cli/command.h"
#include "cli/local_ranks.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/run_trace.h"
#include "cli/train_view.h"
#include "core/measure/trace.h"
#include "core/signals.h"
#include "core/version.h"
#include "train/finished_run.h"
#include "train/ranks/open_ranks.h"
#include "train/ranks/rank_settings.h"
#include "train/ranks/ring.h"
#include "train/run_length.h"
#include "train/trainer.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unistd.h>
#include <vector>

namespace wellspring::cli {
namespace {

struct TrainArguments {
  std::string config, resume = "auto", graph, trace;
  std::vector<std::string> overrides;
  std::optional<std::uint64_t> extend;  ///< steps
  std::int64_t ranks = 1;
  std::int64_t rank_timeout = 600;  ///< seconds
};

/// The overrides of a run that continues for --extend steps after its last one.
std::vector<std::string> extended(const TrainArguments& options,
                                  std::vector<std::string> overrides) {
  const RunConfig config = RunConfig::load(options.config, overrides);
  const std::uint64_t steps = extended_steps(config, *options.extend, [&](const auto& settings) {
    return command_with("train", options.config, overrides, settings);
  });
  if (config.train.epochs > 0) {
    std::erase_if(overrides, [](const auto& text) { return text.starts_with("train.epochs="); });
    overrides.emplace_back("train.epochs=0");
  }
  std::erase_if(overrides, [](const auto& text) { return text.starts_with("train.steps="); });
  overrides.push_back(fmt::format("train.steps={}", steps));
  return overrides;
}

int train(const TrainArguments& options, const std::vector<std::string>& given, RunConfig config,
          const TrainerOptions& trainer_options) {
  SignalGuard signals({.stopping = "\nwellspring: stopping before the first step\n",
                       .ended = "\nwellspring: aborted\n"});
  const bool is_first = trainer_options.ranks->rank() == 0;
  RunTrace trace(is_first ? options.trace : "", config.device);
  TrainView view(options.config, given, options.ranks, config);
  TrainObserver silent;
  TrainObserver& observer = is_first ? view : silent;
  if (trainer_options.resume.kind == ResumeChoice::Kind::automatic &&
      trainer_options.ranks->size() == 1) {
    if (const std::optional<FinishReport> before = finished_run(config)) {
      view.finished_before(*before);
      return 0;
    }
  }
  RunStatus status = RunStatus::interrupted;
  try {
    Trainer trainer(std::move(config), observer, trainer_options);  // reads the data
    signals.say({.stopping = "\nwellspring: stopping after this step, with a checkpoint; press "
                             "Ctrl-C again to abort without one\n",
                 .ended = "\nwellspring: aborted; progress since the last checkpoint is lost\n"});
    const TraceSpan span(stages::kTrain);
    const FinishReport report = trainer.run();
    status = report.status;
    if (status == RunStatus::already_finished && &observer == &view) view.finished_before(report);
  } catch (const Interrupted&) {  // while reading the data, before the first step
    if (trainer_options.ranks->size() > 1) throw;
    view.stopped_before_the_first_step();
  }
  trace.write();
  forget_undelivered();
  return status == RunStatus::interrupted ? kInterruptedExitCode : 0;
}

/// Trains as one of several ranks. A failure ends all of them.
int train_rank(const TrainArguments& options, const std::vector<std::string>& given,
               RunConfig config, TrainerOptions trainer_options, const Launch& launch) {
  std::unique_ptr<ConnectedRanks> ranks;
  const auto told = [&](const std::string& reason) {
    if (ranks) ranks->abandon(fmt::format("rank {} has failed: {}", launch.rank, reason));
    return fmt::format("rank {}: {}", launch.rank, reason);
  };
  try {
    take_part_of_node(config, launch);
    ranks =
        open_ranks(launch, Device::parse(config.device), fmt::format("{} {}", kVersion, kCommit),
                   std::chrono::seconds(options.rank_timeout));
    take_processors(config, launch, *ranks);
    trainer_options.ranks = ranks.get();
    return train(options, given, std::move(config), trainer_options);
  } catch (const Interrupted&) {  // before the first step, by a signal to this rank or another one
    if (ranks) ranks->abandon(kStoppedBySignal);
    return kInterruptedExitCode;
  } catch (const Error& error) {
    throw Error(error.kind(), {told(error.what())});
  } catch (const std::exception& error) {
    told(error.what());
    throw;
  }
}

int run(const TrainArguments& options) {
  std::optional<Launch> launch = find_launch(process_environment(), getppid());
  if (launch && options.ranks > 1)
    fail(ErrorKind::config, {fmt::format("--ranks {}, but {} has already started {} ranks",
                                         options.ranks, launch->launcher, launch->size),
                             "", "leave out --ranks"});
  std::vector<std::string> given = options.overrides;
  if (options.extend) given = extended(options, std::move(given));
  std::vector<std::string> overrides = given;
  if (!options.graph.empty()) overrides.push_back("train.graph=" + options.graph);
  RunConfig config = RunConfig::load(options.config, overrides);
  TrainerOptions trainer_options;
  trainer_options.resume = ResumeChoice::parse(options.resume);
  if (options.ranks > 1) {
    static_cast<void>(
        share_of(config.train.batch, 0, static_cast<int>(options.ranks), config.rank_rows_unit()));
    if (const auto code = start_local_ranks(static_cast<int>(options.ranks))) return *code;
    launch = find_launch(process_environment(), getppid());
  }
  return launch ? train_rank(options, given, std::move(config), trainer_options, *launch)
                : train(options, given, std::move(config), trainer_options);
}

}  // namespace

Command add_train(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand(
      "train", "train a network on generated samples, files, or a mixture of both");
  auto options = std::make_shared<TrainArguments>();
  app->add_option("config", options->config, kConfigurationHelp)->required();
  app->add_option("settings", options->overrides,
                  "key=value: overrides a key of the configuration");
  app->add_option(
         "--resume", options->resume,
         "auto: continue from the newest checkpoint in the run folder, if there is one; never: "
         "start from scratch; or the path of a checkpoint, or of another run folder, whose "
         "newest checkpoint is used")
      ->capture_default_str();
  constexpr double kMostSteps = 1e15;
  add_optional_whole(
      *app, "--extend", options->extend, 1, kMostSteps,
      "continue a finished run for this many further steps; its learning rate "
      "must be constant (optimizer.schedule=constant optimizer.warmup=0); if the extended "
      "run is interrupted, continue it with the command that it prints")
      ->excludes(app->get_option("--resume"));
  constexpr double kMostRanks = 4096;
  add_whole_option(*app, "--ranks", options->ranks, 1, kMostRanks,
                   "start this many processes on this machine, which share each batch; torchrun, "
                   "mpirun and srun start them on several machines");
  constexpr double kLongestTimeout = 1e6;
  add_whole_option(*app, "--rank-timeout", options->rank_timeout, 1, kLongestTimeout,
                   "seconds after which a rank that does nothing ends the run");
  app->add_option("--graph", options->graph,
                  "on: record the step once and replay it; off: launch it every time; check: do "
                  "both and compare the results bit for bit (default: train.graph of the "
                  "configuration)")
      ->check(CLI::IsMember({"on", "off", "check"}));
  add_output_option(*app, "--trace", options->trace, kTraceHelp);
  return {app, [options] { return run(*options); }};
}

}  // namespace wellspring::cli
