// `wellspring train`: trains as configured and shows the run on the terminal.
#include "cli/command.h"
#include "cli/program.h"
#include "cli/train_view.h"
#include "core/signals.h"
#include "train/finished_run.h"
#include "train/trainer.h"

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
};

int run(const TrainArguments& options) {
  expect_single_task();
  std::vector<std::string> overrides = options.overrides;
  if (!options.graph.empty()) overrides.push_back("train.graph=" + options.graph);
  RunConfig config = RunConfig::load(options.config, overrides);
  TrainerOptions trainer_options;
  trainer_options.resume = ResumeChoice::parse(options.resume);

  SignalGuard signals({.stopping = "\nwellspring: stopping before the first step\n",
                       .ended = "\nwellspring: aborted\n"});
  TrainView view(options.config, options.overrides, config);
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
    status = trainer.run().status;
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
         "auto: from the newest checkpoint in the run folder, if any; never: start from scratch; "
         "or the path of a checkpoint or of another run folder (its newest checkpoint)")
      ->capture_default_str();
  app->add_option("--graph", options->graph,
                  "on: capture the step once and replay it; off: launch it every time; check: do "
                  "both and compare bit for bit (default: train.graph of the configuration)")
      ->check(CLI::IsMember({"on", "off", "check"}));
  return {app, [options] { return run(*options); }};
}

}  // namespace wellspring::cli
