// Normalised runs: the statistics are in the resolved configuration and in the checkpoint, and are
// the same for held-out data, resumes, evaluations and runs that start from the weights.
#include "sources/normalisation.h"

#include "export/export.h"
#include "sources/files/format.h"
#include "tests/train/training_testing.h"
#include "train/checkpoint/checkpoint.h"
#include "train/evaluation/checkpoint_network.h"
#include "train/evaluation/evaluation.h"
#include "train/run_samples.h"

#include <fmt/format.h>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;
using Overrides = std::vector<std::string>;

constexpr const char* kRun = R"(name: jets
seed: 7
device: cpu
threads: 1
data:
  sources:
    - {{name: full, kind: files, path: {}, head: jets}}
    - {{name: toy, kind: generator, generator: lund_shower, params: {{items: 16}}, head: jets}}
eval: {{samples: 40, sources: [{{of: full, fraction: 0.3}}, {{of: toy}}]}}
model: {{name: deepset, item_widths: [8], widths: [8]}}
train: {{batch: 8, steps: 24, log_every: 4, checkpoint_every: 6}}
)";

struct NormalisedRun : ::testing::Test {
  NormalisedRun() : file(write("jets.npz", 500)), other(write("other.npz", 900)) {}
  fs::path write(const std::string& name, int momentum) const {
    const std::string pt = std::to_string(momentum);
    GeneratorReader feed(
        make_generator("lund_shower", 1, {{"items", "16"}, {"pt_low", pt}, {"pt_high", pt}}),
        {3, 0, 100});
    export_samples(feed, folder / name, {});
    return folder / name;
  }
  RunConfig run(const std::string& out, Overrides overrides = {}) const {
    overrides.push_back("out=" + (folder / out).string());
    return RunConfig::parse(fmt::format(kRun, file.string()), "jets.yaml", overrides);
  }
  static const Normalisation& scaling(const RunConfig& config, std::size_t source = 0) {
    return config.data.sources[source].augmentations.normalisation;
  }
  static bool same(const Normalisation& a, const Normalisation& b) {
    return a.mean == b.mean && a.std == b.std && a.globals == b.globals;
  }
  /// Values of x in the order of samples.
  static std::vector<float> values(const RunConfig& config, RunSampleRange::Split split) {
    RunSampleRange range;
    range.split = split;
    range.count = 30;
    RunSamples samples(config, range);
    std::vector<float> all;
    samples.make(
        [&](const HostSamples& made) { all.insert(all.end(), made.x().begin(), made.x().end()); });
    return all;
  }

  TemporaryFolder folder;
  fs::path file, other;
  Listener listener;
};

TEST_F(NormalisedRun, MeasuresOnlyTrainingRows) {
  const Trainer trainer(run("out"), listener, in_memory());
  const SourceSpec& spec = trainer.config().data.sources[0].spec;
  const auto trained =
      view_rows(open_dataset({.path = file}), RowRange::parse(spec.rows, spec.rows_by), 0);
  ASSERT_LT(trained->size(), 80);
  EXPECT_TRUE(same(scaling(trainer.config()), measure_rows(*trained, 1)));
  EXPECT_TRUE(same(scaling(trainer.config(), 1), scaling(trainer.config())));
  expect_parts(trainer.plan().notes.front(),
               {fmt::format("normalised by {} rows of 'full'", trained->size()), " +- "});
}

TEST_F(NormalisedRun, ScalesHeldOutSamplesAsTrainingSamples) {
  const Trainer trainer(run("out"), listener, in_memory());
  const Normalisation& own = scaling(trainer.config());
  for (const auto split : {RunSampleRange::Split::train, RunSampleRange::Split::evaluation}) {
    const auto raw = values(run("out", {"data.normalise=none"}), split),
               made = values(run("out"), split);
    ASSERT_EQ(raw.size(), made.size());
    for (std::size_t i = 0; i < raw.size(); ++i) {
      const std::size_t feature = i % own.mean.size();
      if (raw[i] == 0) continue;  // no item, or a value of 0
      EXPECT_EQ(made[i], (raw[i] - static_cast<float>(own.mean[feature])) *
                             static_cast<float>(1 / own.std[feature]));
    }
  }
}

