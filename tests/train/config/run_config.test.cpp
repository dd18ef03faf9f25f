#include "train/config/run_config.h"

#include "core/io/files.h"
#include "tests/train/training_testing.h"
#include "train/check_run.h"
#include "train/step/source_truth.h"

#include <algorithm>
#include <filesystem>

namespace wellspring::test {
namespace {

RunConfig parse(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return RunConfig::parse(text, "run.yaml", overrides);
}

std::string refusal(const std::vector<std::string>& overrides) {
  return message_of(ErrorKind::config, [&] { parse(kSmallRun, overrides); });
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(RunConfigTest, ReadsASmallRun) {
  const RunConfig config = parse(kSmallRun);
  EXPECT_EQ(config.name, "small");
  EXPECT_EQ(config.out, "runs/small");
  ASSERT_EQ(config.data.sources.size(), 2u);
  EXPECT_EQ(config.data.sources[0].spec.head, "shapes");
  ASSERT_EQ(config.data.schedule.size(), 1u);
  EXPECT_EQ(config.data.schedule[0].weights, (std::vector<double>{3, 1}));
  EXPECT_EQ(config.optimizer.spec.weight_decay, 0.01f);
}

// runs/NAME is the default folder.
TEST(RunConfigTest, RefusesNamesThatCannotBePartOfAPath) {
  for (const std::string name : {"../../x", "/", "..", ".", "a/b", "\x1b[2J", "two\nlines"})
    EXPECT_TRUE(contains(refusal({"name=" + name}), "cannot name a run")) << name;
  EXPECT_TRUE(contains(refusal({"name=" + std::string(300, 'x')}), "longer than 255 bytes"));
  EXPECT_EQ(parse(kSmallRun, {"name=a run, 2nd"}).out, "runs/a run, 2nd");
}

TEST(RunConfigTest, RefusesEndlessEvaluations) {
  EXPECT_TRUE(contains(refusal({"eval.samples=9223372036854775807"}),
                       "out of range [1, 100000000] samples"));
}

TEST(RunConfigTest, ReportsAMissingSection) {
  const std::string text = "data: {sources: [{name: s, generator: shapes}]}\ntrain: {steps: 1}\n";
  EXPECT_TRUE(contains(message_of(ErrorKind::config, [&] { parse(text); }),
                       "the section 'model' is missing (its key 'name' is required"));
}

TEST(RunConfigTest, RoundTripsTheResolvedConfiguration) {
  for (const std::vector<std::string>& overrides :
       {std::vector<std::string>{},
        {"train.graph=off", "precision=f32", "init.from=/tmp/x"},
        {"data.augment=[flip_x: 0.5]", "data.normalise.std=[0.2, 0.3, 0.4]",
         "loss.label_smoothing=0.1"}}) {
    const std::string first = parse(kSmallRun, overrides).to_yaml();
    EXPECT_EQ(parse(first).to_yaml(), first);
  }
}

TEST(RunConfigTest, RoundTripsCommittedConfigurations) {
  int seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::path(WELLSPRING_SOURCE_DIR) / "configs")) {
    if (entry.path().extension() != ".yaml") continue;
    ++seen;
    const RunConfig config = RunConfig::load(entry.path());
    EXPECT_EQ(config.name, entry.path().stem().string());
    const std::string text = config.to_yaml();
    EXPECT_EQ(parse(text).to_yaml(), text) << entry.path();
  }
  EXPECT_GE(seen, 4);
}

// Leaves out configurations that read files or start from other runs' weights.
TEST(RunConfigTest, PlansCommittedConfigurations) {
  int planned = 0;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::path(WELLSPRING_SOURCE_DIR) / "configs")) {
    if (entry.path().extension() != ".yaml") continue;
    SCOPED_TRACE(entry.path().filename().string());
    const Settings here = {"device=cpu", "init.from="};
    const RunConfig config = RunConfig::load(entry.path(), here);
    const bool files = std::ranges::any_of(config.data.sources, [](const SourceConfig& source) {
      return source.spec.kind == SourceKind::files;
    });
    if (files) continue;
    EXPECT_NO_THROW(check_run(config));
    ++planned;
  }
  EXPECT_GE(planned, 20);
}

TEST(RunConfigTest, PrefersOverrides) {
  const RunConfig config = parse(kSmallRun, {"train.batch=32", "data.sources.0.weight=9"});
  EXPECT_EQ(config.train.batch, 32);
  EXPECT_EQ(config.data.schedule[0].weights[0], 9);
}

