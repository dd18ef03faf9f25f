#include "train/config/run_config.h"

#include "core/text/plural.h"
#include "core/text/text.h"
#include "generators/own/own_generator.h"
#include "generators/own/stored_source.h"
#include "sources/procedural.h"
#include "train/models/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace wellspring {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::max();

const ParamTable<RunConfig>& run_table() {
  static const auto table =
      ParamTable<RunConfig>("the run")
          .text("name", &RunConfig::name,
                "name of the run, used as a folder name (default: name of the file)")
          .may_change()
          .integer("seed", &RunConfig::seed, {0, kUnbounded}, "",
                   "seed of all random numbers: samples, order, augmentation, initial weights")
          .text("device", &RunConfig::device, "auto (a GPU if there is one), cpu, or cuda:N")
          .may_change()
          .integer(
              "threads", &RunConfig::threads, {0, 1024}, "threads",
              "CPU threads, at most 64, or 4 per processor if that is more; 0: OMP_NUM_THREADS, "
              "otherwise the CPU affinity and cgroup limits")
          .may_change()
          .choice(
              "precision", &RunConfig::precision,
              {{"auto", Precision::automatic}, {"f32", Precision::f32}, {"bf16", Precision::bf16}},
              "type of activations and weights; auto: f32 on a CPU, bf16 on a GPU")
          .may_change()
          .text("out", &RunConfig::out, "run folder (default: runs/<name>)")
          .may_change()
          .real("memory", &RunConfig::memory, {0, kUnbounded}, "GiB",
                "limit of device memory; 0: all free memory")
          .may_change();
  return table;
}

const ParamTable<TrainConfig>& train_table() {
  static const auto table =
      ParamTable<TrainConfig>("train")
          .integer("batch", &TrainConfig::batch, {1, 1 << 20}, "samples", "samples per step")
          .integer("accumulate", &TrainConfig::accumulate, {1, 1 << 16}, "passes",
                   "passes through the network per step, each with an equal part of the batch; "
                   "their gradients are added, so that a large batch needs less memory")
          .integer("recompute_blocks", &TrainConfig::recompute_blocks, {0, 1024}, "blocks",
                   "activation checkpointing: keep only the values between groups of this many "
                   "blocks and recompute the others in the backward pass; the weights do not "
                   "change; 0: keep all",
                   "Chen et al. 2016")
          .may_change()
          .integer("steps", &TrainConfig::steps, {0, kUnbounded}, "steps",
                   "number of training steps; 0: epochs is given")
          .integer("epochs", &TrainConfig::epochs, {0, 1e6}, "epochs",
                   "passes over the data sets, instead of steps: the run ends when each data set "
                   "has yielded all of its rows, with repeats, this many times")
          .may_change()
          .text("max_time", &TrainConfig::max_time,
                "limit of the training time, such as 30 s, 90m, 2h or 1 d, after which the run "
                "is evaluated, writes a checkpoint and ends; resumed runs continue to count, "
                "evaluations and checkpoints do not count, and schedules still follow steps; "
                "empty: no limit")
          .may_change()
          .real("clip", &TrainConfig::clip, {0, kUnbounded}, "",
                "maximum L2 norm of the gradient; 0: no clipping")
          .real("ema", &TrainConfig::ema, {0, 0.999999}, "",
                "decay per step of the moving average of the weights; at step t at most "
                "(1 + t) / (10 + t); 0: no average",
                "Polyak & Juditsky 1992")
          .choice("weights", &TrainConfig::weights,
                  {{"average", WeightChoice::average}, {"trained", WeightChoice::trained}},
                  "weights to evaluate and to export, if there is an average")
          .integer("log_every", &TrainConfig::log_every, {1, 100000}, "steps", "logging interval")
          .may_change()
          .integer("checkpoint_every", &TrainConfig::checkpoint_every, {0, kUnbounded}, "steps",
                   "checkpoint interval; 0: about every ten minutes; the last step and signals "
                   "also trigger one")
          .may_change()
          .integer("keep", &TrainConfig::keep, {1, 100000}, "checkpoints",
                   "number of newest checkpoints to keep")
          .may_change()
          .flag("store_headers", &TrainConfig::store_headers,
                "checkpoints also contain the text of generators in headers (./NAME.h), which "
                "wellspring headers prints")
          .may_change()
          .text("keep_best", &TrainConfig::keep_best,
                "held-out figure whose best checkpoint is kept as checkpoints/best: loss, "
                "accuracy or another score of the first held-out source, or NAME.FIGURE of "
                "another; HEAD/SCORE selects a head; empty: none")
          .may_change()
          .integer("patience", &TrainConfig::patience, {0, 1e6}, "evaluations",
                   "(with keep_best) end the run after this many evaluations in a row without a "
                   "better figure; 0: no early stopping")
          .may_change()
          .choice("graph", &TrainConfig::graph,
                  {{"off", GraphMode::off}, {"on", GraphMode::on}, {"check", GraphMode::check}},
                  "on: record the step once and replay it; check: also compare with eager steps")
          .may_change()
          .integer("steps_per_launch", &TrainConfig::steps_per_launch, {1, 1024}, "steps",
                   "steps that a GPU runs in one launch; where metrics, an evaluation or a "
                   "checkpoint are due earlier, it runs single steps; signals and max_time are "
                   "noticed between launches; the weights do not change")
          .may_change()
          .flag("sync_batch_norm", &TrainConfig::sync_batch_norm,
                "batch norms use the statistics of the rows of all ranks")
          .choice("convolutions", &TrainConfig::convolutions,
                  {{"fastest", ConvolutionPlans::fastest}, {"first", ConvolutionPlans::first}},
                  "plans of convolutions on a GPU; fastest: time cuDNN's plans once per machine "
                  "and use the fastest; first: use the one that cuDNN suggests first")
          .may_change();
  return table;
}

