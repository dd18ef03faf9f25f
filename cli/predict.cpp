// `wellspring predict`: applies a trained network to unlabelled files.
#include "train/evaluation/predict.h"

#include "cli/command.h"
#include "cli/options.h"
#include "cli/result_view.h"
#include "cli/terminal.h"
#include "cli/work_bar.h"
#include "core/text/plural.h"
#include "core/text/text.h"
#include "sources/files/format.h"
#include "train/evaluation/checkpoint_network.h"
#include "train/evaluation/classifier_scores.h"
#include "train/evaluation/regression_scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace wellspring::cli {
namespace {

struct PredictArguments {
  std::string checkpoint, data, out, like;
  std::vector<std::string> settings;
};

/// "cat 97.1 %"; "x 0.213 mm, y 0.4"; or, for multi_label, the labels present: "star, cross".
std::string prediction_text(const HeadSpec& head, std::span<const float> outputs) {
  std::vector<std::string> parts;
  if (head.is_embedding()) {
    parts.push_back(fmt::format("embedding of {} values", outputs.size()));
  } else if (head.is_masked()) {
    parts.push_back(fmt::format("pixels of {}", counted(head.positions, "patch", "patches")));
  } else if (head.is_item()) {
    parts.push_back(fmt::format("{} of {}", counted(head.targets.size(), "target"),
                                counted(head.positions, "item")));
  } else if (head.loss == LossKind::regression) {
    const std::size_t targets = head.targets.size();
    const auto deviation = [&](std::size_t k) {
      return head.law.error != ops::RegressionError::gaussian
                 ? std::string()
                 : fmt::format(" +- {:.2g}",
                               predicted_deviation(head.targets[k], outputs[targets + k]));
    };
    for (std::size_t k = 0; k < targets; ++k)
      parts.push_back(fmt::format("{} {:.4g}{}{}", head.targets[k].name,
                                  predicted_target(head.targets[k], outputs[k]), deviation(k),
                                  head.targets[k].unit.empty() ? "" : " " + head.targets[k].unit));
  } else if (head.is_dense()) {
    std::vector<std::size_t> pixels(head.classes.size());
    for (std::size_t at = 0; at < outputs.size(); at += pixels.size())
      ++pixels[index_of_largest(outputs.subspan(at, pixels.size()))];
    for (std::size_t k = 0; k < pixels.size(); ++k)
      if (pixels[k] > 0)
        parts.push_back(head.classes[k] + " " +
                        percent(static_cast<double>(pixels[k]) / head.positions));
  } else if (head.loss == LossKind::multi_label) {
    for (std::size_t k = 0; k < outputs.size(); ++k)
      if (outputs[k] > 0) parts.push_back(head.classes[k] + " " + percent(sigmoid(outputs[k])));
    if (parts.empty()) parts.emplace_back("none");
  } else {
    std::vector<double> probabilities(outputs.size());
    class_probabilities(head, outputs, probabilities);
    const std::size_t best = index_of_largest(outputs);
    parts.push_back(head.classes[best] + " " + percent(probabilities[best]));
  }
  return join(parts);
}

void print_first(const PredictReport& report) {
  std::vector<std::vector<std::string>> lines = {{"row"}};
  for (const HeadSpec& head : report.heads) lines.front().push_back(head.name);
  for (const Prediction& row : report.first) {
    lines.push_back({row.location});
    for (const HeadSpec& head : report.heads)
      lines.back().push_back(
          prediction_text(head, std::span(row.outputs)
                                    .subspan(static_cast<std::size_t>(head.begin),
                                             static_cast<std::size_t>(head.outputs()))));
  }
  fmt::print("{}{}\n", printable(report.summary), printable(aligned(lines)));
  if (report.first.size() < report.rows)
    fmt::print("    ... {}: write all of them with --out\n",
               counted(report.rows - report.first.size(), "more row"));
}

int run(const PredictArguments& arguments) {
  constexpr std::uint64_t kShown = 10;  // rows
  PredictOptions options{arguments.checkpoint, arguments.data, arguments.like};
  options.out = arguments.out;
  options.shown = arguments.out.empty() ? kShown : 0;
  const std::vector<std::string> keys = format_keys("");
  std::vector<std::string> overrides;
  for (const std::string& setting : arguments.settings) {
    const std::size_t equals = std::min(setting.find('='), setting.size());
    const std::string key = setting.substr(0, equals);
    const std::string value = equals < setting.size() ? setting.substr(equals + 1) : "";
    if (key == "format" && equals < setting.size())
      options.format = value;
    else if (std::ranges::count(keys, key) > 0 && equals < setting.size())
      options.settings.push_back({key, value, {"command line"}});
    else
      overrides.push_back(setting);
  }
  WorkView view;
  const PredictReport report =
      predict(options, config_of_checkpoint(arguments.checkpoint, overrides), view);
  view.end();
  print_notes(report.notes);
  if (arguments.out.empty())
    print_first(report);
  else
    fmt::print("{}: predictions for {}\n", printable(arguments.out), printable(report.summary));
  return 0;
}

}  // namespace

Command add_predict(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand("predict", "apply a checkpoint to files without labels");
  auto options = std::make_shared<PredictArguments>();
  app->add_option("checkpoint", options->checkpoint,
                  "run folder, checkpoint folder, or safetensors file of a run")
      ->required();
  app->add_option("data", options->data,
                  "folder or archive of images, in any subfolders, or a file of arrays")
      ->required();
  app->add_option(
      "settings", options->settings,
      "key=value: keys of the file format, such as resize=32 or on_error=skip (default: as for "
      "the run's held-out files), and of the configuration, such as device=cpu");
  add_output_option(*app, "--out", options->out,
                    "write all predictions; the extension selects the format: NAME.npz (NumPy), "
                    "NAME.csv, NAME.h5 or NAME.hdf5 (HDF5); without this option, the first ten "
                    "are printed");
  app->add_option("--like", options->like,
                  "read the data with the normalisation and format keys of this source of the "
                  "run (default: its first held-out source that reads files)");
  return {app, [options] { return run(*options); }};
}

}  // namespace wellspring::cli
