#include "train/run_config.h"

#include "core/text.h"
#include "generators/generator.h"
#include "sources/files/format.h"
#include "train/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

namespace wellspring {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::max();

// ---------------------------------------------------------------------------------------------
// Tables: one a section.

const ParamTable<RunConfig>& run_table() {
  static const auto table =
      ParamTable<RunConfig>("the run")
          .text("name", &RunConfig::name, "name of the run; the file's name where none is given")
          .integer("seed", &RunConfig::seed, {0, kUnbounded}, "",
                   "keys every random number: samples, order, augmentation, initial weights")
          .text("device", &RunConfig::device, "auto (a GPU where there is one), cpu, or cuda:N")
          .integer("threads", &RunConfig::threads, {0, 4096}, "threads",
                   "CPU threads; 0: all that the process may use")
          .choice(
              "precision", &RunConfig::precision,
              {{"auto", Precision::automatic}, {"f32", Precision::f32}, {"bf16", Precision::bf16}},
              "type of activations and weights; auto: f32 on a CPU, bf16 on a GPU")
          .text("out", &RunConfig::out, "run folder; runs/<name> where none is given")
          .real("memory", &RunConfig::memory, {0, kUnbounded}, "GiB",
                "device memory the run may plan; 0: what is free");
  return table;
}

const ParamTable<DataConfig>& data_table() {
  static const auto table =
      ParamTable<DataConfig>("data")
          .text("root", &DataConfig::root, "folder where relative paths of data begin")
          .integer("size", &DataConfig::size, {1, 4096}, "pixels", "side of images");
  return table;
}

const ParamTable<EvaluationConfig>& evaluation_table() {
  static const auto table =
      ParamTable<EvaluationConfig>("eval")
          .integer("every", &EvaluationConfig::every, {0, kUnbounded}, "steps",
                   "between evaluations; 0: at the end only")
          .integer("samples", &EvaluationConfig::samples, {1, kUnbounded}, "samples",
                   "of each generator, ids from 2^48 on; files are used whole");
  return table;
}

const ParamTable<EvaluationSourceConfig>& evaluation_source_table() {
  static const auto table =
      ParamTable<EvaluationSourceConfig>("eval source")
          .text("of", &EvaluationSourceConfig::of, "the training source it belongs to")
          .required()
          .text("name", &EvaluationSourceConfig::name, "name in reports; `of` where none is given")
          .text("path", &EvaluationSourceConfig::path,
                "of files: where the held-out ones are, with keys of their format, such as split, "
                "where these differ from training's; empty: as training's");
  return table;
}

const ParamTable<LossConfig>& loss_table() {
  static const auto table =
      ParamTable<LossConfig>("loss")
          .choice("kind", &LossConfig::kind,
                  {{"cross_entropy", LossKind::cross_entropy}, {"mse", LossKind::mse}},
                  "classification, or regression of latents")
          .real("label_smoothing", &LossConfig::label_smoothing, {0, 0.999}, "",
                "share of the target spread over all classes", "Szegedy et al. 2016, section 7");
  return table;
}

const ParamTable<ops::OptimizerSpec>& optimizer_spec_table() {
  using Spec = ops::OptimizerSpec;
  static const auto table =
      ParamTable<Spec>("optimizer")
          .choice("kind", &Spec::kind,
                  {{"sgd", ops::OptimizerKind::sgd}, {"adamw", ops::OptimizerKind::adamw}},
                  "the update rule", "AdamW: Loshchilov & Hutter 2019, algorithm 2")
          .real("momentum", &Spec::momentum, {0, 0.9999}, "", "of sgd; 0: plain")
          .flag("nesterov", &Spec::nesterov, "of sgd: look-ahead momentum", "Sutskever et al. 2013")
          .real("beta1", &Spec::beta1, {0, 0.9999}, "", "of adamw: decay of the first moment")
          .real("beta2", &Spec::beta2, {0, 0.99999}, "", "of adamw: decay of the second moment")
          .real("epsilon", &Spec::epsilon, {1e-12, 1}, "", "of adamw: added to the root")
          .real("weight_decay", &Spec::weight_decay, {0, 10}, "",
                "of matrices; decoupled for adamw, added to the gradient for sgd");
  return table;
}

const ParamTable<OptimizerConfig>& optimizer_table() {
  static const auto table =
      ParamTable<OptimizerConfig>("optimizer")
          .real("lr", &OptimizerConfig::lr, {0, 1000}, "", "learning rate at its peak")
          .real("warmup", &OptimizerConfig::warmup, {0, 1}, "of the run",
                "linear rise of the learning rate from 0")
          .real("floor", &OptimizerConfig::floor, {0, 1}, "of the peak", "where the cosine ends",
                "Loshchilov & Hutter 2017, equation 5");
  return table;
}

const ParamTable<TrainConfig>& train_table() {
  static const auto table =
      ParamTable<TrainConfig>("train")
          .integer("batch", &TrainConfig::batch, {1, 1 << 20}, "samples", "of one step")
          .integer("steps", &TrainConfig::steps, {1, kUnbounded}, "steps", "of the whole run")
          .required()
          .real("clip", &TrainConfig::clip, {0, kUnbounded}, "",
                "largest L2 norm of the gradient; 0: off")
          .integer("log_every", &TrainConfig::log_every, {1, 100000}, "steps",
                   "between lines of metrics")
          .integer("checkpoint_every", &TrainConfig::checkpoint_every, {0, kUnbounded}, "steps",
                   "between checkpoints; 0: at the end only")
          .integer("keep", &TrainConfig::keep, {1, 100000}, "checkpoints", "kept, the newest")
          .choice("graph", &TrainConfig::graph,
                  {{"off", GraphMode::off}, {"on", GraphMode::on}, {"check", GraphMode::check}},
                  "on: the step is recorded once and replayed; check: compared with eager steps");
  return table;
}

const ParamTable<InitConfig>& init_table() {
  static const auto table =
      ParamTable<InitConfig>("init")
          .text("from", &InitConfig::from,
                "run folder, checkpoint or model.safetensors whose weights to begin with")
          .choice("head", &InitConfig::head, {{"keep", HeadInit::keep}, {"reset", HeadInit::reset}},
                  "what becomes of the last layer");
  return table;
}

// ---------------------------------------------------------------------------------------------
// Reading

void read_view(const ConfigNode& node, ViewParams& view) {
  node.read(view_table(), view);
  to_view_spec(view, node.place());  // checks what no row can check alone
}

std::vector<ParamSetting> settings_without(const ConfigNode& node, const std::string& key) {
  std::vector<ParamSetting> settings = node.settings();
  std::erase_if(settings, [&](const ParamSetting& setting) { return setting.name == key; });
  return settings;
}

bool is_event(const SourceSpec& spec) {
  return spec.kind == SourceKind::generator &&
         find_generator(spec.generator).kind == SampleKind::event;
}

SourceKind read_kind(const ConfigNode& node) {
  SourceSpec holder;
  if (const auto kind = node.scalar("kind"))
    source_table(SourceKind::generator).set(holder, "kind", kind->value, kind->place);
  return holder.kind;
}

/// The keys of a source of files that belong to its format.
std::vector<ParamSetting> read_format_settings(const ConfigNode& node, const std::string& format) {
  std::vector<ParamSetting> settings;
  for (const std::string& key : format_keys(format))
    if (const auto setting = node.scalar(key)) settings.push_back(*setting);
  check_format_settings(format, settings);
  return settings;
}

SourceConfig read_source(const ConfigNode& node, const DataConfig& data, const ViewParams& view,
                         std::int64_t limit_per_class) {
  SourceConfig source;
  SourceSpec& spec = source.spec;
  spec.place = node.place();
  spec.kind = read_kind(node);
  spec.limit_per_class = limit_per_class;
  node.read(source_table(spec.kind), spec);
  if (spec.name.empty()) node.refuse("name is empty");
  if (spec.head.empty()) spec.head = spec.name;
  if (spec.kind == SourceKind::generator) {
    spec.params = node.section("params").settings();
    const auto name = node.scalar("generator");
    const Place place = name ? name->place : node.place();
    // Made and dropped: every parameter is checked here, with its place.
    make_generator(spec.generator, static_cast<int>(data.size), spec.params, place);
  } else {
    if (const auto format = node.scalar("format"); format && !format->value.empty())
      find_format(format->value, format->place);
    spec.params = read_format_settings(node, spec.format);
  }
  if (is_event(spec)) {
    if (node.has("view")) node.refuse("a view of events", "only images are looked at");
    return source;
  }
  source.view = view;
  read_view(node.section("view"), source.view);
  return source;
}

std::vector<std::string> names_of(const DataConfig& data) {
  std::vector<std::string> names;
  for (const SourceConfig& source : data.sources) names.push_back(source.spec.name);
  return names;
}

/// "30%" or 0.3.
double read_fraction(const ParamSetting& setting) {
  std::string_view text = trim(setting.value);
  const bool percent = text.ends_with('%');
  if (percent) text = trim(text.substr(0, text.size() - 1));
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (percent) value /= 100;
  if (error != std::errc{} || end != text.data() + text.size() || !(value >= 0 && value <= 1))
    fail(ErrorKind::config,
         {fmt::format("{}'{}' is no point of the run", setting.place.prefix(), setting.value),
          "points lie between 0% and 100%", "write 30%, or 0.3"});
  return value;
}

double read_weight(const ParamSetting& setting) {
  SourceSpec holder;
  source_table(SourceKind::generator).set(holder, "weight", setting.value, setting.place);
  return holder.weight;
}

SchedulePoint read_point(const ConfigNode& node, const std::vector<std::string>& names) {
  SchedulePoint point;
  point.place = node.place();
  point.at = read_fraction(node.required_scalar("at", "where in the run: 30%"));
  std::vector<bool> given(names.size(), false);
  point.weights.resize(names.size(), 0);
  for (const ParamSetting& setting : node.section("weights").settings()) {
    const auto found = std::find(names.begin(), names.end(), setting.name);
    if (found == names.end())
      fail(ErrorKind::config,
           {fmt::format("{}there is no source '{}'", setting.place.prefix(), setting.name), "",
            name_advice(setting.name, names)});
    const auto index = static_cast<std::size_t>(found - names.begin());
    point.weights[index] = read_weight(setting);
    given[index] = true;
  }
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!given[i])
      node.refuse(fmt::format("the weight of '{}' is missing", names[i]),
                  "every point names every source");
  return point;
}

