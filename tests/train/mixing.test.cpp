// Runs that mix samples: labels, losses and reproducibility.
#include "core/io/npy.h"
#include "tests/support/dataset_fixtures.h"
#include "tests/train/trained_rows.h"
#include "tests/train/training_testing.h"
#include "train/heads/head_losses.h"
#include "train/run_samples.h"
#include "train/step/step.h"

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace wellspring::test {
namespace {

const std::string kMix = "data.mix={mixup: 0.8, cutmix: 1, probability: 0.8}";
/// Classes of shapes and a second head with several labels.
const Settings kSeveralLabels = {
    "data.sources.1={name: noise, kind: generator, weight: 3, generator: ifs_multi, params: "
    "{categories: 4}}",
    "heads=[{name: shapes}, {name: noise, loss: multi_label, positives: balanced}]"};
const Settings kBinary = {"loss={kind: binary_cross_entropy, label_smoothing: 0.1}"};

TEST(MixingRuns, EndWithEqualBytesByGraphAndEagerly) {
  for (const Settings& labels : {Settings{}, kSeveralLabels, kBinary}) {
    const auto end_of = [&](const Settings& settings) {
      return end_state(small_run("unused", with(labels, settings)), in_memory());
    };
    const std::vector<std::uint8_t> eager = end_of({kMix, "train.graph=off"});
    EXPECT_EQ(end_of({kMix, "train.graph=on"}), eager);
    EXPECT_EQ(end_of({kMix, "train.graph=check"}), eager);
    EXPECT_NE(end_of({}), eager);
  }
}

// The counts end in the middle of a batch and of a pair.
TEST(MixingRuns, ExportTheRowsOfTheirTrainingSteps) {
  const std::string images = "data.sources.0={name: photos, kind: files, weight: 3, path: ";
  const TemporaryFolder folder;
  write_as_npy(folder.path(), labelled_noise(4, 5, 8));
  const Settings files = {images + (folder / "x.npy").string() + ", labels: y.npy}",
                          "eval.sources=[]"};
  for (const Settings& labels : {Settings{}, kSeveralLabels, files}) {
    const RunConfig config = small_run("unused", with(labels, {kMix, "device=cpu"}));
    const std::vector<std::string> expected = trained_rows(config, single_rank(), 3);
    for (const std::uint64_t count : {1u, 3u, 8u, 21u, 24u}) {
      RunSamples samples(config, {.count = count});
      std::vector<std::string> rows;
      samples.make([&](const HostSamples& made) {
        for (std::int64_t row = 0; row < made.count(); ++row)
          rows.push_back(row_of(made.rows, row));
      });
      EXPECT_EQ(rows, std::vector(expected.begin(), expected.begin() + std::ptrdiff_t(count)));
    }
    RunSamples later(config, {.step = 2, .count = 5});
    later.make([&](const HostSamples& made) {
      for (std::int64_t row = 0; row < made.count(); ++row)
        EXPECT_EQ(row_of(made.rows, row), expected[16 + static_cast<std::size_t>(row)]);
    });
  }
}

TEST(MixingRuns, ExportNoDenseLabels) {
  const RunConfig config = small_run("unused", {kMix, "device=cpu"});
  expect_parts(message_of(ErrorKind::config,
                          [&] { RunSamples(config, {.count = 4, .dense = DenseLabels::plane}); }),
               {"dense labels of mixed images", "data.mix.probability=0"});
  EXPECT_EQ(RunSamples(config, {RunSampleRange::Split::evaluation, 0, {}}).layout().targets, 0);
}

TEST(MixingRuns, RefuseAResumeWithoutTheirMix) {
  const TemporaryFolder folder;
  Listener listener;
  Trainer(small_run(folder.path(), {kMix}), listener, quick()).run();
  expect_parts(
      message_of(ErrorKind::config, [&] { Trainer(small_run(folder.path()), listener, quick()); }),
      {"data.mix"});
}

// With a mixing probability so small that a short run mixes no pair, labels still pass through
// `target`. The two losses are the same sums in different orders. About 20 rounding errors (2^-24
// each) of numbers up to three times the loss give 4e-6 of the loss.
std::vector<StepReport> steps_of(const Settings& settings) {
  Listener listener;
  Trainer(small_run("unused", settings), listener, in_memory()).run();
  return listener.steps;
}
double first_loss(const Settings& settings) {
  return static_cast<double>(
      steps_of(with(settings, {"train.steps=1", "train.log_every=1"})).at(0).loss);
}

TEST(MixingRuns, HaveTheLossOfLabelsIfNoPairIsMixed) {
  for (const Settings& labels : {Settings{"loss.label_smoothing=0"},
                                 {"loss.label_smoothing=0.1"},
                                 kSeveralLabels,
                                 kBinary}) {
    const double plain = first_loss(labels);
    EXPECT_NEAR(first_loss(with(labels, {"data.mix={mixup: 1, probability: 1e-9}"})), plain,
                4e-6 * plain)
        << labels.back();
    EXPECT_GT(std::abs(first_loss(with(labels, {"data.mix={mixup: 1}"})) - plain), 1e-4 * plain)
        << labels.back();
  }
}

// All but about 3 % of the shares from Beta(0.001, 0.001) are 0 or 1, and with these seeds all are.
// Each pair stays unchanged, or its rows are swapped, labels included. The mean loss over the batch
// is then the same; it would differ if the labels were not swapped.
TEST(MixingRuns, MoveLabelsWithTheirSamples) {
  for (const Settings& labels : {Settings{}, kSeveralLabels, kBinary}) {
    for (const std::string seed : {"seed=7", "seed=8", "seed=9"}) {
      const double plain = first_loss(with(labels, {seed}));
      EXPECT_NEAR(first_loss(with(labels, {seed, "data.mix={mixup: 0.001}"})), plain, 4e-6 * plain)
          << labels.size() << seed;
    }
  }
}

// Events from a file with three labels each, in the columns of `target`.
TEST(MixingRuns, MixSeveralLabelsFromFiles) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "hits.npz").string();
  std::vector<float> x, target;
  std::vector<std::int64_t> label;
  for (int row = 0; row < 40; ++row) {
    label.push_back(row % 2);
    for (int k = 0; k < 3; ++k) {
      x.push_back(static_cast<float>(std::sin(3 * row + k)));
      target.push_back(x.back() > 0 ? 1 : 0);
    }
  }
  const auto bytes = [](const auto& values) { return std::as_bytes(std::span(values)); };
  NpzWriter file(path);
  file.add("x", {ElementType::f32, {40, 3}}, bytes(x));
  file.add("label", {ElementType::i64, {40}}, bytes(label));
  file.add("target", {ElementType::f32, {40, 3}}, bytes(target));
  file.commit();
  const Settings run = {"data.sources=[{name: hits, kind: files, path: " + path + "}]",
                        "heads=[{name: hits, loss: multi_label, positives: balanced}]",
                        "model={name: mlp, widths: [8]}", "eval.sources=[]"};
  const std::string mix = "data.mix={mixup: 1}";
  const double plain = first_loss(run), mixed = first_loss(with(run, {mix}));
  EXPECT_EQ(first_loss(with(run, {"data.mix={mixup: 1, probability: 1e-9}"})), plain);
  EXPECT_GT(std::abs(mixed - plain), 1e-4 * plain);
  for (const std::string where : {"resident", "streamed"})
    EXPECT_EQ(first_loss(with(run, {mix, "data.sources.0.storage=" + where})), mixed) << where;
  // Half of the labels are present, so predicting every label gives an F1 of 2/3, with a standard
  // deviation of 0.014 over a window of 960 labels. The limit of 0.75 is six standard deviations
  // above.
  const std::vector<StepReport> steps =
      steps_of(with(run, {mix, "train.steps=200", "train.log_every=40"}));
  EXPECT_LT(steps.back().loss, 0.75f * steps.front().loss);
  EXPECT_EQ(steps.back().sources.at(0).heads.at(0).scores.at(1).what, "f1");
  EXPECT_GT(steps.back().sources.at(0).heads.at(0).scores.at(1).value, 0.75);
}

