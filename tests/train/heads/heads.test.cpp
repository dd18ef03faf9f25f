#include "train/heads/heads.h"

#include "core/error.h"
#include "tests/support/error_testing.h"
#include "train/config/head_config.h"

#include <gtest/gtest.h>

namespace wellspring::test {
namespace {

/// Shapes have a class, a position and a size. Jets have the same position, in later columns, and
/// two soft labels. Files have only labels.
std::vector<SourceTruth> three_sources() {
  const HeadTarget x{"x", "mm", -2, 6}, y{"y", "mm", -2, 6}, size{"size", "mm", 0, 1};
  return {{"shapes", "shapes", "shapes", {"disc", "ring"}, {x, y, size}, {}, 1},
          {"jets",
           "jets",
           "jets",
           {"w", "qcd"},
           {{"mass", "GeV", 0, 100}, x, y},
           {{"w", "", -1, 1}, {"qcd", "", -1, 1}},
           0.5f},
          {"files", "files", "shapes", {"disc", "ring"}, {}, {}, 2}};
}

HeadConfig head(const std::string& name, LossKind loss, std::vector<std::string> targets = {},
                std::vector<std::string> sources = {}) {
  HeadConfig config;
  config.name = name;
  config.loss = loss;
  config.targets = std::move(targets);
  config.sources = std::move(sources);
  config.place = {"run.yaml", 4, 5};
  return config;
}

TEST(Heads, TakeAdjacentOutputsAndListTheirSources) {
  std::vector<HeadConfig> configs = {head("shapes", LossKind::class_label),
                                     head("jets", LossKind::soft_label),
                                     head("place", LossKind::regression, {"y", "x"}),
                                     head("size", LossKind::regression, {"size"})};
  configs[0].weight = 3;
  const std::vector<HeadSpec> heads = make_heads(configs, three_sources());
  ASSERT_EQ(heads.size(), 4u);
  const std::int32_t begins[] = {0, 2, 4, 6}, outputs[] = {2, 2, 2, 1}, scores[] = {1, 1, 4, 2};
  for (std::size_t h = 0; h < 4; ++h) {
    EXPECT_EQ(heads[h].begin, begins[h]);
    EXPECT_EQ(heads[h].outputs(), outputs[h]);
    EXPECT_EQ(heads[h].scores(), scores[h]);
  }
  EXPECT_EQ(heads[2].targets[0].name, "y");

  const std::vector<HeadSources> feeds = feed_heads(heads, configs, three_sources());
  EXPECT_EQ(feeds[0].sources, 0b101u);
  EXPECT_EQ(feeds[1].sources, 0b010u);
  EXPECT_EQ(feeds[2].sources, 0b011u);
  EXPECT_EQ(feeds[3].sources, 0b001u);
  EXPECT_EQ(feeds[0].weight[2], 6) << "the source's 2 times the head's 3";
  EXPECT_EQ(feeds[2].weight[1], 0.5f);
  // y and x are columns 1 and 0 of the shapes, and 2 and 1 of the jets.
  EXPECT_EQ((std::vector<std::int32_t>(feeds[2].column.begin(), feeds[2].column.begin() + 4)),
            (std::vector<std::int32_t>{1, 0, 2, 1}));
}

TEST(Heads, AreAveragedOnlyWithAHeadOfTheSameClasses) {
  HeadConfig teacher = head("teacher", LossKind::class_label, {}, {"shapes"});
  teacher.output = "distilled";
  std::vector<HeadConfig> configs = {head("shapes", LossKind::class_label), teacher,
                                     head("jets", LossKind::class_label)};
  configs[0].average_with = "teacher";
  EXPECT_EQ(make_heads(configs, three_sources())[0].average_with, "teacher");
  const auto refused = [&](const std::string& why) {
    return expect_parts(
        message_of(ErrorKind::config, [&] { make_heads(configs, three_sources()); }),
        {"run.yaml:4:5", "head 'shapes': average_with: " + configs[0].average_with, why});
  };
  for (const char* name : {"teachr", "shapes"}) {
    configs[0].average_with = name;
    refused("there is no other head with this name");
  }
  configs[0].average_with = "jets";
  refused("that head has a different loss or different classes");
  configs[0].average_with = "teacher";
  configs[1].cross_entropy = CrossEntropy::binary;
  refused("that head has a different loss or different classes");
  configs[0].cross_entropy = CrossEntropy::binary;
  EXPECT_TRUE(make_heads(configs, three_sources())[0].is_binary());
  configs[1].average_with = "shapes";
  refused("that head is itself an average");
}

/// The three sources; the shapes have a class for each of 16 pixels.
std::vector<SourceTruth> sources_with_pixels() {
  std::vector<SourceTruth> sources = three_sources();
  sources[0].dense_classes = {"background", "disc", "ring"};
  sources[0].pixels = 16;
  return sources;
}

TEST(Heads, LearnTheClassOfEachPixel) {
  HeadConfig early = head("jets", LossKind::class_label);
  early.output = "early";
  const std::vector<HeadConfig> configs = {head("mask", LossKind::pixel_class), early,
                                           head("shapes", LossKind::class_label),
                                           head("size", LossKind::regression, {"size"})};
  const std::vector<HeadSpec> heads = make_heads(configs, sources_with_pixels());
  ASSERT_EQ(heads.size(), 4u);
  EXPECT_EQ(heads[0].classes, (std::vector<std::string>{"background", "disc", "ring"}));
  EXPECT_EQ(heads[0].outputs(), 48);
  EXPECT_EQ(heads[0].scores(), 7);
  const std::int32_t begins[] = {0, 48, 50, 52}, rows[] = {0, 0, 0, 2};
  for (std::size_t h = 0; h < 4; ++h) {
    EXPECT_EQ(heads[h].begin, begins[h]);
    EXPECT_EQ(heads[h].row, rows[h]);
  }
  const std::vector<OutputSpec> outputs = outputs_of(heads);
  ASSERT_EQ(outputs.size(), 3u);
  EXPECT_TRUE(outputs[0].dense);
  EXPECT_EQ(outputs[1].name, "early");
  EXPECT_EQ(outputs[2].width, 3) << "two classes and a target";
  const std::vector<HeadSources> feeds = feed_heads(heads, configs, sources_with_pixels());
  EXPECT_EQ(feeds[0].sources, 0b001u);
}

TEST(Heads, GroupHeadsByOutput) {
  std::vector<HeadConfig> configs = {head("shapes", LossKind::class_label),
                                     head("jets", LossKind::class_label),
                                     head("size", LossKind::regression, {"size"})};
  configs[1].output = "early";
  const std::vector<HeadSpec> heads = make_heads(configs, three_sources());
  EXPECT_EQ(heads[1].name, "size");
  EXPECT_EQ(heads[1].begin, 2);
  EXPECT_EQ(heads[2].name, "jets");
  EXPECT_EQ(heads[2].begin, 3);
}

TEST(Heads, RefusePixelsWithoutClassesAndSharedOutputs) {
  const auto refused = [](std::vector<HeadConfig> configs) {
    configs.push_back(head("shapes", LossKind::class_label));
    configs.push_back(head("jets", LossKind::class_label));
    return message_of(ErrorKind::config, [&] { make_heads(configs, sources_with_pixels()); });
  };
  expect_parts(refused({head("mask", LossKind::pixel_class, {}, {"jets"})}),
               {"head 'mask': source 'jets' has no class per pixel", "shapes"});
  expect_parts(refused({head("a", LossKind::pixel_class), head("b", LossKind::pixel_class)}),
               {"head 'b': it reads output 'pixels', as does head 'a'"});
  std::vector<SourceTruth> jets = {three_sources()[1]};
  expect_parts(message_of(ErrorKind::config,
                          [&] { make_heads({head("mask", LossKind::pixel_class)}, jets); }),
               {"head 'mask': source 'jets' has no class per pixel"});
  std::vector<SourceTruth> both = sources_with_pixels();
  both.resize(2);
  both[0].head = both[1].head = "mask";
  expect_parts(message_of(ErrorKind::config,
                          [&] { make_heads({head("mask", LossKind::pixel_class)}, both); }),
               {"source 'jets' trains no head", "head 'mask' learns dense labels"});
  EXPECT_THROW(expect_mixable({head("mask", LossKind::pixel_class)}, {.mixup = 1}), Error);
}

TEST(Heads, ReadRegressionTargetsFromTheTargetColumn) {
  const std::vector<HeadConfig> configs = {head("shapes", LossKind::class_label),
                                           head("p", LossKind::regression, {"mass", "qcd"})};
  const std::vector<HeadSpec> heads = make_heads(configs, three_sources());
  const std::vector<HeadSources> feeds = feed_heads(heads, configs, three_sources());
  EXPECT_EQ(feeds[1].sources, 0b010u);
  EXPECT_EQ((std::vector<std::int32_t>(feeds[1].column.begin() + 2, feeds[1].column.begin() + 4)),
            (std::vector<std::int32_t>{0, -2}));
}

TEST(Heads, RefuseTargetsThatCannotBeLearnt) {
  const auto refused = [](std::vector<HeadConfig> configs,
                          std::vector<SourceTruth> sources = three_sources()) {
    return message_of(ErrorKind::config, [&] { make_heads(configs, sources); });
  };
  const HeadConfig shapes = head("shapes", LossKind::class_label),
                   jets = head("jets", LossKind::class_label);
  expect_parts(refused({shapes, jets, head("nobody", LossKind::class_label)}),
               {"run.yaml:4:5", "head 'nobody': no source trains it"});
  expect_parts(refused({shapes}), {"source 'jets' trains no head", "head named 'jets'"});
  expect_parts(refused({shapes, jets, head("p", LossKind::regression, {"siz"})}),
               {"run.yaml:4:5", "no source has a latent or target 'siz'", "size"});
  expect_parts(refused({shapes, jets, head("p", LossKind::regression, {"size", "mass"})}),
               {"no source has all its targets (size, mass)"});
  expect_parts(refused({shapes, jets, head("p", LossKind::regression, {"x"}, {"shapes", "files"})}),
               {"source 'files' has no latent or target 'x'"});
  expect_parts(refused({head("shapes", LossKind::soft_label), jets}),
               {"head 'shapes': source 'shapes' has no `target` column"});
  expect_parts(refused({head("shapes", LossKind::multi_label), jets}), {"has no `target` column"});
  std::vector<SourceTruth> sources = three_sources();
  sources[1].targets.pop_back();
  expect_parts(refused({shapes, head("jets", LossKind::soft_label)}, sources),
               {"has 2 classes but 1 column in `target`"});
  sources = three_sources();
  sources[1].latents[1].high = 7;
  expect_parts(refused({shapes, jets, head("p", LossKind::regression, {"x"})}, sources),
               {"target 'x' of source 'jets' has the range [-2, 7] mm, but [-2, 6] mm in an "
                "earlier source"});
  sources = three_sources();
  sources[1].latents[0].low = 100;
  sources[1].constants = {"mass", "x"};
  expect_parts(refused({shapes, jets, head("p", LossKind::regression, {"mass"})}, sources),
               {"run.yaml:4:5: head 'p': target 'mass' is 100 GeV in every sample",
                "remove it from the targets"});
  EXPECT_EQ(make_heads({shapes, jets}, sources).size(), 2u) << "no head learns mass";
  EXPECT_EQ(make_heads({shapes, jets, head("p", LossKind::regression, {"x"})}, sources).size(), 3u)
      << "it varies in another source";
  sources = three_sources();
  sources[2].classes = {"ring", "disc"};
  expect_parts(
      refused({shapes, jets}, sources),
      {"source 'files' has 2 classes (ring, disc), but an earlier source has 2 (disc, ring)"});
}

TEST(Heads, RefuseASingleClass) {
  std::vector<SourceTruth> sources = three_sources();
  sources[1].classes = {"jet"};
  const HeadConfig shapes = head("shapes", LossKind::class_label),
                   jets = head("jets", LossKind::class_label);
  expect_parts(message_of(ErrorKind::config,
                          [&] {
                            make_heads({shapes, jets}, sources);
                          }),
               {"run.yaml:4:5", "head 'jets': there is only one class, 'jet'", "its loss is 0",
                "samples of another class", "loss: regression"});
  // Other columns of the source can still be learnt.
  EXPECT_EQ(make_heads({shapes, head("p", LossKind::regression, {"mass"})}, sources).size(), 2u);
}

TEST(Heads, RefuseHeldOutDataWithOtherClasses) {
  const std::vector<HeadConfig> configs = {head("shapes", LossKind::class_label),
                                           head("jets", LossKind::class_label)};
  const std::vector<HeadSpec> heads = make_heads(configs, three_sources());
  std::vector<SourceTruth> sources = {three_sources()[0]};
  sources[0].classes.push_back("square");
  expect_parts(message_of(ErrorKind::data, [&] { feed_heads(heads, configs, sources); }),
               {"source 'shapes' has 3 classes (disc, ring, square), but head 'shapes' has 2"});
  sources[0].head = "squares";
  expect_parts(message_of(ErrorKind::config, [&] { feed_heads(heads, configs, sources); }),
               {"source 'shapes': the network has no head for it"});
}

TEST(Heads, TellMixingWhereToFindLabels) {
  for (const LossKind loss : {LossKind::class_label, LossKind::soft_label, LossKind::multi_label}) {
    const std::vector<HeadConfig> configs = {head("shapes", LossKind::class_label),
                                             head("jets", loss)};
    const std::vector<HeadSpec> heads = make_heads(configs, three_sources());
    const auto labels = mixed_labels(heads, feed_heads(heads, configs, three_sources()), 3);
    ASSERT_EQ(labels.size(), 3u);
    const std::int32_t spaces[] = {0, 1, 0};
    for (std::size_t s = 0; s < 3; ++s) {
      EXPECT_EQ(labels[s].space, spaces[s]);
      EXPECT_EQ(labels[s].classes, 2);
      EXPECT_EQ(labels[s].in_target, s == 1 && loss != LossKind::class_label);
    }
  }
}

// Micro-averaged: 6 of 10 present labels and 2 absent labels are predicted.
TEST(Heads, ReportTheF1ScoreOfSeveralLabels) {
  const std::vector<HeadConfig> configs = {head("shapes", LossKind::class_label),
                                           head("jets", LossKind::multi_label)};
  const std::vector<HeadSpec> heads = make_heads(configs, three_sources());
  EXPECT_EQ(heads[1].scores(), 3);
  EXPECT_EQ(heads[1].classes, (std::vector<std::string>{"w", "qcd"}))
      << "classes of the target column";
  const std::vector<HeadSources> feeds = feed_heads(heads, configs, three_sources());
  const MeasureLayout layout(heads, 3);
  ASSERT_EQ(layout.count(), 2 + 1 + 3);
  std::vector<double> sums(static_cast<std::size_t>(layout.sums()), 0);
  const auto report = [&](double right, double both, double said) {
    const double of_jets[] = {0, 5, 0, right, 2 * both, 10 * (both > 0 ? 1 : 0) + said, 10};
    for (std::size_t m = 0; m < 7; ++m) sums[m * 3 + 1] = of_jets[m];
    return report_heads(heads, feeds, layout, sums.data(), 1).at(0).scores;
  };
  const std::vector<Score> scores = report(7, 6, 8);
  ASSERT_EQ(scores.size(), 2u);
  EXPECT_EQ(scores[0].what, "accuracy");
  EXPECT_EQ(scores[1].what, "f1");
  EXPECT_DOUBLE_EQ(scores[0].value, 0.7);
  EXPECT_DOUBLE_EQ(scores[1].value, 12.0 / 18);
  EXPECT_EQ(report(10, 0, 0)[1].value, 0) << "no label present, none predicted";
}

// A model file contains heads but no configuration.
TEST(Heads, FindTheirSourcesWithoutAConfiguration) {
  const std::vector<HeadConfig> configs = {head("shapes", LossKind::class_label),
                                           head("jets", LossKind::class_label),
                                           head("p", LossKind::regression, {"x"})};
  const std::vector<HeadSpec> heads = make_heads(configs, three_sources());
  EXPECT_EQ(feed_heads(heads, {}, three_sources())[2].sources, 0b011u);
}

TEST(Heads, ReportAccuraciesAndErrorsInTheirUnits) {
  const std::vector<HeadConfig> configs = {head("shapes", LossKind::class_label),
                                           head("jets", LossKind::class_label),
                                           head("p", LossKind::regression, {"x", "size"})};
  const std::vector<HeadSpec> heads = make_heads(configs, three_sources());
  const std::vector<HeadSources> feeds = feed_heads(heads, configs, three_sources());
  const MeasureLayout layout(heads, 3);
  ASSERT_EQ(layout.count(), 3 + 1 + 1 + 4);
  // Source 0: 4 samples, 3 correct; squared errors sum to 1 and 16, and absolute errors to 2 and 8.
  std::vector<double> sums(static_cast<std::size_t>(layout.sums()), 0);
  const double of_shapes[] = {2, 0, 1, 3, 0, 1, 2, 16, 8, 4};
  for (std::size_t m = 0; m < 10; ++m) sums[m * 3] = of_shapes[m];
  EXPECT_EQ(samples_in(layout, sums.data(), 0), 4);
  const std::vector<HeadReport> reports = report_heads(heads, feeds, layout, sums.data(), 0);
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0].head, "shapes");
  EXPECT_EQ(reports[0].loss, 0.5);
  EXPECT_EQ(reports[1].loss, 0.25);
  EXPECT_EQ(accuracy_of(reports), 0.75);
  // sqrt(0.75 * 0.25 / 4) = 0.22.
  EXPECT_EQ(scores_text(reports),
            "shapes: accuracy 75 +- 22 %; p: rmse of x 0.5 mm, mae of x 0.5 mm, rmse of size 2 mm, "
            "mae of size 2 mm");
  EXPECT_FALSE(accuracy_of({reports[1]}).has_value());
  std::vector<HeadReport> known = reports;
  known[0].scores[0].best = 0.8;
  known[1].scores[0].best = 0.25;
  EXPECT_EQ(scores_text(known, kPlusMinusSign).substr(0, 96),
            "shapes: accuracy 75 \u00b1 22 % (best possible 80.00 %); p: rmse of x 0.5 mm (best "
            "possible 0.25 mm)");
  EXPECT_TRUE(report_heads(heads, feeds, layout, sums.data(), 1).empty()) << "no samples";
  HeadReport roc{"jets", 0, {{"area under the curve", 0.75}, {"rejection", 4}, {"error", 0.5}}};
  roc.scores[0].signal = roc.scores[1].signal = "gluon";
  EXPECT_EQ(scores_text({roc}),
            "area under the curve 0.75, rejection 4 (signal: gluon), error 0.5");
  roc.scores[1].detail = roc.scores[2].detail = true;
  EXPECT_EQ(scores_text({roc}), "area under the curve 0.75 (signal: gluon)");
}

