// Runs of every model: eager and replayed steps, resumed runs, dense labels among other sources.
#include "tests/train/model_runs.h"

#include "core/io/npy.h"
#include "train/evaluation/evaluation.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace wellspring::test {
namespace {

/// bf16 is the default on a GPU, f32 on a CPU.
std::vector<std::pair<ModelRun, std::string>> in_all_precisions(const std::vector<ModelRun>& runs) {
  std::vector<std::pair<ModelRun, std::string>> all;
  for (const ModelRun& run : runs)
    for (const char* precision : {"precision=f32", "precision=bf16"})
      all.emplace_back(run, precision);
  return all;
}

TEST(ModelRuns, ShowAndStorePredictionsOfDenseLabels) {
  const TemporaryFolder folder;
  Listener listener;
  const RunConfig config =
      small_run(folder / "run", with(kPixels, {"train.steps=4", "eval.every=2"}));
  Trainer(config, listener, quick()).run();
  EXPECT_TRUE(std::filesystem::exists(folder / "run/predictions.png"));
  expect_parts(slurp(folder / "run/report.html"),
               {"Mean IoU", "mean IoU, %", "then with the predicted classes"});
  evaluate_checkpoint(folder / "run", config, listener, folder / "p.npz");
  const NpyArray predicted = read_npz(folder / "p.npz", "predicted_mask");
  EXPECT_EQ(predicted.spec.type, ElementType::i32);
  EXPECT_EQ(predicted.spec.shape, (std::vector<std::int64_t>{40, 8, 8}));
  for (const std::int32_t value : predicted.as<std::int32_t>()) {
    EXPECT_GE(value, 0);
    EXPECT_LE(value, 4);  // background and four shapes
  }
}

// The eager, the replayed, the resumed and the recomputing run end with the same state.
TEST(ModelRuns, EndWithEqualBytesByGraphEagerlyAndResumed) {
  for (const auto& [run, precision] : in_all_precisions(model_runs())) {
    SCOPED_TRACE(run.name + ", " + precision);
    const TemporaryFolder folder;
    const auto config = [&, &settings = run.settings](const char* out, const Settings& others) {
      return small_run(folder / out, with(with(settings, {precision}), others));
    };
    const std::vector<std::uint8_t> replayed =
        end_state(config("whole", {"train.graph=on"}), quick());
    EXPECT_EQ(end_state(config("eager", {"train.graph=off"}), quick()), replayed);
    EXPECT_EQ(end_state(config("check", {"train.graph=check"}), quick()), replayed);
    const ResumeChoice from{ResumeChoice::Kind::path, folder / "whole/checkpoints/step-10"};
    EXPECT_EQ(end_state(config("resumed", {"train.graph=on"}), quick(from)), replayed);
    EXPECT_EQ(end_state(config("recomputed", {"train.recompute_blocks=1", "train.graph=check"}),
                        quick(from)),
              replayed);
  }
}

TEST(ModelRuns, ReportPixelsAndOtherHeadsOfAMixture) {
  const TemporaryFolder folder;
  Listener listener;
  Trainer trainer(small_run(folder / "run", kPixels), listener, quick());
  trainer.run();
  const EvaluationReport report = trainer.evaluate();
  ASSERT_EQ(report.results.size(), 2u);
  const HeadReport& mask = report.results[0].heads.at(0);
  EXPECT_EQ(mask.head, "mask");
  ASSERT_EQ(mask.scores.size(), 2u);
  EXPECT_EQ(mask.scores[0].what, "pixel accuracy");
  EXPECT_EQ(mask.scores[1].what, "mean IoU");
  for (const Score& score : mask.scores) EXPECT_TRUE(score.value > 0 && score.value <= 1);
  EXPECT_EQ(report.results[1].heads.at(0).head, "noise");
  EXPECT_TRUE(report.results[1].accuracy.has_value());
}

// The heads of the file are used, not those in the configuration.
TEST(ModelRuns, EvaluateThePixelsOfAModelFile) {
  const TemporaryFolder folder;
  Listener listener;
  Trainer trainer(small_run(folder / "run", kPixels), listener, quick());
  trainer.run();
  const EvaluationReport own = trainer.evaluate();
  const EvaluationReport read =
      evaluate_checkpoint(folder / "run", small_run("unused", {kPixels[0]}), listener);
  EXPECT_EQ(read.results.at(0).heads.at(0).scores.at(1).value,
            own.results.at(0).heads.at(0).scores.at(1).value);
}

// Both heads learn the labels of one source, each from its own token.
TEST(ModelRuns, TeachTwoHeadsWithOneSource) {
  const TemporaryFolder folder;
  Listener listener;
  Trainer trainer(small_run(folder / "run", model_runs()[3].settings), listener, quick());
  const EvaluationReport before = trainer.evaluate();
  trainer.run();
  const EvaluationReport after = trainer.evaluate();
  ASSERT_EQ(after.results[0].heads.size(), 2u);
  for (const std::size_t head : {0, 1})
    EXPECT_NE(after.results[0].heads[head].loss, before.results[0].heads[head].loss);
  EXPECT_NE(after.results[0].heads[0].loss, after.results[0].heads[1].loss);
}

// The mean of two logits changes only the evaluation. Its cross-entropy is at most the mean of both cross-entropies, by
// convexity.
TEST(ModelRuns, EvaluateTheMeanOfTwoHeads) {
  const Settings apart = model_runs()[3].settings;
  Settings averaged = apart;
  averaged[1].replace(averaged[1].find("{name: shapes}"), 14,
                      "{name: shapes, average_with: teacher}");
  const TemporaryFolder folder;
  Listener listener;
  Trainer one(small_run(folder / "apart", apart), listener, quick());
  Trainer other(small_run(folder / "averaged", averaged), listener, quick());
  one.run();
  other.run();
  EXPECT_EQ(one.state_bytes(), other.state_bytes());
  const auto losses = [](const EvaluationReport& report) {
    std::vector<double> all;
    for (const HeadReport& head : report.results[0].heads) all.push_back(head.loss);
    return all;
  };
  const std::vector<double> alone = losses(one.evaluate()), mean = losses(other.evaluate());
  EXPECT_EQ(mean[1], alone[1]);
  EXPECT_NE(mean[0], alone[0]);
  EXPECT_LT(mean[0], 0.5 * (alone[0] + alone[1]));
  // The model file records this, too.
  EXPECT_EQ(losses(evaluate_checkpoint(folder / "averaged", small_run("unused", apart), listener)),
            mean);
}

TEST(ModelRuns, LearnTheClassesOfPixels) {
  const TemporaryFolder folder;
  Listener listener;
  Trainer trainer(small_run(folder / "run", with(kPixels, {"train.steps=150"})), listener, quick());
  const double before = trainer.evaluate().results[0].heads.at(0).loss;
  trainer.run();
  EXPECT_LT(trainer.evaluate().results[0].heads.at(0).loss, 0.5 * before);
}

TEST(ModelRuns, LearnTheShapesOfLeaves) {
  const TemporaryFolder folder;
  Listener listener;
  const auto leaves = [&](const std::string& dense) {
    return small_run(folder / "run",
                     {kPixels[0], "heads=[{name: mask, loss: pixel_class}]",
                      "data.sources=[{name: leaves, kind: generator, generator: dead_leaves, "
                      "params: {kind: mixed, r_min: 0.2, dense: " +
                          dense + "}}]",
                      "eval.sources=[{of: leaves}]", "train.steps=60"});
  };
  Trainer trainer(leaves("shape"), listener, quick());
  const double before = trainer.evaluate().results[0].heads.at(0).loss;
  trainer.run();
  const HeadReport after = trainer.evaluate().results[0].heads.at(0);
  EXPECT_LT(after.loss, before);
  EXPECT_EQ(after.scores.at(1).what, "mean IoU");
  EXPECT_GT(after.scores.at(1).value, 0);
  expect_parts(slurp(folder / "run/report.html"), {"then with the predicted classes"});
  expect_parts(
      message_of(ErrorKind::config, [&] { Trainer(leaves("leaf"), listener, in_memory()); }),
      {"source 'leaves' has no class per pixel", "dense: shape"});
}

TEST(ModelRuns, RefuseHeadsThatTheModelOrTheDataCannotServe) {
  const auto refused = [](const Settings& settings) {
    return message_of(ErrorKind::config, [&] {
      Listener listener;
      Trainer(small_run("unused", settings), listener, in_memory());
    });
  };
  const std::string heads = kPixels[1];
  expect_parts(refused({heads}), {"model cnn: it has no output 'pixels'", "unet"});
  expect_parts(refused({kPixels[0], heads, "data.mix={mixup: 1}"}),
               {"head 'mask'", "data.mix", "dense labels"});
  expect_parts(refused({kPixels[0],
                        "heads=[{name: mask, loss: pixel_class, sources: [noise]}, "
                        "{name: shapes}]"}),
               {"source 'noise' has no class per pixel"});
  expect_parts(refused({"model={name: vit, patch: 3, width: 6, heads: 2}"}),
               {"patches of 3x3 do not divide images of 8x8"});
  expect_parts(refused({"model={name: vit, patch: 4, width: 6, heads: 2}", "data.size=[8, 10]"}),
               {"patches of 4x4 do not divide images of 8x10", "change model.patch or data.size"});
  expect_parts(refused({"data.size=[8, 9]"}), {"cannot halve images of 8x9"});
  expect_parts(refused({"model={name: vit, width: 10, heads: 3}"}),
               {"a width of 10 cannot be divided among 3 heads"});
  expect_parts(refused({"model={name: transformer}"}), {"model transformer", "images"});
  expect_parts(refused(with(kJets, {"model={name: vit}"})), {"model vit: the samples are sets"});
  expect_parts(refused({kPixels[0],
                        "heads=[{name: mask, loss: pixel_class, output: sample}, "
                        "{name: noise, output: other}]"}),
               {"output 'sample' has", "instead of one vector per pixel", "remove `output`"});
  expect_parts(refused({kPixels[0], "heads=[{name: shapes, output: pixels}, {name: noise}]"}),
               {"output 'pixels' has one vector per pixel"});
  expect_parts(refused({kPixels[0], "heads=[{name: shapes, output: pixel}, {name: noise}]"}),
               {"it has no output 'pixel'", "did you mean", "pixels"});
}

}  // namespace
}  // namespace wellspring::test