/// A row with logits 1, 2, 3, 4, label 3, and shares 1/4 and 3/4 of the first two classes.
struct MixedRow {
  float logits[4] = {1, 2, 3, 4}, shares[4] = {0.25f, 0.75f, 0, 0}, weight = 1;
  std::int32_t label = 3;
  Slot slot;

  /// Loss and score of one head.
  std::pair<double, double> measure(const HeadSpec& head, HeadLosses::Mode mode) {
    BatchView batch;
    batch.size = 1;
    batch.layout.targets = 4;
    batch.label = &label;
    batch.target = shares;
    batch.weight = &weight;
    HeadSources feed;
    feed.sources = 1;
    feed.weight[0] = 1;
    MemoryPlan memory(Device::cpu());
    const std::vector<HeadSpec> heads = {head};
    const HeadLosses losses(heads, {feed}, 1, Share::whole(1), DType::f32, mode, memory, "test");
    memory.commit();
    Stream stream(Device::cpu(), 1);
    float gradient[4];
    losses.enqueue(stream, batch, &slot, logits, gradient);
    return {losses.measures().values[0], losses.measures().values[1]};
  }
};

// With the softmax, the loss is log sum exp z - 4 from the label, and log sum exp z - 1.75 from the
// shares. Binary, it is the mean of log(1 + exp z), minus 4 or 1.75 divided by four classes. Six
// operations on numbers up to 5 and eight functions with errors of one ulp add up to at most 16
// roundings of 5, or 5e-6.
TEST(MixingRuns, TeachClassHeadsFromTheSharesInTarget) {
  HeadSpec head;
  head.name = "shapes";
  head.classes = {"a", "b", "c", "d"};
  double sum = 0, binary = 0;
  for (const double z : {1, 2, 3, 4}) {
    sum += std::exp(z);
    binary += std::log(1 + std::exp(z)) / 4;
  }
  using enum LossKind;
  using Mode = HeadLosses::Mode;
  for (const LossKind loss : {class_label, soft_label})
    for (const Mode mode : {Mode::train, Mode::mixed, Mode::evaluate}) {
      const bool reads_label = loss == class_label && mode != Mode::mixed;
      const double inner = reads_label ? 4 : 1.75, score = reads_label ? 1 : 0;
      head.loss = loss;
      head.cross_entropy = CrossEntropy::softmax;
      const auto [plain, plain_score] = MixedRow().measure(head, mode);
      EXPECT_NEAR(plain, std::log(sum) - inner, 5e-6);
      EXPECT_EQ(plain_score, score);
      EXPECT_EQ(fuses_output_layer({head}, mode == Mode::mixed),
                loss == class_label && mode != Mode::mixed);
      head.cross_entropy = CrossEntropy::binary;
      const auto [of_each, binary_score] = MixedRow().measure(head, mode);
      EXPECT_NEAR(of_each, binary - inner / 4, 5e-6);
      EXPECT_EQ(binary_score, score);
      EXPECT_FALSE(fuses_output_layer({head}, mode == Mode::mixed));
    }
}