TEST_F(NormalisedRun, WritesNumbersThatReadBack) {
  Trainer trainer(run("out"), listener, quick());
  trainer.run();
  const RunConfig again = RunConfig::load(folder / "out" / "config.resolved.yaml");
  EXPECT_EQ(again.to_yaml(), trainer.config().to_yaml());
  EXPECT_TRUE(same(scaling(again, 1), scaling(trainer.config())));
  EXPECT_TRUE(same(scaling(config_of_checkpoint(folder / "out")), scaling(again)));
}

TEST_F(NormalisedRun, KeepsItsNumbersOnAResume) {
  Trainer whole(run("whole"), listener, quick());
  whole.run();
  {
    const SignalGuard guard;
    Listener stopper;
    stopper.interrupt_at = 9;
    Trainer first(run("broken"), stopper, quick());
    EXPECT_EQ(first.run().status, RunStatus::interrupted);
  }
  Trainer second(run("broken", {"data.normalise=auto"}), listener, quick());
  EXPECT_GT(second.step(), 0u);
  expect_parts(second.plan().notes.front(), {"normalised as before"});
  second.run();
  EXPECT_EQ(second.state_bytes(), whole.state_bytes());
}

// The identity of such a checkpoint has no normalisation numbers.
TEST_F(NormalisedRun, ResumesCheckpointsOfEarlierVersionsWithoutScaling) {
  {
    const SignalGuard guard;
    Listener stopper;
    stopper.interrupt_at = 9;
    Trainer(run("old", {"data.sources.0.normalise=none"}), stopper, quick()).run();
  }
  Trainer second(run("old"), listener, quick());
  EXPECT_GT(second.step(), 0u);
  EXPECT_TRUE(scaling(second.config()).is_identity());
  EXPECT_TRUE(scaling(second.config(), 1).is_identity());
}

TEST_F(NormalisedRun, EvaluatesOtherDataWithTheScalingOfTheNetwork) {
  Trainer trainer(run("out"), listener, quick());
  const FinishReport finish = trainer.run();
  const auto loss = [&](const Overrides& overrides) {
    return evaluate_checkpoint(folder / "out", run("out", overrides), listener).results[0].loss;
  };
  EXPECT_EQ(loss({}), finish.evaluation->results[0].loss);
  EXPECT_EQ(loss({"data.normalise=auto"}), loss({}));
  EXPECT_NE(loss({"data.normalise=none"}), loss({}));
  // Another file with another name gets the network's scaling, not its own.
  const std::string path = "data.sources.0.path=" + other.string();
  const auto numbers = trainer.config().to_yaml();
  const RunConfig given = RunConfig::parse(numbers, "given.yaml", Overrides{path});
  EXPECT_EQ(loss({path, "data.sources.0.name=real", "eval.sources.0.of=real"}),
            evaluate_checkpoint(folder / "out", given, listener).results[0].loss);
}

TEST_F(NormalisedRun, StartsWithTheScalingOfInitFrom) {
  Trainer first(run("first"), listener, quick());
  first.run();
  const Overrides next = {"data.sources.0.path=" + other.string(),
                          "init.from=" + (folder / "first").string()};
  const Trainer second(run("second", next), listener, in_memory());
  EXPECT_TRUE(same(scaling(second.config()), scaling(first.config())));
  expect_parts(second.plan().notes.front(), {"normalised as in init.from"});
  Overrides own = next;
  own.emplace_back("data.normalise=auto");
  const Trainer third(run("third", own), listener, in_memory());
  EXPECT_FALSE(same(scaling(third.config()), scaling(first.config())));
}

TEST_F(NormalisedRun, AddsOneNodeToTheRecordedStep) {
  const auto census = [&](const std::string& normalise) {
    const RunConfig config = RunConfig::parse(R"(name: toy
device: cpu
threads: 1
data:
  sources: [{name: toy, kind: generator, generator: lund_shower, params: {items: 16}}]
model: {name: deepset, item_widths: [8], widths: [8]}
train: {batch: 8, steps: 8, log_every: 4, graph: check}
)",
                                              "toy.yaml", Overrides{"data.normalise=" + normalise});
    Trainer trainer(config, listener, in_memory());
    trainer.run();
    return trainer.census();
  };
  const GraphCensus raw = census("none"), scaled = census("auto");
  EXPECT_EQ(scaled.kernels, raw.kernels + 1);
  EXPECT_TRUE(scaled.no_host_transfer());
}

}  // namespace
}  // namespace wellspring::test
