// Small runs of every kind of model, for tests that hold for all of them. Host only.
#pragma once

#include "tests/train/training_testing.h"

#include <string>
#include <vector>

namespace wellspring::test {

/// The noise has its own head; shapes are learned pixel by pixel.
inline const Settings kPixels = {"model={name: unet, widths: [4, 8], group_width: 4}",
                                 "heads=[{name: mask, loss: pixel_class}, {name: noise}]"};
inline const std::string kMirrored = "data.augment=[{flip_x: 0.5}]";
inline const Settings kJets = {
    "data.sources=[{name: jets, kind: generator, generator: ginkgo, params: {items: 8}}]",
    "eval.sources=[{of: jets}]"};

struct ModelRun {
  std::string name;
  Settings settings;
};

/// Some tests select a run by its place, so new runs belong at the end.
inline std::vector<ModelRun> model_runs() {
  const std::string two_tokens =
      "model={name: vit, patch: 4, width: 8, depth: 1, heads: 2, distilled: true}";
  std::vector<ModelRun> runs = {
      {"unet", with(kPixels, {kMirrored, "data.size=[8, 12]"})},
      {"vit",
       {"model={name: vit, patch: 4, width: 12, depth: 2, heads: 3, drop_path: 0.3, layer_scale: "
        "0.1}",
        "data.sources.0.repeats=2", kMirrored, "data.mix={mixup: 0.8, cutmix: 1}",
        "data.size=[8, 12]"}},
      {"vit with a mean",
       {"model={name: vit, patch: 4, width: 8, depth: 1, heads: 2, pool: mean}"}},
      {"vit with a second token",
       {two_tokens,
        "heads=[{name: shapes}, {name: noise}, {name: teacher, output: distilled, sources: "
        "[shapes]}]"}},
      {"vit with binary heads",
       {two_tokens,
        "heads=[{name: shapes, cross_entropy: binary, label_smoothing: 0.1, average_with: "
        "teacher}, {name: noise}, {name: teacher, output: distilled, cross_entropy: binary, "
        "sources: [shapes]}]",
        "data.sources.0.repeats=2", kMirrored, "data.mix={mixup: 0.8, cutmix: 1}"}},
      {"convnext",
       {"model={name: convnext, widths: [8, 16], depths: [1, 1], drop_path: 0.2, patch: 2}"}},
      {"mlp", {"model={name: mlp, widths: [8, 8]}"}},
      {"deepset",
       with(kJets, {"model={name: deepset, item_widths: [8], widths: [8], pooling: sum}"})},
      {"transformer",
       with(kJets, {"model={name: transformer, width: 8, depth: 2, heads: 2, widths: [8], dropout: "
                    "0.2}"})},
      {"transformer per item",
       with(kJets,
            {"model={name: transformer, width: 8, depth: 1, heads: 2}", "data.normalise=auto",
             "heads=[{name: jets}, {name: energies, loss: item_regression, targets: [E]}]"})}};
#ifndef WELLSPRING_SANITIZED  // slow there, and their layers occur in other tests
  runs.push_back({"resnet18", {"model={name: resnet18, stem: cifar, channels: 4}"}});
  runs.push_back({"resnet34", {"model={name: resnet34, stem: cifar, channels: 4}"}});
  runs.push_back({"resnet20", {"model={name: resnet20, zero_init_residual: true}"}});
  runs.push_back({"resnet50", {"model={name: resnet50, stem: cifar, channels: 4}"}});
  runs.push_back({"resnet56", {"model={name: resnet56, channels: 4}"}});
  runs.push_back({"wide_resnet50_2", {"model={name: wide_resnet50_2, stem: cifar, channels: 2}"}});
#endif
  return runs;
}

}  // namespace wellspring::test