// Like TrainerTest.Learns, but longer and with mixed samples; evaluation does not mix. Guessing
// gives 0.5 with a standard deviation of 0.025 for 400 samples; the limit of 0.65 is six standard
// deviations above.
TEST(MixingRuns, Learns) {
  Listener listener;
  Trainer trainer(small_run("unused", {"data.size=16", "data.sources.0.params.classes=2",
                                       "data.sources.0.params.scale_low=0.25", "train.steps=400",
                                       "train.batch=32", "eval.samples=400",
                                       "data.mix={mixup: 0.8, cutmix: 1}"}),
                  listener, in_memory());
  const FinishReport finish = trainer.run();
  EXPECT_GT(finish.evaluation->results[0].accuracy, 0.65);
}

std::string refusal(const std::vector<std::string>& overrides) {
  return message_of(ErrorKind::config, [&] { RunConfig::parse(kSmallRun, "run.yaml", overrides); });
}

// A mixed batch has one column of proportions, so it can hold one kind of labels.
TEST(MixingRuns, RefuseTwoKindsOfLabelsOfASource) {
  std::vector<HeadSpec> heads(2);
  heads[0].name = "kind";
  heads[1].name = "tags";
  for (HeadSpec& head : heads) head.classes = {"a", "b", "c"};
  std::vector<HeadSources> feeds(2);
  for (HeadSources& feed : feeds) feed.sources = 0b10;
  EXPECT_EQ(mixed_labels(heads, feeds, 2)[1].classes, 3);
  heads[1].loss = LossKind::multi_label;
  const auto refused = [&] {
    return message_of(ErrorKind::config, [&] { mixed_labels(heads, feeds, 2); });
  };
  expect_parts(refused(), {"data.mix: heads 'kind' and 'tags'", "different labels"});
  heads[0].loss = LossKind::soft_label;
  EXPECT_TRUE(mixed_labels(heads, feeds, 2)[1].in_target);
  heads[0].classes.pop_back();
  expect_parts(refused(), {"heads 'kind' and 'tags'"});
  feeds[0].sources = 0b01;
  EXPECT_EQ(mixed_labels(heads, feeds, 2)[0].classes, 2);
}

