// `wellspring features`: writes the values of a layer of a trained network.
#include "train/evaluation/features.h"

#include "cli/command.h"
#include "cli/options.h"
#include "cli/work_bar.h"
#include "core/text/plural.h"
#include "core/text/text.h"

#include <CLI/Validators.hpp>
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

namespace wellspring::cli {
namespace {

struct FeatureArguments {
  std::string checkpoint, layer, out, samples = "held_out";
  std::vector<std::string> rest;
};

std::string shape_text(const TensorShape& shape) {
  if (shape.positions() == 1) return counted(shape.channels, "feature");
  if (shape.height == 1) return fmt::format("{}x{} features", shape.width, shape.channels);
  return fmt::format("{}x{}x{} features", shape.height, shape.width, shape.channels);
}

int run(const FeatureArguments& arguments) {
  WorkView view;
  const FeatureReport report =
      write_features({.checkpoint = arguments.checkpoint,
                      .layer = arguments.layer,
                      .out = arguments.out,
                      .samples = arguments.samples == "training" ? FeatureSamples::training
                                                                 : FeatureSamples::held_out},
                     evaluation_config("features", arguments.checkpoint, arguments.rest), view);
  view.end();
  print_notes(report.notes);
  fmt::print("{}: {} of {}\n", printable(arguments.out), shape_text(report.shape),
             counted(report.samples, "sample"));
  return 0;
}

}  // namespace

Command add_features(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand(
      "features", "write the values of a layer of a trained network for each sample");
  auto options = std::make_shared<FeatureArguments>();
  add_evaluation_arguments(*app, options->checkpoint, options->rest);
  app->add_option("--layer", options->layer,
                  "name of a layer, or the beginning of names, such as layer3 or blocks.5, for the "
                  "end of this part; `wellspring describe MODEL` lists the layers (default: the "
                  "input of the output layer)");
  add_output_option(*app, "--out", options->out,
                    "file to write: NAME.npz (NumPy), NAME.h5 or NAME.hdf5 (HDF5)");
  app->get_option("--out")->required();
  app->add_option("--samples", options->samples,
                  "held_out: the samples of eval.sources; training: the rows of all training "
                  "files, and eval.samples samples of each generator, without augmentation")
      ->check(CLI::IsMember({"held_out", "training"}))
      ->capture_default_str();
  return {app, [options] { return run(*options); }};
}

}  // namespace wellspring::cli
