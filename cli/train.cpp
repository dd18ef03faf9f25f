// `wellspring train`: trains as configured and shows the run on the terminal.
#include "cli/command.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/train_view.h"
#include "core/signals.h"
#include "train/finished_run.h"
#include "train/run_length.h"
#include "train/trainer.h"

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace wellspring::cli {
namespace {

constexpr int kInterruptedExitCode = 75;  // EX_TEMPFAIL of sysexits.h: batch systems requeue on it

struct TrainArguments {
  std::string config, resume = "auto", graph;
  std::vector<std::string> overrides;
  std::optional<std::uint64_t> extend;  ///< steps
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

int run(const TrainArguments& options) {
  expect_single_task();
  std::vector<std::string> given = options.overrides;
  if (options.extend) given = extended(options, std::move(given));
  std::vector<std::string> overrides = given;
  if (!options.graph.empty()) overrides.push_back("train.graph=" + options.graph);
  RunConfig config = RunConfig::load(options.config, overrides);
  TrainerOptions trainer_options;
  trainer_options.resume = ResumeChoice::parse(options.resume);

  SignalGuard signals({.stopping = "\nwellspring: stopping before the first step\n",
                       .ended = "\nwellspring: aborted\n"});
  TrainView view(options.config, given, config);
  if (trainer_options.resume.kind == ResumeChoice::Kind::automatic) {
    if (const std::optional<FinishReport> before = finished_run(config)) {
      view.finished_before(*before);
      return 0;
    }
  }
  RunStatus status = RunStatus::interrupted;
  try {
    Trainer trainer(std::move(config), view, trainer_options);  // reads the data
    signals.say({.stopping = "\nwellspring: stopping after this step, with a checkpoint; press "
                             "Ctrl-C again to abort without one\n",
                 .ended = "\nwellspring: aborted; progress since the last checkpoint is lost\n"});
    const FinishReport report = trainer.run();
    status = report.status;
    if (status == RunStatus::already_finished) view.finished_before(report);
  } catch (const Interrupted&) {  // while reading the data, before the first step
    view.stopped_before_the_first_step();
  }
  forget_undelivered();
  return status == RunStatus::interrupted ? kInterruptedExitCode : 0;
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
  app->add_option("--graph", options->graph,
                  "on: record the step once and replay it; off: launch it every time; check: do "
                  "both and compare the results bit for bit (default: train.graph of the "
                  "configuration)")
      ->check(CLI::IsMember({"on", "off", "check"}));
  return {app, [options] { return run(*options); }};
}

}  // namespace wellspring::cli