void check_schedule(const ConfigNode& node, const std::vector<SchedulePoint>& schedule) {
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    if (i > 0 && schedule[i].at < schedule[i - 1].at)
      node.refuse(fmt::format("point {} lies before point {}", i, i - 1),
                  "points follow each other in time");
    double sum = 0;
    for (const double weight : schedule[i].weights) sum += weight;
    if (!(sum > 0))
      node.refuse(schedule.size() == 1 ? "all weights are 0"
                                       : fmt::format("all weights of point {} are 0", i),
                  "no source would give samples");
  }
}

void read_schedule(const ConfigNode& node, const std::vector<ConfigNode>& source_nodes,
                   DataConfig& data) {
  const std::vector<std::string> names = names_of(data);
  for (const ConfigNode& point : node.list("schedule"))
    data.schedule.push_back(read_point(point, names));
  if (data.schedule.empty()) {
    SchedulePoint constant;
    for (const SourceConfig& source : data.sources) constant.weights.push_back(source.spec.weight);
    data.schedule.push_back(std::move(constant));
  } else {
    for (const ConfigNode& source : source_nodes)
      if (source.has("weight"))
        source.refuse("a weight beside a schedule", "the schedule says every weight",
                      "remove one of the two");
  }
  check_schedule(node, data.schedule);
}