const ParamTable<InitConfig>& init_table() {
  static const auto table =
      ParamTable<InitConfig>("init")
          .text("from", &InitConfig::from,
                "initial weights: a run folder, a checkpoint or a safetensors file of any program; "
                "scripts/torch-weights converts .pt and .pth")
          .may_change()
          .choice("head", &InitConfig::head, {{"keep", HeadInit::keep}, {"reset", HeadInit::reset}},
                  "keep or re-initialise the output layer")
          .may_change()
          .choice("shapes", &InitConfig::shapes,
                  {{"exact", InitShapes::exact}, {"adapt", InitShapes::adapt}},
                  "exact: refuse tensors of different shapes; adapt: also accept other image sizes "
                  "of a vit, other input channels and heads that do not fit")
          .may_change();
  return table;
}

const ParamTable<ModelConfig>& model_table() {
  static const auto table =
      ParamTable<ModelConfig>("model")
          .text("name", &ModelConfig::name, "name of the network: see wellspring list models")
          .required();
  return table;
}

std::vector<ParamSetting> settings_without(const ConfigNode& node, const std::string& key) {
  std::vector<ParamSetting> settings = node.settings();
  std::erase_if(settings, [&](const ParamSetting& setting) { return setting.name == key; });
  return settings;
}

ModelConfig read_model(const ConfigNode& node) {
  const ParamSetting name = node.required_scalar("name", model_table().rows()[0].help);
  ModelConfig model{name.value, settings_without(node, "name"), name.place};
  make_model(model.name, model.params, model.place);
  return model;
}

/// The distinct label spaces of the sources, in order.
std::vector<std::string> label_spaces(const DataConfig& data) {
  std::vector<std::string> spaces;
  for (const SourceConfig& source : data.sources)
    if (std::count(spaces.begin(), spaces.end(), source.spec.head) == 0)
      spaces.push_back(source.spec.head);
  return spaces;
}

/// Refuses names that cannot be a single path component, because runs/NAME is the default folder.
void expect_run_name(const std::string& name, const ConfigLocation& place) {
  constexpr std::size_t kLongest = 255;  // bytes; NAME_MAX of Linux
  std::string why;
  if (!is_utf8(name)) why = "the run is named after the file, whose name is not UTF-8";
  if (name.find('/') != std::string::npos) why = "it contains a slash";
  if (name == "." || name == "..") why = "it refers to a folder itself or to its parent";
  if (name.size() > kLongest) why = fmt::format("it is longer than {} bytes", kLongest);
  if (printable(name) != name || name.find_first_of("\n\t") != std::string::npos)
    why = why.empty() ? "it contains control characters" : why;
  if (why.empty()) return;
  fail(ErrorKind::config,
       {fmt::format("{}'{}' cannot name a run: {}", place.prefix(), printable(name), why),
        "the name becomes a folder, runs/NAME, and appears in reports",
        "set name=NAME; for another folder, set out=FOLDER"});
}

