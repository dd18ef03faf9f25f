// `wellspring eval`: evaluates a trained network on held-out samples.
#include "cli/command.h"
#include "cli/options.h"
#include "cli/result_view.h"
#include "cli/terminal.h"
#include "cli/work_bar.h"
#include "core/error.h"
#include "core/text/text.h"
#include "train/evaluation/checkpoint_network.h"
#include "train/evaluation/evaluation.h"
#include "train/metrics/metrics_log.h"
#include "train/trainer.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

namespace wellspring::cli {
namespace {

struct EvalArguments {
  std::string checkpoint;
  bool json = false;
  std::string predictions;        ///< file to write; "": none
  std::vector<std::string> rest;  ///< an optional configuration file, then key=value
};

/// Refuses a configuration given in place of a checkpoint.
void expect_checkpoint(const std::string& where) {
  if (where.ends_with(".yaml") || where.ends_with(".yml"))
    fail(ErrorKind::config,
         {fmt::format("command line: {} is a configuration, not a checkpoint", where),
          "eval reads the weights of a trained run",
          fmt::format("use wellspring eval RUN_FOLDER {}", where)});
}

RunConfig config_of(const EvalArguments& options) {
  expect_checkpoint(options.checkpoint);
  std::vector<std::string> overrides = options.rest;
  if (overrides.empty() || overrides.front().find('=') != std::string::npos)
    return config_of_checkpoint(options.checkpoint, overrides);
  const std::string file = overrides.front();
  overrides.erase(overrides.begin());
  return RunConfig::load(file, overrides);
}

int run(const EvalArguments& options) {
  WorkView view;
  const EvaluationReport report =
      evaluate_checkpoint(options.checkpoint, config_of(options), view, options.predictions);
  view.end();
  print_notes(report.notes);
  if (options.json) {
    fmt::print("{}", printable(to_line(report)));
    return 0;
  }
  for (const EvaluationResult& result : report.results) {
    fmt::print("{}\n", fit(printable(evaluation_text(result, Depth::full)), STDOUT_FILENO, 4));
  }
  if (!options.predictions.empty()) fmt::print("predictions: {}\n", printable(options.predictions));
  return 0;
}

}  // namespace

Command add_eval(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand("eval", "evaluate a checkpoint on its held-out samples");
  auto options = std::make_shared<EvalArguments>();
  app->add_option(
         "checkpoint", options->checkpoint,
         "run folder, checkpoint folder, or safetensors file; a file from another program needs "
         "a configuration, and its tensors must have the network's names (scripts/torch-weights "
         "converts .pt and .pth)")
      ->required();
  app->add_option("settings", options->rest,
                  "a configuration with other data, and key=value overrides (default: the "
                  "checkpoint's own configuration)");
  app->add_flag("--json", options->json,
                "print the results as a line of metrics.jsonl, in full precision");
  add_output_option(*app, "--predictions", options->predictions,
                    "write the outputs and the truth of each sample; the extension selects the "
                    "format: NAME.npz (NumPy), NAME.csv, NAME.h5 or NAME.hdf5 (HDF5)");
  return {app, [options] { return run(*options); }};
}

}  // namespace wellspring::cli