DataConfig read_data(const ConfigNode& node) {
  DataConfig data = node.read(data_table());
  ViewParams view;
  read_view(node.section("view"), view);
  SourceSpec shared;  // limit_per_class may stand once for all data sets
  if (const auto limit = node.scalar("limit_per_class"))
    source_table(SourceKind::files).set(shared, "limit_per_class", limit->value, limit->place);

  const std::vector<ConfigNode> nodes = node.list("sources");
  if (nodes.empty()) node.refuse("sources is empty", "a run needs something to learn from");
  if (nodes.size() > static_cast<std::size_t>(kMaxSources))
    node.refuse(fmt::format("{} sources", nodes.size()),
                fmt::format("a mixture holds at most {}", kMaxSources));
  for (const ConfigNode& source : nodes) {
    data.sources.push_back(read_source(source, data, view, shared.limit_per_class));
    const std::vector<std::string> names = names_of(data);
    if (std::count(names.begin(), names.end(), names.back()) > 1)
      source.refuse(fmt::format("a second source is called '{}'", names.back()));
  }
  read_schedule(node, nodes, data);
  return data;
}

EvaluationConfig read_evaluation(const ConfigNode& node, const DataConfig& data) {
  EvaluationConfig evaluation = node.read(evaluation_table());
  const std::vector<std::string> names = names_of(data);
  for (const ConfigNode& element : node.list("sources")) {
    EvaluationSourceConfig source = element.read(evaluation_source_table());
    const auto found = std::find(names.begin(), names.end(), source.of);
    if (found == names.end())
      fail(ErrorKind::config, {fmt::format("{}there is no source '{}'",
                                           element.scalar("of")->place.prefix(), source.of),
                               "", name_advice(source.of, names)});
    const SourceSpec& trained = data.sources[static_cast<std::size_t>(found - names.begin())].spec;
    const bool files = trained.kind == SourceKind::files;
    source.params = read_format_settings(element, files ? trained.format : "");
    const bool elsewhere = !source.path.empty() || !source.params.empty();
    if (files && !elsewhere)
      element.refuse("path or split is missing",
                     "held-out files are other files than those trained on");
    if (!files && elsewhere)
      element.refuse("path or split beside a generator",
                     "its held-out samples have ids from 2^48 on");
    if (source.name.empty()) source.name = source.of;
    for (const EvaluationSourceConfig& other : evaluation.sources)
      if (other.name == source.name)
        element.refuse(fmt::format("a second one is called '{}'", source.name), "",
                       "give it a name of its own");
    evaluation.sources.push_back(std::move(source));
  }
  return evaluation;
}