/// Refuses a run with no length or with two, and limits that have no effect.
void check_length(const ConfigNode& node, const TrainConfig& train,
                  const EvaluationConfig& evaluation) {
  if (train.steps == 0 && train.epochs == 0) {
    node.required_scalar("steps", "number of training steps; or set epochs");
    node.refuse("steps: 0 without epochs", "a run needs a length", "set steps or epochs");
  }
  if (train.steps > 0 && train.epochs > 0)
    node.refuse(fmt::format("steps: {} and epochs: {}", train.steps, train.epochs),
                "each of them sets the length of the run", "remove one of the two, or set it to 0");
  if (!train.max_time.empty() && !parse_duration(train.max_time))
    node.at("max_time")
        .refuse(fmt::format("'{}' is not a time", printable(train.max_time)), "",
                "write a number and a unit: 30 s, 90m, 2h, 1 d");
  if (train.keep_best.empty() && train.patience > 0)
    node.at("patience")
        .refuse("patience without keep_best", "it counts evaluations of a figure",
                "set keep_best, for example to loss or accuracy");
  if (train.keep_best.empty()) return;
  if (evaluation.sources.empty())
    node.at("keep_best")
        .refuse("nothing is held out", "eval.sources is empty",
                "add sources to eval.sources, or remove keep_best");
  if (evaluation.every == 0)
    node.at("keep_best")
        .refuse("the run is evaluated only once, at its end", "eval.every is 0",
                "set eval.every to the number of steps between evaluations");
}

/// Refuses launches that are longer than the interval between two actions of the host.
void check_launches(const ConfigNode& node, const TrainConfig& train,
                    const EvaluationConfig& evaluation) {
  const std::int64_t steps = train.steps_per_launch;
  const auto expect = [&](const char* key, std::int64_t every) {
    if (every == 0 || steps <= every || steps == 1) return;
    node.at("steps_per_launch")
        .refuse(fmt::format("{} with {}: {}", steps, key, every),
                fmt::format("a launch ends where {} is due, so that none would have {} steps", key,
                            steps),
                fmt::format("set steps_per_launch to at most {}, or a larger {}", every, key));
  };
  expect("train.log_every", train.log_every);
  expect("train.checkpoint_every", train.checkpoint_every);
  expect("eval.every", evaluation.every);
}

/// Refuses batches that split a sample's views, and losses that compare views if there is only one.
void check_views(const ConfigNode& root, RunConfig& config) {
  const std::int64_t views = config.data.views, batch = config.train.batch;
  if (batch % views != 0)
    root.at("train").refuse(
        fmt::format("batch: {} with data.views: {}", batch, views),
        "a batch has all views of its samples",
        fmt::format("set batch to a multiple of {}; it counts rows, one per view", views));
  for (HeadConfig& head : config.heads) {
    head.views = config.data.views;
    if (!compares_views(head.loss)) continue;
    const std::string problem =
        fmt::format("{}head '{}': loss {} ", head.place.prefix(), head.name, to_string(head.loss));
    if (views < 2)
      fail(ErrorKind::config, {problem + "without views", "it compares views of the same sample",
                               "set data.views: 2, and data.augment"});
    if (batch < 2 * views)
      fail(ErrorKind::config, {fmt::format("{}in a batch of one sample", problem),
                               "it compares different samples", "use a larger train.batch"});
    if (config.train.accumulate > 1)
      fail(ErrorKind::config,
           {fmt::format("{}with train.accumulate: {}", problem, config.train.accumulate),
            "it compares all samples of a batch, and a pass has only some of them",
            "remove accumulate"});
    for (const SourceConfig& source : config.data.sources)
      if (source.spec.loss_weight != 1)
        fail(ErrorKind::config,
             {fmt::format("{}with loss_weight {:g} of source '{}'", problem,
                          source.spec.loss_weight, source.spec.name),
              "its terms belong to pairs of samples, also from different sources",
              "set the weight of the head"});
  }
  const bool judged = std::ranges::any_of(
      config.heads, [](const HeadConfig& head) { return !is_self_supervised(head.loss); });
  if (!judged && !config.train.keep_best.empty())
    root.at("train").refuse("keep_best without a supervised head",
                            "a self-supervised loss is not evaluated on held-out samples",
                            "remove keep_best");
}

SourceContext context_of(const RunConfig& config, const SourceConfig& source,
                         const WorkWatch& watch, DenseLabels dense) {
  SourceContext context;
  context.size = config.data.size;
  context.seed = config.seed;
  context.threads = config.threads;
  context.training = source.augmentations;
  context.channels = static_cast<int>(config.data.channels);
  context.evaluation = source.augmentations.held_out();
  context.dense = dense;
  context.watch = watch;
  context.node = config.node;
  return context;
}