TEST(RunConfigTest, RefusesUnknownKeysWithLocationAndNearestName) {
  std::string text = kSmallRun;
  text.replace(text.find("lr: 0.01"), 8, "lrr: 0.1");
  const std::string message = message_of(ErrorKind::config, [&] { parse(text); });
  EXPECT_TRUE(contains(message, "run.yaml:14:26")) << message;
  EXPECT_TRUE(contains(message, "lrr")) << message;
  EXPECT_TRUE(contains(message, "did you mean 'lr'")) << message;
}

TEST(RunConfigTest, ListsOnlyKeysThatApply) {
  EXPECT_TRUE(
      contains(refusal({"data.viev=1"}),
               "known: root, size, channels, views, limit_per_class, augment, normalise, padding, "
               "interpolation, centre_crop, sources, schedule, mix"))
      << refusal({"data.viev=1"});
  EXPECT_TRUE(contains(refusal({"data.view={}"}), "`view` was replaced by a list of operations"));
  const std::string events =
      refusal({"data.sources=[{name: a, generator: ee_mumu, q: 1}]", "eval.sources=[]"});
  EXPECT_TRUE(contains(events, "unknown key 'q' in data.sources[0]")) << events;
  EXPECT_FALSE(contains(events, "augment")) << events;
  EXPECT_TRUE(contains(refusal({"data.sources=[{name: a, generator: ee_mumu, augment: []}]"}),
                       "augment cannot be used for events"));
}

TEST(RunConfigTest, SuggestsTheNearestName) {
  EXPECT_TRUE(contains(refusal({"model.name=cnm"}), "did you mean 'cnn'"));
  EXPECT_TRUE(contains(refusal({"data.sources.0.generator=shape"}), "did you mean 'shapes'"));
  EXPECT_TRUE(contains(refusal({"data.sources.0.params.clases=4"}), "did you mean 'classes'"));
  EXPECT_TRUE(contains(refusal({"eval.sources.0.of=shaps"}), "did you mean 'shapes'"));
  EXPECT_TRUE(contains(refusal({"model.width=[4, 8]"}), "did you mean 'widths'"));
}

TEST(RunConfigTest, ChecksValues) {
  EXPECT_TRUE(contains(refusal({"train.batch=0"}), "out of range"));
  EXPECT_TRUE(contains(refusal({"optimizer.momentum=2"}), "out of range [0, 0.9999] (momentum;"));
  EXPECT_TRUE(contains(refusal({"train.batch=many"}), "integer"));
  EXPECT_TRUE(contains(refusal({"optimizer.kind=adam"}), "adamw"));
  EXPECT_TRUE(contains(refusal({"data.sources.1.name=shapes"}), "second"));
  EXPECT_TRUE(contains(refusal({"model.blocks=[0]"}), "stages"));
  EXPECT_TRUE(contains(refusal({"model.widths=[4.5, 8]"}), "integers"));
  EXPECT_TRUE(contains(refusal({"loss.kind=mse"}), "targets"));
  EXPECT_TRUE(contains(refusal({"data.sources.0.params.classes=99"}), "out of range"));
  EXPECT_TRUE(contains(refusal({"data.augment=[zoom: [2, 1]]"}), "zoom"));
  EXPECT_TRUE(contains(refusal({"data.view.flip_x=0.5"}), "augment: [flip_x: 0.5"));
  EXPECT_TRUE(contains(refusal({"data.sources.0.repeats=3"}), "same images"));
  parse(kSmallRun, {"data.sources.0.repeats=3", "data.augment=[flip_x]"});
}

TEST(RunConfigTest, RefusesRegressionOfLatentsThatAugmentationLoses) {
  const auto overrides = [](const char* target, const char* list) {
    return std::vector<std::string>{"loss.kind=mse", std::string("loss.targets=[") + target + "]",
                                    std::string("data.augment=") + list};
  };
  EXPECT_TRUE(contains(refusal(overrides("texture_phase", "[perspective]")), "perspective"));
  EXPECT_TRUE(contains(refusal(overrides("x", "[perspective]")), "perspective"));
  parse(kSmallRun, overrides("x", "[flip_x, rotate: 10, grey]"));
  parse(kSmallRun, overrides("angle", "[flip_x, rotate: 10, grey]"));
  parse(kSmallRun, overrides("shape_r", "[perspective]"));
}

