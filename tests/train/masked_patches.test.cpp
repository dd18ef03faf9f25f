// Masked-image modelling: predicts the pixels of masked patches, which the network does not see.
#include "tests/train/training_testing.h"
#include "train/check_run.h"
#include "train/evaluation/evaluation.h"
#include "train/step/step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace wellspring::test {
namespace {

const std::string kMaskedVit = "model={name: vit, patch: 4, width: 12, depth: 1, heads: 2}",
                  kPatchMask =
                      "data.augment=[{flip_x: 0.5}, {mask_patches: {patch: 4, ratio: 0.5, "
                      "fill: none}}]",
                  kPatchHead = "heads=[{name: pretext, loss: masked_patches}]";
const Settings kMasked = {kMaskedVit, kPatchMask, kPatchHead, "data.size=[8, 16]",
                          "eval.sources=[]"};

TEST(MaskedPatchRuns, HideThePixelsFromTheNetworkOnlyWhereMasked) {
  const RunConfig config = small_run("unused", kMasked);
  RunContext context(single_rank(), 8, Device::cpu(), 1);
  const Mixture mixture = config.open_training();
  SupervisedTask task(config, context, DType::f32, SupervisedTask::Input::of(config, mixture));
  ASSERT_EQ(task.outputs_per_sample(), 8 * 4 * 4 * 3);
  BatchColumns columns;
  columns.plan(context.memory, "test", 8, task.layout(), DType::f32);
  context.memory.commit();
  task.parameters().initialise(context.stream, 1);
  BatchView batch = columns.view();
  ASSERT_EQ(batch.layout.patches, 8);
  for (std::int64_t i = 0; i < 8 * 8; ++i) batch.mask[i] = i % 8 == 2 ? 1 : 0;
  const auto outputs_with = [&](std::int64_t changed) {
    for (std::int64_t i = 0; i < batch.size * batch.layout.elements(); ++i)
      static_cast<float*>(batch.x)[i] = std::sin(static_cast<float>(i));
    static_cast<float*>(batch.x)[changed] += 1;
    task.forward({context.stream, batch, nullptr, nullptr, PassMode::evaluate});
    return std::vector<float>(task.outputs(), task.outputs() + 8 * task.outputs_per_sample());
  };
  const std::vector<float> plain = outputs_with(3 * 9);  // row 0, column 9: patch 2
  EXPECT_EQ(outputs_with(3 * 10), plain);
  EXPECT_NE(outputs_with(3 * 12), plain);  // patch 3
  batch.mask = nullptr;                    // held-out samples
  EXPECT_NE(outputs_with(3 * 9), plain);
}

// A run learns, and its final state does not depend on graphs, threads or resumes.
TEST(MaskedPatchRuns, LearnAndEndWithEqualBytes) {
  for (const char* const precision : {"precision=f32", "precision=bf16"}) {
    SCOPED_TRACE(precision);
    const TemporaryFolder folder;
    const auto config = [&](const char* out, const Settings& others) {
      return small_run(folder / out, with(with(kMasked, {precision}), others));
    };
    const auto whole = end_state(config("whole", {"train.graph=on"}), quick());
    EXPECT_EQ(end_state(config("check", {"train.graph=check", "threads=2"}), quick()), whole);
    const ResumeChoice from{ResumeChoice::Kind::path, folder / "whole/checkpoints/step-10"};
    EXPECT_EQ(end_state(config("resumed", {"train.graph=on"}), quick(from)), whole);
  }
  const TemporaryFolder folder;
  Listener listener;
  Trainer trainer(small_run(folder / "long", with(kMasked, {"train.steps=200", "train.batch=16"})),
                  listener, quick());
  trainer.run();
  ASSERT_GE(listener.steps.size(), 2u);
  EXPECT_LT(listener.steps.back().loss, 0.9 * listener.steps.front().loss);
  for (const SourceReport& source : listener.steps.back().sources)
    for (const HeadReport& head : source.heads) EXPECT_TRUE(head.scores.empty());
}

// Every model with a feature map predicts patches, also next to a classifier and with several
// passes per step.
TEST(MaskedPatchRuns, WorkWithEveryModelAndOtherHeads) {
  const Settings shared = {"data.size=16", "eval.sources=[{of: shapes}]", "train.steps=3"};
  for (const auto& [model, patch] :
       {std::pair<std::string, int>{
            "model={name: cnn, widths: [4, 8], blocks: [0, 0], pool: [1, 1]}", 4},
        {"model={name: convnext, widths: [8, 16], depths: [1, 1], patch: 2}", 4},
        {"model={name: vit, patch: 8, width: 8, depth: 1, heads: 2, pool: mean}", 8},
        {"model={name: resnet20}", 4}}) {
    SCOPED_TRACE(model);
    Listener listener;
    const std::string mask = "data.augment=[{mask_patches: {patch: " + std::to_string(patch) +
                             ", ratio: 0.5, fill: none}}]";
    Trainer trainer(
        small_run("unused", with(shared, {model, mask, "train.batch=16", "train.accumulate=2",
                                          "heads=[{name: shapes}, {name: noise}, {name: pretext, "
                                          "loss: masked_patches}]"})),
        listener, in_memory());
    trainer.run();
    const EvaluationReport report = trainer.evaluate();
    ASSERT_EQ(report.results.size(), 1u);
    for (const HeadReport& head : report.results[0].heads) EXPECT_NE(head.head, "pretext");
  }
}

TEST(MaskedPatchRuns, AreRefusedBeforeTraining) {
  const auto refused_run = [](const Settings& settings) {
    return message_of(ErrorKind::config, [&] { check_run(small_run("unused", settings)); });
  };
  const auto refused = [&](const Settings& more) {
    return refused_run(with({kMaskedVit, kPatchHead}, more));
  };
  expect_parts(refused({}), {"source 'shapes' has no masked patches", "fill: none"});
  expect_parts(refused({"data.augment=[{mask_patches: {patch: 4}}]"}),
               {"source 'shapes' has no masked patches with pixels"});
  expect_parts(refused({kPatchMask, "data.sources.1.augment=[]"}),
               {"source 'noise' has no masked patches"});
  expect_parts(
      refused({kPatchMask, "data.sources.1.augment=[{mask_patches: {patch: 2, fill: none}}]"}),
      {"patches of 4 pixels, another source of 2"});
  expect_parts(refused({kPatchMask, "model.patch=2"}),
               {"output 'patches'", "4 patches", "mask_patches"});
  expect_parts(refused_run({kPatchHead, kPatchMask, "model={name: mlp}"}),
               {"it has no output 'patches'", "such as vit"});
  expect_parts(refused_run({kMaskedVit, kPatchMask,
                            "heads=[{name: shapes, output: patches}, {name: noise}]"}),
               {"output 'patches' has one vector per patch"});
  expect_parts(refused({kPatchMask, "data.mix={mixup: 0.5}"}), {"mask_patches", "data.mix"});
  expect_parts(refused({kPatchMask, "train.keep_best=loss", "eval.every=5"}),
               {"keep_best", "not evaluated"});
}

}  // namespace
}  // namespace wellspring::test