ModelConfig read_model(const ConfigNode& node) {
  const ParamSetting name = node.required_scalar("name", "which network: cnn, mlp");
  ModelConfig model{name.value, settings_without(node, "name"), name.place};
  make_model(model.name, model.params, model.place);
  return model;
}

LossConfig read_loss(const ConfigNode& node) {
  LossConfig loss = node.read(loss_table());
  for (const ConfigNode& target : node.list("targets"))
    loss.targets.push_back(target.scalar().value);
  if (loss.kind == LossKind::mse && loss.targets.empty())
    node.refuse("targets is missing", "a regression needs the names of the latents it predicts");
  if (loss.kind == LossKind::cross_entropy && !loss.targets.empty())
    node.refuse("targets beside cross_entropy", "a classifier learns labels, not latents");
  return loss;
}

OptimizerConfig read_optimizer(const ConfigNode& node) {
  OptimizerConfig optimizer = node.read(optimizer_table());
  node.read(optimizer_spec_table(), optimizer.spec);
  if (optimizer.spec.nesterov && optimizer.spec.momentum == 0)
    node.refuse("nesterov without momentum", "there is nothing to look ahead along");
  return optimizer;
}

// ---------------------------------------------------------------------------------------------
// Writing

std::string settings_yaml(const std::string& lines, int indent) {
  std::string out;
  std::size_t begin = 0;
  while (begin < lines.size()) {
    std::size_t end = lines.find('\n', begin);
    if (end == std::string::npos) end = lines.size();
    if (end > begin)
      out += std::string(static_cast<std::size_t>(indent), ' ') + lines.substr(begin, end - begin) +
             "\n";
    begin = end + 1;
  }
  return out;
}

/// The block of lines as the element of a list: "- " before the first one.
std::string as_element(std::string lines, int indent) {
  lines[static_cast<std::size_t>(indent)] = '-';
  return lines;
}

/// The lines of a table without those of some names, which are written elsewhere or not at all.
template <class Struct>
std::string yaml_without(const ParamTable<Struct>& table, const Struct& values, int indent,
                         const std::set<std::string>& left_out) {
  std::string out;
  for (const detail::BoundRow& row : table.bound_rows())
    if (!left_out.contains(row.row.name))
      out += fmt::format("{:{}}{}: {}\n", "", indent, row.row.name,
                         detail::param_text(row.row, row.get(&values)));
  return out;
}

/// What is written: everything, or only what the weights of a step depend on.
enum class Extent : std::uint8_t { all, identity };

/// Keys of a format, as they were given.
std::string format_yaml(const std::vector<ParamSetting>& settings, int indent) {
  std::string out;
  for (const ParamSetting& setting : settings)
    out += fmt::format("{:{}}{}: {}\n", "", indent, setting.name, yaml_scalar(setting.value));
  return out;
}