TEST(RunConfigTest, HoldsOutRowsOfFiles) {
  const auto with = [](const std::string& rows, const std::string& held_out) {
    return std::vector<std::string>{
        "data.sources=[{name: real, kind: files, path: x.npz" + rows + "}]",
        "eval.sources=[{of: real, " + held_out + "}]"};
  };
  const RunConfig config = parse(kSmallRun, with(", rows: 0%..50%", "fraction: 0.2"));
  EXPECT_EQ(config.data.sources[0].spec.rows, "0%..40%");
  EXPECT_EQ(config.evaluation.sources[0].rows, "40%..50%");
  EXPECT_EQ(parse(config.to_yaml()).to_yaml(), config.to_yaml());
  EXPECT_EQ(parse(kSmallRun, with("", "fraction: 0.1")).data.sources[0].spec.rows, "0%..90%");
  parse(kSmallRun, with(", rows: 0..50", "rows: 50..60"));
  // In another file, any rows may be held out.
  parse(kSmallRun, with("", "path: y.npz, rows: 0%..10%"));
  EXPECT_FALSE(contains(parse(kSmallRun, with("", "path: y.npz")).identity_yaml(), "rows"));
  EXPECT_TRUE(contains(refusal(with("", "name: b")), "fraction: 0.1"));
  EXPECT_TRUE(contains(refusal(with("", "rows: 30%..60%")), "rows 30%..60% are also trained on"));
  EXPECT_TRUE(contains(refusal(with(", rows: 0%..50%", "rows: 40%..60%")), "also trained on"));
  EXPECT_TRUE(contains(refusal(with("", "rows: 60%")), "not a range of rows"));
  EXPECT_TRUE(contains(refusal(with("", "rows: 9%..10%, fraction: 0.1")),
                       "a fraction cannot be combined with rows"));
  EXPECT_TRUE(contains(refusal(with(", rows: 0..50", "fraction: 0.1")), "numbered rows"));
  EXPECT_TRUE(contains(refusal({"eval.sources=[{of: shapes, fraction: 0.1}]"}), "to a generator"));
}

TEST(RunConfigTest, RefusesRegressionOfConstants) {
  const auto heads = [](const char* target, const char* list) {
    const RunConfig config =
        parse(kSmallRun,
              {std::string("data.augment=") + list,
               "data.sources=[{name: shapes, generator: shapes, params: {scale_low: 0.2, "
               "scale_high: 0.2, texture: stripes}}]",
               "eval.sources=[]", "loss.kind=mse", std::string("loss.targets=[") + target + "]"});
    return make_heads(config.heads, training_truth(config, config.open_training())).size();
  };
  const auto refused = [&](const char* target, const char* list) {
    return message_of(ErrorKind::config, [&] { heads(target, list); });
  };
  EXPECT_TRUE(contains(refused("scale", "[]"), "target 'scale' is 0.2 image side in every sample"));
  EXPECT_TRUE(contains(refused("texture", "[]"), "target 'texture' is 2 in every sample"));
  EXPECT_TRUE(contains(refused("texture", "[flip_x]"), "target 'texture' is 2 in every sample"));
  EXPECT_EQ(heads("scale", "[zoom: [0.8, 1.2]]"), 1u) << "zoom must make the visible scale vary";
}

TEST(RunConfigTest, RefusesMissingRequiredKeys) {
  const std::string no_steps = message_of(ErrorKind::config, [] {
    parse("data: {sources: [{name: a, kind: generator, generator: noise}]}\nmodel: {name: mlp}\n");
  });
  EXPECT_TRUE(contains(no_steps, "steps")) << no_steps;
  EXPECT_TRUE(contains(message_of(ErrorKind::config, [] { parse("name: a\n"); }), "sources"));
}

constexpr const char* kSchedule =
    "data.schedule=[{at: 0%, weights: {shapes: 1, noise: 0}}, "
    "{at: 50%, weights: {shapes: 0, noise: 2}}]";

TEST(RunConfigTest, ReadsASchedule) {
  std::string text = kSmallRun;
  for (const char* weight : {", weight: 3", ", weight: 1"})
    text.erase(text.find(weight), std::string(weight).size());
  const RunConfig config = parse(text, {kSchedule});
  ASSERT_EQ(config.data.schedule.size(), 2u);
  EXPECT_EQ(config.data.schedule[1].at, 0.5);
  EXPECT_EQ(config.data.schedule[1].weights, (std::vector<double>{0, 2}));
  const auto refused = [&](const std::string& schedule) {
    return message_of(ErrorKind::config, [&] { parse(text, {"data.schedule=" + schedule}); });
  };
  EXPECT_TRUE(contains(refused("[{at: 120%, weights: {shapes: 1, noise: 1}}]"), "100%"));
  EXPECT_TRUE(contains(refused("[{at: 0%, weights: {shapes: 1, nois: 1}}]"), "'noise'"));
  EXPECT_TRUE(contains(refused("[{at: 0%, weights: {shapes: 1}}]"), "'noise' is missing"));
  EXPECT_TRUE(contains(refused("[{at: 0%, weights: {shapes: 0, noise: 0}}]"), "all weights"));
  EXPECT_TRUE(contains(refused("[{at: 9%, weights: {shapes: 1, noise: 0}}, "
                               "{at: 3%, weights: {shapes: 1, noise: 0}}]"),
                       "before"));
}