std::vector<HeadConfig> read(const std::string& yaml) {
  const ConfigDocument document = ConfigDocument::parse(yaml, "run.yaml");
  std::vector<HeadConfig> heads = read_heads(document.root(), {"shapes", "jets"}, {"a", "b"});
  document.finish();
  return heads;
}

std::string written(const std::vector<HeadConfig>& heads) {
  ConfigWriter writer;
  write_heads(writer, heads);
  return config_yaml(writer.entries());
}

TEST(HeadConfigs, AcceptLossAsTheShortForm) {
  const std::vector<HeadConfig> classes = read("loss: {label_smoothing: 0.1}");
  ASSERT_EQ(classes.size(), 2u);
  EXPECT_EQ(classes[1].name, "jets");
  EXPECT_EQ(classes[1].label_smoothing, 0.1);
  EXPECT_EQ(read("").size(), 2u);
  const std::vector<HeadConfig> regression = read("loss: {kind: mse, targets: [x, y]}");
  ASSERT_EQ(regression.size(), 1u);
  EXPECT_EQ(regression[0].loss, LossKind::regression);
  EXPECT_EQ(regression[0].targets, (std::vector<std::string>{"x", "y"}));
}

TEST(HeadConfigs, RoundTripThroughYaml) {
  const std::string text =
      written(read("heads: [{name: shapes, label_smoothing: 0.1, weight: 2}, {name: jets, loss: "
                   "multi_label, positives: balanced}, {name: p, loss: regression, targets: [x, "
                   "\"0\"], sources: [b]}]"));
  EXPECT_EQ(written(read(text)), text);
  expect_parts(text, {"name: shapes", "weight: 2", "loss: multi_label", "positives: balanced",
                      "sources: [b]"});
}