/// The weight is written by the schedule, the rest of a source here.
std::string source_yaml(const SourceConfig& source, int size, Extent extent) {
  constexpr int kIndent = 6;
  const SourceSpec& spec = source.spec;
  std::set<std::string> left_out = {"weight"};
  if (extent == Extent::identity) left_out.insert({"storage", "budget", "ahead", "threads"});
  std::string out = yaml_without(source_table(spec.kind), spec, kIndent, left_out);
  if (spec.kind == SourceKind::generator) {
    const std::string params = make_generator(spec.generator, size, spec.params)->parameters_yaml();
    if (!params.empty()) out += fmt::format("{:6}params:\n", "") + settings_yaml(params, 8);
  } else {
    out += format_yaml(spec.params, kIndent);
  }
  if (!is_event(spec)) out += fmt::format("{:6}view:\n", "") + view_table().to_yaml(source.view, 8);
  return as_element(out, kIndent - 2);
}

std::string schedule_yaml(const DataConfig& data) {
  std::string out = "  schedule:\n";
  for (const SchedulePoint& point : data.schedule) {
    out += fmt::format("    - at: {}\n      weights:\n", shortest(point.at));
    for (std::size_t i = 0; i < data.sources.size(); ++i)
      out += fmt::format("        {}: {}\n", yaml_scalar(data.sources[i].spec.name),
                         shortest(point.weights[i]));
  }
  return out;
}

std::string sources_yaml(const DataConfig& data, Extent extent) {
  std::string out = "  sources:\n";
  for (const SourceConfig& source : data.sources)
    out += source_yaml(source, static_cast<int>(data.size), extent);
  return out + schedule_yaml(data);
}

std::string evaluation_yaml(const EvaluationConfig& evaluation) {
  std::string out = "eval:\n" + evaluation_table().to_yaml(evaluation, 2);
  if (evaluation.sources.empty()) return out;
  out += "  sources:\n";
  for (const EvaluationSourceConfig& source : evaluation.sources)
    out +=
        as_element(evaluation_source_table().to_yaml(source, 6) + format_yaml(source.params, 6), 4);
  return out;
}

std::string model_yaml(const ModelConfig& model) {
  return fmt::format("model:\n  name: {}\n", model.name) +
         settings_yaml(make_model(model.name, model.params)->parameters_yaml(), 2);
}

std::string loss_yaml(const LossConfig& loss) {
  std::string out = "loss:\n" + loss_table().to_yaml(loss, 2);
  if (loss.targets.empty()) return out;
  out += "  targets:\n";
  for (const std::string& target : loss.targets)
    out += fmt::format("    - {}\n", yaml_scalar(target));
  return out;
}

std::string optimizer_yaml(const OptimizerConfig& optimizer) {
  return "optimizer:\n" + optimizer_spec_table().to_yaml(optimizer.spec, 2) +
         optimizer_table().to_yaml(optimizer, 2);
}

}  // namespace

namespace {

SourceContext context_of(const RunConfig& config, const SourceConfig& source) {
  SourceContext context;
  context.size = static_cast<int>(config.data.size);
  context.seed = config.seed;
  context.train_view = to_view_spec(source.view, source.spec.place);
  ViewParams normalisation;
  normalisation.mean = source.view.mean;
  normalisation.std = source.view.std;
  context.evaluation_view = to_view_spec(normalisation, source.spec.place);
  return context;
}

}  // namespace

RunConfig RunConfig::load(const std::filesystem::path& file,
                          std::span<const std::string> overrides) {
  return read(ConfigDocument::load(file, overrides), file.stem().string());
}

RunConfig RunConfig::parse(const std::string& text, const std::string& name,
                           std::span<const std::string> overrides) {
  return read(ConfigDocument::parse(text, name, overrides),
              std::filesystem::path(name).stem().string());
}

RunConfig RunConfig::read(const ConfigDocument& document, const std::string& default_name) {
  const ConfigNode root = document.root();
  RunConfig config = root.read(run_table());
  Device::expect_name(config.device, root.at("device").place().prefix());
  if (config.name.empty()) config.name = default_name;
  if (config.out.empty()) config.out = (std::filesystem::path("runs") / config.name).string();
  config.data = read_data(root.section("data"));
  config.evaluation = read_evaluation(root.section("eval"), config.data);
  config.model = read_model(root.section("model"));
  config.loss = read_loss(root.section("loss"));
  config.optimizer = read_optimizer(root.section("optimizer"));
  config.train = root.section("train").read(train_table());
  config.init = root.section("init").read(init_table());
  document.finish();
  return config;
}