TEST(RunConfigTest, RefusesAWeightWithASchedule) {
  EXPECT_TRUE(contains(refusal({kSchedule}), "schedule"));
}

TEST(RunConfigTest, ResolvesPathsFromTheRoot) {
  RunConfig config = parse(kSmallRun, {"data.root=/data"});
  EXPECT_EQ(config.resolve("a.tar"), "/data/a.tar");
  EXPECT_EQ(config.resolve("/b.tar"), "/b.tar");
  config.data.root.clear();
  EXPECT_EQ(config.resolve("a.tar"), "a.tar");
}

TEST(RunConfigTest, IdentityOmitsSettingsThatDoNotAffectWeights) {
  const std::string identity = parse(kSmallRun).identity_yaml();
  for (const char* same : {"out=elsewhere", "threads=3", "train.log_every=7", "eval.samples=5",
                           "train.graph=off", "train.keep=9", "device=auto", "data.root=/x"})
    EXPECT_EQ(parse(kSmallRun, {same}).identity_yaml(), identity) << same;
  for (const char* other : {"seed=8", "train.batch=9", "train.steps=31", "optimizer.lr=0.02",
                            "model.group_width=2", "data.sources.0.weight=2", "data.size=16",
                            "data.augment=[flip_x: 0.5]", "loss.label_smoothing=0.1"})
    EXPECT_NE(parse(kSmallRun, {other}).identity_yaml(), identity) << other;
}

TEST(RunConfigTest, IdentityIncludesTheVersionOfAFill) {
  const std::vector<std::string> filled = {
      "data.sources.0.generator=dead_leaves",
      "data.sources.0.params={fill: [textures, kind=perlin], fills: 7}"};
  const RunConfig config = parse(kSmallRun, filled);
  const std::string version = std::to_string(find_generator("textures").version);
  EXPECT_TRUE(contains(config.identity_yaml(),
                       "uses:\n        textures:\n          generator_version: " + version))
      << config.identity_yaml();
  const std::string resolved = config.to_yaml();
  EXPECT_FALSE(contains(resolved, "uses")) << "`uses` is not a setting";
  EXPECT_EQ(parse(resolved).identity_yaml(), config.identity_yaml());
  EXPECT_TRUE(contains(refusal({"data.sources.0.generator=dead_leaves",
                                "data.sources.0.params={fill: {generator: textures}}"}),
                       "fill"));
}

bool is_described(const ConfigEntry& entry) {
  std::string section;
  for (std::size_t i = 0; i + 1 < entry.path.size(); ++i) {
    const bool element = entry.path[i].front() == '[';
    section += element ? "[]" : (section.empty() ? "" : ".") + entry.path[i];
  }
  for (const ConfigSection& known : config_sections()) {
    if (known.path != section) continue;
    if (!known.others.empty()) return true;  // keys of a generator or model, or names of sources
    for (const ParamRow& row : known.rows)
      if (row.name == entry.path.back()) return true;
  }
  return false;
}

TEST(RunConfigTest, DescribesEveryKeyThatIsReadOrWritten) {
  std::vector<ConfigEntry> entries = config_settings(parse(kSmallRun).entries());
  for (const auto& file : std::filesystem::directory_iterator(
           std::filesystem::path(WELLSPRING_SOURCE_DIR) / "configs")) {
    if (file.path().extension() != ".yaml") continue;
    const RunConfig config = RunConfig::load(file.path());
    for (const ConfigEntry& entry : config_settings(config.entries())) entries.push_back(entry);
    for (ConfigEntry& entry : config_entries(read_text(file.path()), file.path().string()))
      entries.push_back(std::move(entry));
  }
  for (const ConfigEntry& entry : entries) EXPECT_TRUE(is_described(entry)) << entry.path_text();
  EXPECT_FALSE(is_described({{"data", "sources", "[0]", "lr"}, "1"}));
}

TEST(RunConfigTest, ComputesInBf16OnAGpuByDefault) {
  for (const Device device : {Device::cpu(), Device::cuda(0)}) {
    EXPECT_EQ(parse(kSmallRun, {"precision=bf16"}).compute_type(device), DType::bf16);
    EXPECT_EQ(parse(kSmallRun, {"precision=f32"}).compute_type(device), DType::f32);
    EXPECT_EQ(parse(kSmallRun).compute_type(device), device.is_cpu() ? DType::f32 : DType::bf16);
  }
}

}  // namespace
}  // namespace wellspring::test
