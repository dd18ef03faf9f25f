// Regression of item features that the network does not see.
#include "core/io/npy.h"
#include "tests/train/training_testing.h"
#include "train/check_run.h"
#include "train/evaluation/evaluation.h"
#include "train/step/step.h"

#include <cmath>
#include <cstdint>
#include <vector>

namespace wellspring::test {
namespace {

/// Jets of up to eight constituents, whose energies are predicted.
const Settings kSmallJets = {
    "data.sources=[{name: jets, kind: generator, generator: ginkgo, params: {items: 8}}]",
    "eval.sources=[{of: jets}]"};
const std::string kModel = "model={name: transformer, width: 16, depth: 1, heads: 2}",
                  kHead = "heads=[{name: energies, loss: item_regression, targets: [E]}]";
const Settings kEnergies = with(kSmallJets, {kModel, kHead});

TEST(ItemRegression, LearnsAndReportsErrorsInTheUnitOfTheTarget) {
  const TemporaryFolder folder;
  Listener listener;
  const RunConfig config =
      small_run(folder / "run",
                with(kEnergies, {"data.normalise=auto", "train.steps=150", "train.batch=32"}));
  Trainer trainer(config, listener, quick());
  const HeadReport before = trainer.evaluate().results.at(0).heads.at(0);
  trainer.run();
  const HeadReport after = trainer.evaluate().results.at(0).heads.at(0);
  ASSERT_EQ(after.scores.size(), 2u);
  EXPECT_EQ(after.scores[0].what, "rmse of E");
  EXPECT_EQ(after.scores[1].what, "mae of E");
  EXPECT_FALSE(after.scores[1].unit.empty());
  EXPECT_LT(after.loss, before.loss / 4);
  // The loss is the squared error in standard deviations of the energy. It is the mean over a jet's
  // items, then over the jets.
  const double deviation = trainer.config().data.sources[0].augmentations.normalisation.std.at(0);
  EXPECT_LT(after.scores[1].value, after.scores[0].value);
  EXPECT_NEAR(after.scores[0].value / deviation, std::sqrt(after.loss), std::sqrt(after.loss));

  evaluate_checkpoint(folder / "run", config, listener, folder / "p.npz");
  const NpyArray predicted = read_npz(folder / "p.npz", "prediction");
  EXPECT_EQ(predicted.spec.shape, (std::vector<std::int64_t>{20, 8, 1}));
  const auto values = predicted.as<float>();
  for (std::size_t i = 0; i + 1 < values.size(); ++i)
    EXPECT_TRUE(i % 8 == 7 || !std::isnan(values[i]) || std::isnan(values[i + 1])) << i;
  EXPECT_FALSE(std::isnan(values[0]));
}

TEST(ItemRegression, HidesTheTargetsFromTheNetwork) {
  const RunConfig config = small_run("unused", kEnergies);
  RunContext context(single_rank(), 8, Device::cpu(), 1);
  const Mixture mixture = config.open_training();
  SupervisedTask task(config, context, DType::f32, SupervisedTask::Input::of(config, mixture));
  BatchColumns columns;
  columns.plan(context.memory, "test", 8, task.layout(), DType::f32);
  context.memory.commit();
  task.parameters().initialise(context.stream, 1);
  const BatchView batch = columns.view();
  std::fill_n(batch.count, 8, 5);
  const auto outputs_with = [&](int changed) {
    for (std::int64_t i = 0; i < batch.size * batch.layout.elements(); ++i)
      static_cast<float*>(batch.x)[i] =
          std::sin(static_cast<float>(i)) + (i % batch.layout.features == changed ? 1.0f : 0.0f);
    task.forward({context.stream, batch, nullptr, nullptr, PassMode::evaluate});
    return std::vector<float>(task.outputs(), task.outputs() + 8 * task.outputs_per_sample());
  };
  const std::vector<float> plain = outputs_with(-1);
  EXPECT_EQ(outputs_with(0), plain);
  for (const int feature : {1, 2, 3}) EXPECT_NE(outputs_with(feature), plain) << feature;
}

TEST(ItemRegression, IsRefusedBeforeTraining) {
  const auto refused = [](const Settings& more) {
    return message_of(ErrorKind::config,
                      [&] { check_run(small_run("unused", with(kSmallJets, more))); });
  };
  expect_parts(refused({kModel, "heads=[{name: e, loss: item_regression, targets: [energy]}]"}),
               {"no source has a feature of items 'energy'"});
  expect_parts(refused({kModel, "heads=[{name: e, loss: item_regression}]"}),
               {"targets is missing"});
  expect_parts(refused({"model={name: deepset}", kHead}),
               {"it has no output 'items'", "choose model transformer"});
  expect_parts(refused({kModel,
                        "heads=[{name: e, loss: item_regression, targets: [E]}, {name: p, loss: "
                        "item_regression, targets: [px]}]"}),
               {"it reads output 'items', as does head 'e'"});
  expect_parts(refused({kModel, "heads=[{name: jets, output: items}]"}),
               {"output 'items' has one vector per pixel or item"});
  expect_parts(refused({kModel, kHead, "data.mix={mixup: 0.5}"}), {"data.mix"});
}

}  // namespace
}  // namespace wellspring::test