/// Like make_source, but its error messages say that the source is held out.
std::unique_ptr<Source> open_as_held_out(const SourceSpec& spec, const SourceContext& context) {
  if (!spec.labelled) return make_source(spec, context);
  try {
    return make_source(spec, context);
  } catch (const Error& error) {
    const std::string what = error.what();
    const bool named = what.starts_with("source '");
    fail(error.kind(),
         {named ? "held-out " + what : fmt::format("held-out source '{}': {}", spec.name, what)});
  }
}

}  // namespace

double TrainConfig::max_seconds() const {
  if (max_time.empty()) return std::numeric_limits<double>::infinity();
  return parse_duration(max_time).value_or(0);  // read() has checked it
}

RunConfig RunConfig::load(const std::filesystem::path& file,
                          std::span<const std::string> overrides) {
  return read(ConfigDocument::load(file, overrides), file.stem().string());
}

RunConfig RunConfig::parse(const std::string& text, const std::string& name,
                           std::span<const std::string> overrides, ConfigOrigin origin) {
  return read(ConfigDocument::parse(text, name, overrides, origin),
              std::filesystem::path(name).stem().string());
}

RunConfig RunConfig::read(const ConfigDocument& document, const std::string& default_name) {
  const ConfigNode root = document.root();
  RunConfig config = root.read(run_table());
  Device::expect_name(config.device, root.at("device").location().prefix());
  if (config.name.empty()) config.name = default_name;
  expect_run_name(config.name, root.at("name").location());
  if (config.out.empty()) config.out = (std::filesystem::path("runs") / config.name).string();
  config.data = read_data(root.section("data"));
  config.evaluation = read_evaluation(root.section("eval"), config.data);
  config.model = read_model(root.section("model"));
  config.heads = read_heads(root, label_spaces(config.data), names_of(config.data));
  for (const HeadConfig& head : config.heads) expect_targets_follow(config.data, head.targets);
  config.optimizer = read_optimizer(root.section("optimizer"));
  const ConfigNode train = root.section("train");
  config.train = train.read(train_table());
  check_length(train, config.train, config.evaluation);
  check_launches(train, config.train, config.evaluation);
  if (config.train.steps > 0) expect_unfrozen_within(config.train.steps, config.optimizer);
  config.check_sample_ids(train.location());
  expect_mixable(config.heads, config.data.mix);
  expect_pairs(config.data.mix, config.train.batch, "a batch");
  check_views(root, config);
  config.init = root.section("init").read(init_table());
  document.finish();
  if (config.train.store_headers) expect_storable(config.generators());
  return config;
}

std::vector<std::string> RunConfig::generators() const {
  std::vector<std::string> names;
  for (const SourceConfig& source : data.sources)
    if (source.spec.kind == SourceKind::generator) names.push_back(source.spec.generator);
  return names;
}

std::vector<ConfigEntry> RunConfig::entries() const {
  ConfigWriter writer;
  writer.table(run_table(), *this);
  write_data(writer, data);
  write_evaluation(writer, evaluation);
  writer.section("model", [&] {
    writer.table(model_table(), model);
    writer.lines(make_model(model.name, model.params)->parameters_yaml());
  });
  write_heads(writer, heads);
  write_optimizer(writer, optimizer);
  writer.section("train", [&] {
    // Default values are left out, so that the identity of runs without these keys is unchanged.
    writer.table(train_table(), train,
                 {train.accumulate == 1 ? "accumulate" : "",
                  train.sync_batch_norm ? "" : "sync_batch_norm"});
  });
  writer.section("init", [&] { writer.table(init_table(), init); });
  return writer.entries();
}

std::string RunConfig::to_yaml() const {
  return config_yaml(config_settings(entries()));
}

std::string RunConfig::portable_yaml() const {
  std::vector<ConfigEntry> settings = config_settings(entries());
  std::erase_if(settings, [](const ConfigEntry& entry) {
    const std::string path = entry.path_text();
    return path == "out" || path == "data.root" || path == "init.from" ||
           path.find(".cache.") != std::string::npos;  // folders of this machine
  });
  return config_yaml(settings);
}

std::string RunConfig::identity_yaml() const {
  std::vector<ConfigEntry> identity = config_identity(entries());
  // A header is identified by its hash, not by its folder.
  for (ConfigEntry& entry : identity)
    if (entry.path_text().ends_with(".generator") && is_own_generator(entry.value))
      entry.value = std::filesystem::path(entry.value).filename().string();
  return config_yaml(identity);
}

