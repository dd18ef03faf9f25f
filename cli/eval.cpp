// `wellspring eval`: evaluates a trained network, or its features, on held-out samples.
#include "cli/command.h"
#include "cli/options.h"
#include "cli/result_view.h"
#include "cli/terminal.h"
#include "cli/work_bar.h"
#include "core/text/measured_text.h"
#include "core/text/plural.h"
#include "core/text/text.h"
#include "train/evaluation/evaluation.h"
#include "train/evaluation/features.h"
#include "train/metrics/metrics_log.h"
#include "train/trainer.h"

#include <CLI/Validators.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace wellspring::cli {
namespace {

struct EvalArguments {
  std::string checkpoint;
  bool json = false;
  std::string predictions;  ///< file to write; "": none
  std::optional<int> knn;   ///< number of neighbours
  std::string layer;
  double temperature = KnnOptions{}.temperature;
  std::vector<std::string> rest;  ///< an optional configuration file, then key=value
};

void print_json(const EvalArguments& options, const KnnReport& report) {
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  for (const KnnResult& result : report.results)
    results.push_back({{"name", result.name},
                       {"samples", result.samples},
                       {"training_samples", result.bank},
                       {"accuracy", result.accuracy},
                       {"error", result.error}});
  const nlohmann::ordered_json line = {{"kind", "knn"},
                                       {"neighbours", *options.knn},
                                       {"temperature", options.temperature},
                                       {"layer", options.layer},
                                       {"results", results}};
  fmt::print("{}\n", printable(line.dump()));
}

int run_knn(const EvalArguments& options) {
  WorkView view;
  const KnnReport report =
      evaluate_knn({.checkpoint = options.checkpoint,
                    .layer = options.layer,
                    .neighbours = *options.knn,
                    .temperature = options.temperature},
                   evaluation_config("eval", options.checkpoint, options.rest), view);
  view.end();
  print_notes(report.notes);
  if (options.json) {
    print_json(options, report);
    return 0;
  }
  for (const KnnResult& result : report.results)
    fmt::print("{}\n",
               fit(fmt::format("held out, {}: k-NN accuracy {} ({} of {}, k = {})",
                               printable(result.name), share_text(result.accuracy, result.error),
                               counted(result.samples, "sample"),
                               counted(result.bank, "training sample"), *options.knn),
                   STDOUT_FILENO, 4));
  return 0;
}

int run(const EvalArguments& options) {
  if (options.knn) return run_knn(options);
  WorkView view;
  const EvaluationReport report = evaluate_checkpoint(
      options.checkpoint, evaluation_config("eval", options.checkpoint, options.rest), view,
      options.predictions);
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
  add_evaluation_arguments(*app, options->checkpoint, options->rest);
  app->add_flag("--json", options->json,
                "print the results as a line of metrics.jsonl, in full precision");
  add_output_option(*app, "--predictions", options->predictions,
                    "write the outputs and the truth of each sample; the extension selects the "
                    "format: NAME.npz (NumPy), NAME.csv, NAME.h5 or NAME.hdf5 (HDF5)");
  constexpr double kMostNeighbours = 1e6;
  CLI::Option* knn = add_optional_whole(
      *app, "--knn", options->knn, 1, kMostNeighbours,
      "instead of the heads, evaluate a classifier of frozen features: the K training samples with "
      "the largest cosine similarity vote with weight exp(similarity / temperature); the data may "
      "have different classes from the checkpoint");
  knn->excludes(app->get_option("--predictions"));
  app->add_option("--layer", options->layer,
                  "(with --knn) layer of the features, as for `wellspring features`")
      ->needs(knn);
  app->add_option("--temperature", options->temperature, "(with --knn) temperature of the votes")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->needs(knn);
  return {app, [options] { return run(*options); }};
}

}  // namespace wellspring::cli
