// Runs from the compiler's code end with the same bytes as runs with the host's loops: every model,
// optimizer and kind of batch, in f32 and bf16. Needs listings (scripts/listing-tests).
#include "tests/cuda_stand_in/sass/kernels.h"
#include "tests/train/model_runs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace wellspring::test {
namespace {

/// Optimizers, augmentations and heads that the runs of models do not have.
std::vector<ModelRun> more_runs() {
  const std::string vit = "model={name: vit, patch: 4, width: 12, depth: 1, heads: 2}";
  return {
      {"cnn", {}},
      {"sgd", {"optimizer={kind: sgd, lr: 0.01, nesterov: true}", "train.clip=0.1"}},
      {"lion with averages", {"optimizer={kind: lion, lr: 0.001}", "train.ema=0.9"}},
      {"lamb", {"optimizer={kind: lamb, lr: 0.01, weight_decay: 0.01}", "optimizer.agc=0.01"}},
      {"lars in passes",
       {"optimizer={kind: lars, lr: 1, weight_decay: 0.01}", "train.batch=16",
        "train.accumulate=2"}},
      {"rates by layer", {"optimizer.layer_decay=0.5", "optimizer.schedule=one_cycle"}},
      {"frozen and recomputed",
       {"optimizer.parameters=[{match: stage0.*, unfreeze_at: 2}]", "train.recompute_blocks=1"}},
      {"augmix", {"data.augment=[augmix]", "data.sources.0.repeats=2"}},
      {"whole images",
       {"data.augment=[{flip_x: 0.5}, rand_augment, {equalise: 0.5}, {blur: {probability: 0.5}}]"}},
      {"two views",
       {vit, "data.views=2", "data.augment=[crop_resize, {brightness: 0.4}]",
        "heads=[{name: pretext, loss: info_nce, temperature: 0.2, projection: [8, 4]}]",
        "eval.sources=[]"}},
      {"masked patches",
       {vit, "data.augment=[{flip_x: 0.5}, {mask_patches: {patch: 4, ratio: 0.5, fill: none}}]",
        "heads=[{name: pretext, loss: masked_patches}]", "data.size=[8, 16]", "eval.sources=[]"}},
  };
}

std::vector<ModelRun> all_runs() {
  std::vector<ModelRun> runs = model_runs();
  for (ModelRun& run : more_runs()) runs.push_back(std::move(run));
  return runs;
}

class ListingRuns : public ::testing::TestWithParam<std::tuple<ModelRun, std::string>> {};

TEST_P(ListingRuns, EndWithTheBytesOfHostLoops) {
  sass::Kernels* const kernels = sass::Kernels::of_environment();
  if (kernels == nullptr) GTEST_SKIP() << "needs listings: see scripts/listing-tests";
  const auto& [run, precision] = GetParam();
  const auto state = [&, &settings = run.settings](bool listings) {
    kernels->use(listings);
    const RunConfig config = small_run(
        "unused", with(settings, {"train.steps=3", "device=cuda:0", "precision=" + precision}));
    return end_state(config, in_memory());
  };
  const std::vector<std::uint8_t> expected = state(false);
  const std::uint64_t before = kernels->warp_instructions();
  EXPECT_EQ(state(true), expected);
  EXPECT_GT(kernels->warp_instructions(), before);
}

INSTANTIATE_TEST_SUITE_P(Models, ListingRuns,
                         ::testing::Combine(::testing::ValuesIn(all_runs()),
                                            ::testing::Values("f32", "bf16")),
                         [](const auto& info) {
                           std::string name =
                               std::get<0>(info.param).name + "_" + std::get<1>(info.param);
                           std::ranges::replace(name, ' ', '_');
                           return name;
                         });

}  // namespace
}  // namespace wellspring::test