TEST(HeadConfigs, KeepBinaryCrossEntropies) {
  for (const HeadConfig& head : read("loss: {kind: binary_cross_entropy, label_smoothing: 0.1}")) {
    EXPECT_EQ(head.loss, LossKind::class_label);
    EXPECT_EQ(head.cross_entropy, CrossEntropy::binary);
    EXPECT_EQ(head.label_smoothing, 0.1);
  }
  const std::string text =
      written(read("heads: [{name: shapes, cross_entropy: binary}, {name: jets, loss: soft_label, "
                   "cross_entropy: binary, sources: [b]}]"));
  EXPECT_EQ(written(read(text)), text);
  EXPECT_EQ(read(text)[1].cross_entropy, CrossEntropy::binary);
  EXPECT_EQ(written(read("")).find("cross_entropy"), std::string::npos);
}

TEST(HeadConfigs, WriteTheErrorsOfRegressions) {
  const std::string text = written(read(
      "heads: [{name: h, loss: regression, targets: [x], error: huber, delta: 0.25}, {name: q, "
      "loss: regression, targets: [x], error: quantile, quantiles: [0.1, 0.9]}, {name: s, "
      "loss: regression, targets: [x]}]"));
  EXPECT_EQ(written(read(text)), text);
  expect_parts(text, {"error: huber", "delta: 0.25", "error: quantile", "quantiles: [0.1, 0.9]"});
}