std::filesystem::path RunConfig::resolve(const std::string& path) const {
  return std::filesystem::path(data.root) / path;
}

DType RunConfig::compute_type(const Device& on) const {
  if (precision == Precision::f32) return DType::f32;
  if (precision == Precision::automatic) return on.is_cuda() ? DType::bf16 : DType::f32;
  return DType::bf16;
}

void RunConfig::check_sample_ids(const ConfigLocation& place) const {
  constexpr std::uint64_t kIds = ProceduralSource::kFirstEvaluationSample;
  const auto generated = [](const SourceConfig& source) {
    return source.spec.kind == SourceKind::generator;
  };
  if (static_cast<std::uint64_t>(train.steps) <= kIds / static_cast<std::uint64_t>(train.batch) ||
      std::ranges::none_of(data.sources, generated))
    return;
  fail(ErrorKind::config,
       {fmt::format("{}train: {} of {}", place.prefix(), counted(train.steps, "step"),
                    counted(train.batch, "sample")),
        "generated samples with ids from 2^48 are held out for evaluation, but this run could "
        "reach them",
        "use fewer steps"});
}

std::int64_t RunConfig::rank_rows_unit() const {
  const std::int64_t passes = train.accumulate > 1 ? train.accumulate * kPassRows : 1;
  return std::lcm(std::lcm(passes, data.mix.on() ? 2 : 1), std::int64_t{data.views});
}

const SourceConfig& RunConfig::held_out_from(std::size_t k) const {
  const std::string& of = evaluation.sources[k].of;
  for (const SourceConfig& source : data.sources)
    if (source.spec.name == of) return source;
  throw std::logic_error("no source is called '" + of + "'");
}

DenseLabels RunConfig::dense_labels() const {
  const bool wanted = std::ranges::any_of(
      heads, [](const HeadConfig& head) { return head.loss == LossKind::pixel_class; });
  return wanted ? DenseLabels::plane : DenseLabels::none;
}

Mixture RunConfig::open_training(const WorkWatch& watch, DenseLabels dense) const {
  Mixture mixture(seed, data.views);
  for (const SourceConfig& source : data.sources) {
    SourceSpec spec = source.spec;
    if (spec.kind == SourceKind::files) spec.path = resolve(spec.path).string();
    mixture.add(make_source(spec, context_of(*this, source, watch, dense)), {spec.weight},
                spec.place);
  }
  mixture.set_schedule(data.schedule);
  return mixture;
}

Mixture RunConfig::open_held_out(const WorkWatch& watch, DenseLabels dense) const {
  Mixture mixture(seed);
  for (std::size_t k = 0; k < evaluation.sources.size(); ++k) {
    const EvaluationSourceConfig& held_out = evaluation.sources[k];
    const SourceConfig& source = held_out_from(k);
    SourceSpec spec = source.spec;
    // Set before the name, so that the seed does not depend on the held-out name.
    spec.seed = static_cast<std::int64_t>(source_seed(spec, seed));
    spec.name = held_out.name;
    if (spec.kind == SourceKind::files) {
      spec.path = resolve(held_out.path.empty() ? spec.path : held_out.path).string();
      spec.shuffle = false;
    }
    if (spec.kind == SourceKind::files && !held_out.training_rows) {
      for (const ParamSetting& setting : held_out.params) {  // the last setting of a name wins
        std::erase_if(spec.params, [&](const auto& other) { return other.name == setting.name; });
        spec.params.push_back(setting);
      }
      spec.rows = held_out.rows;
      spec.limit_per_class = 0;
    }
    SourceContext context = context_of(*this, source, watch, dense);
    context.training = context.evaluation;
    mixture.add(open_as_held_out(spec, context), {1}, spec.place);
  }
  return mixture;
}

std::vector<ConfigSection> config_sections() {
  std::vector<ConfigSection> sections = {{"", "", run_table().rows(), ""}};
  const auto append = [&sections](const std::vector<ConfigSection>& more) {
    sections.insert(sections.end(), more.begin(), more.end());
  };
  append(data_sections());
  append(evaluation_sections());
  append({{"model", "", model_table().rows(),
           "parameters of the model: see `wellspring describe MODEL`"}});
  append(head_sections());
  append(optimizer_sections());
  append({{"train", "", train_table().rows(), ""}, {"init", "", init_table().rows(), ""}});
  return sections;
}

}  // namespace wellspring