TEST(MixingConfigs, RefuseBadSettings) {
  expect_parts(refusal({"data.mix={mixup: 1}", "train.batch=9"}),
               {"data.mix", "a batch of 9 samples", "10"});
  expect_parts(refusal({"data.mix={mixup: 1}", "loss.kind=mse", "loss.targets=[x]"}),
               {"head 'regression'", "loss regression", "data.mix", "latents"});
  const std::string beside =
      "heads=[{name: shapes}, {name: noise, loss: multi_label}, "
      "{name: places, loss: regression, targets: [x_1]}]";
  expect_parts(refusal({"data.mix={mixup: 1}", kSeveralLabels[0], beside}),
               {"head 'places'", "loss regression", "data.mix"});
  EXPECT_NO_THROW(
      RunConfig::parse(kSmallRun, "run.yaml", with(kSeveralLabels, {"data.mix={mixup: 1}"})));
  expect_parts(refusal({"data.mix=[mixup: 0.8]"}), {"mix is not a list", "mix: {mixup: 0.8"});
  expect_parts(refusal({"data.mix={probability: 0.5}"}), {"without mixup or cutmix"});
  expect_parts(refusal({"data.mix={mixup: -1}"}), {"mixup", "out of range"});
  expect_parts(refusal({"data.mix={cutmix: 1e-4}"}), {"Beta(0.0001, 0.0001)", "use 0"});
  expect_parts(refusal({"data.mix={mixupp: 1}"}), {"mixupp", "did you mean 'mixup'"});
  expect_parts(refusal({"data.augment=[cutmix: 1]"}), {"augment: cutmix", "mix: {cutmix: 1}"});
  const std::string sets = "data.sources=[{name: jets, generator: ginkgo}]";
  const std::string events = "data.sources=[{name: muons, generator: ee_mumu}]";
  expect_parts(refusal({"eval.sources=[]", sets, "data.mix={mixup: 1}"}),
               {"source 'jets'", "sets"});
  expect_parts(refusal({"eval.sources=[]", events, "data.mix={cutmix: 1}"}),
               {"source 'muons'", "events", "mixup blends"});
  RunConfig::parse(kSmallRun, "run.yaml",
                   std::vector<std::string>{"eval.sources=[]", events, "data.mix={mixup: 1}"});
  // If mixing is off, its other settings are not checked.
  RunConfig::parse(kSmallRun, "run.yaml",
                   std::vector<std::string>{"data.mix={mixup: 0}", "train.batch=9"});
}

TEST(MixingConfigs, RoundTripAndEnterTheIdentity) {
  const auto parse = [](const std::string& text, const std::vector<std::string>& overrides = {}) {
    return RunConfig::parse(text, "run.yaml", overrides);
  };
  const RunConfig mixed = parse(kSmallRun, {"data.mix={cutmix: 0.5}"});
  EXPECT_EQ(mixed.data.mix.cutmix, 0.5);
  EXPECT_EQ(mixed.data.mix.mixup, 0);
  EXPECT_EQ(mixed.data.mix.probability, 1);
  EXPECT_EQ(parse(mixed.to_yaml()).to_yaml(), mixed.to_yaml());
  EXPECT_NE(parse(kSmallRun).identity_yaml(), mixed.identity_yaml());
  EXPECT_EQ(parse(kSmallRun, {"data.mix={mixup: 0}"}).identity_yaml(),
            parse(kSmallRun).identity_yaml());
  std::vector<std::string> keys;
  for (const ConfigSection& section : config_sections())
    if (section.path == "data.mix")
      for (const ParamRow& row : section.rows) keys.push_back(row.name);
  EXPECT_EQ(keys, (std::vector<std::string>{"mixup", "cutmix", "probability"}));
}

}  // namespace
}  // namespace wellspring::test