TEST(HeadConfigs, RefuseBadSettingsWithTheirLocation) {
  const auto refused = [](const std::string& yaml) {
    return message_of(ErrorKind::config, [&] { read(yaml); });
  };
  expect_parts(refused("loss: {kind: mse}"), {"run.yaml:1", "targets is missing"});
  expect_parts(refused("loss: {targets: [x]}"), {"targets does not apply to cross_entropy"});
  expect_parts(refused("loss: {kind: mse, targets: [x], label_smoothing: 0.1}"),
               {"label_smoothing does not apply to mse"});
  expect_parts(refused("loss: {}\nheads: [{name: shapes}]"), {"both loss and heads are given"});
  expect_parts(refused("heads: []"), {"heads is empty"});
  expect_parts(refused("heads: [{loss: class}]"), {"name"});
  expect_parts(refused("heads: [{name: a}, {name: a}]"), {"heads[1]", "name 'a' is used twice"});
  expect_parts(refused("heads: [{name: a, loss: regression}]"), {"heads[0]", "targets is missing"});
  expect_parts(refused("heads: [{name: a, targets: [x]}]"),
               {"targets does not apply to loss class"});
  expect_parts(refused("heads: [{name: a, sources: [c]}]"), {"there is no source 'c'"});
  expect_parts(refused("heads: [{name: a, loss: multi_label, label_smoothing: 0.1}]"),
               {"label_smoothing does not apply to loss multi_label"});
  expect_parts(refused("heads: [{name: a, positives: balanced}]"),
               {"positives does not apply to loss class"});
  expect_parts(refused("heads: [{name: a, loss: regression, targets: [x, x]}]"), {"'x' twice"});
  expect_parts(refused("heads: [{name: a, loss: regression, targets: [x], sources: [c]}]"),
               {"there is no source 'c'"});
  expect_parts(refused("heads: [{name: a, loss: multi_label, cross_entropy: binary}]"),
               {"cross_entropy does not apply to loss multi_label", "always binary"});
  expect_parts(refused("heads: [{name: a, loss: pixel_class, cross_entropy: binary}]"),
               {"cross_entropy does not apply to loss pixel_class", "set loss: class"});
  const auto regression = [&](const std::string& settings) {
    return refused("heads: [{name: a, loss: regression, targets: [x], " + settings + "}]");
  };
  expect_parts(refused("heads: [{name: a, error: huber}]"), {"error does not apply to loss class"});
  expect_parts(regression("delta: 2"), {"delta has no effect", "error: huber"});
  expect_parts(regression("quantiles: [0.1]"), {"quantiles has no effect"});
  for (const char* const levels : {"[]", "[0.5]", "[0.1, 0.1]", "[0.16, 0.160000001]"})
    expect_parts(regression("error: quantile, quantiles: " + std::string(levels)),
                 {"1 to 15 different levels other than 0.5"});
  expect_parts(refused("heads: [{name: a, los: class}]"), {"los"});
}

}  // namespace
}  // namespace wellspring::test