std::string RunConfig::to_yaml() const {
  return run_table().to_yaml(*this) + "data:\n" + data_table().to_yaml(data, 2) +
         sources_yaml(data, Extent::all) + evaluation_yaml(evaluation) + model_yaml(model) +
         loss_yaml(loss) + optimizer_yaml(optimizer) + "train:\n" +
         train_table().to_yaml(train, 2) + "init:\n" + init_table().to_yaml(init, 2);
}

std::string RunConfig::identity_yaml() const {
  return fmt::format("seed: {}\ndata:\n  size: {}\n", seed, data.size) +
         sources_yaml(data, Extent::identity) + model_yaml(model) + loss_yaml(loss) +
         optimizer_yaml(optimizer) +
         fmt::format("train:\n  batch: {}\n  steps: {}\n  clip: {}\n", train.batch, train.steps,
                     shortest(train.clip));
}

std::filesystem::path RunConfig::resolve(const std::string& path) const {
  return std::filesystem::path(data.root) / path;
}

DType RunConfig::compute_type(const Device& on) const {
  if (precision == Precision::f32) return DType::f32;
  if (precision == Precision::automatic) return on.is_cuda() ? DType::bf16 : DType::f32;
  if (on.is_cpu())
    fail(ErrorKind::config,
         {"precision bf16 on a CPU", "generators and operations work in f32 there",
          "set precision: auto, or device: cuda:0"});
  return DType::bf16;
}

std::size_t RunConfig::source_index(const std::string& source) const {
  for (std::size_t i = 0; i < data.sources.size(); ++i)
    if (data.sources[i].spec.name == source) return i;
  throw std::logic_error("no source is called '" + source + "'");
}

Mixture RunConfig::open_training() const {
  Mixture mixture(seed);
  for (const SourceConfig& source : data.sources) {
    SourceSpec spec = source.spec;
    if (spec.kind == SourceKind::files) spec.path = resolve(spec.path).string();
    mixture.add(make_source(spec, context_of(*this, source)),
                {spec.weight, spec.head, spec.loss_weight}, spec.place);
  }
  mixture.set_schedule(data.schedule);
  return mixture;
}

Mixture RunConfig::open_held_out() const {
  Mixture mixture(seed);
  for (const EvaluationSourceConfig& held_out : evaluation.sources) {
    const SourceConfig& source = data.sources[source_index(held_out.of)];
    SourceSpec spec = source.spec;
    spec.seed = static_cast<std::int64_t>(source_seed(spec, seed));  // whatever its name here
    spec.name = held_out.name;
    if (spec.kind == SourceKind::files) {
      spec.path = resolve(held_out.path.empty() ? spec.path : held_out.path).string();
      for (const ParamSetting& setting : held_out.params) {  // the later one of a name wins
        std::erase_if(spec.params, [&](const auto& other) { return other.name == setting.name; });
        spec.params.push_back(setting);
      }
      spec.limit_per_class = 0;
      spec.shuffle = false;
    }
    mixture.add(make_source(spec, context_of(*this, source)), {1, spec.head, 1}, spec.place);
  }
  return mixture;
}

std::vector<ConfigSection> config_sections() {
  const auto joined = [](std::vector<ParamRow> rows, const std::vector<ParamRow>& more) {
    rows.insert(rows.end(), more.begin(), more.end());
    return rows;
  };
  std::vector<ConfigSection> sections = {
      {"", run_table().rows()},
      {"data", data_table().rows()},
      {"data.view", view_table().rows()},
      {"data.sources[] of kind generator", source_table(SourceKind::generator).rows()},
      {"data.sources[] of kind files", source_table(SourceKind::files).rows()}};
  for (const DatasetFormat& format : format_registry())
    sections.push_back({"data.sources[] of format " + format.name, format.parameters});
  for (ConfigSection& section : std::vector<ConfigSection>{
           {"eval", evaluation_table().rows()},
           {"eval.sources[]", evaluation_source_table().rows()},
           {"loss", loss_table().rows()},
           {"optimizer", joined(optimizer_spec_table().rows(), optimizer_table().rows())},
           {"train", train_table().rows()},
           {"init", init_table().rows()}})
    sections.push_back(std::move(section));
  return sections;
}

}  // namespace wellspring
