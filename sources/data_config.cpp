#include "sources/data_config.h"

#include "core/text/parse.h"
#include "core/text/plural.h"
#include "core/text/text.h"
#include "generators/generator.h"
#include "generators/own/own_generator.h"
#include "sources/cache_config.h"
#include "sources/files/format.h"
#include "sources/mixture.h"

#include <fmt/format.h>

#include <algorithm>

namespace wellspring {
namespace {

using Choice = Normalisation::Choice;

const ParamTable<DataConfig>& data_table() {
  static const auto table =
      ParamTable<DataConfig>("data")
          .text("root", &DataConfig::root, "base folder of relative data paths")
          .may_change()
          .size("size", &DataConfig::size, {1, 4096},
                "height and width of images; a number is the side of squares")
          .choice("channels", &DataConfig::channels,
                  {{"auto", Channels::automatic}, {"1", Channels::one}, {"3", Channels::three}},
                  "channels of images; 1: the luma of generated images and image files (ITU-R "
                  "BT.601); auto: 3, or the number of channels of the arrays")
          .integer("views", &DataConfig::views, {1, kMostViews}, "",
                   "rows that each image fills in a batch, each with its own augmentation")
          .integer("limit_per_class", &DataConfig::limit_per_class, {0, 1e9}, "images",
                   "default for all data sets: keep the first N rows of each class; 0: all; "
                   "held-out sets are always used in full")
          .may_change();  // a run's identity contains each source's own value
  return table;
}

/// A schedule point as written.
struct PointText {
  std::string at;
};

const ParamTable<PointText>& point_table() {
  static const auto table =
      ParamTable<PointText>("schedule point")
          .text("at", &PointText::at,
                "position in the run, such as 30% or 0.3; shares change linearly between points")
          .required();
  return table;
}

bool is_event(const SourceSpec& spec) {
  return spec.kind == SourceKind::generator &&
         find_generator(spec.generator).kind != SampleKind::image;
}

/// Refuses settings that would make all views of a sample identical. Also refuses repeats, because
/// the copies of a sample would count as different samples.
void expect_views_differ(const ConfigNode& node, std::uint32_t views, const SourceConfig& source) {
  if (views == 1) return;
  const std::string problem = fmt::format("views: {}, but source '{}' ", views, source.spec.name);
  if (source.augmentations.list.empty())
    node.refuse(problem + "is not augmented", "all views of a sample would be identical",
                is_event(source.spec) ? "only images are augmented; remove views"
                                      : "add augment, or remove views");
  if (source.spec.repeats > 1)
    node.refuse(fmt::format("{}has repeats: {}", problem, source.spec.repeats),
                "the copies of a sample would count as different samples", "remove one of the two");
}

SourceKind read_kind(const ConfigNode& node) {
  SourceSpec holder;
  if (const auto kind = node.scalar("kind"))
    source_table(SourceKind::generator).set(holder, "kind", kind->value, kind->place);
  return holder.kind;
}

/// Refuses repeats that would give identical images.
void expect_repeats_differ(const ConfigNode& node, const SourceConfig& source) {
  if (source.spec.repeats == 1 || !source.augmentations.list.empty()) return;
  node.refuse(fmt::format("repeats: {} needs augmentation", source.spec.repeats),
              is_event(source.spec)
                  ? "only images are augmented; remove repeats"
                  : "the same images would be repeated; add augment, or remove repeats");
}

/// Reads `normalise` of an event generator. If the generator makes images, they are not normalised.
void read_event_scaling(const ConfigNode& node, SourceConfig& source, const Augmentations& shared,
                        ImageSize size) {
  const SourceSpec& spec = source.spec;
  const auto generator = make_generator(spec.generator, size, spec.params, spec.place);
  if (generator->layout().kind != SampleKind::image) {
    source.augmentations.normalisation = shared.normalisation;
    read_normalisation(node, source.augmentations.normalisation);
  } else if (node.is_present("normalise")) {
    node.refuse("normalise cannot be used on images of events", "their generator scales the pixels",
                "remove normalise; see wellspring describe " + spec.generator);
  }
}

SourceConfig read_source(const ConfigNode& node, const DataConfig& data,
                         const Augmentations& shared, std::int64_t limit_per_class) {
  SourceConfig source;
  SourceSpec& spec = source.spec;
  spec.place = node.location();
  spec.kind = read_kind(node);
  spec.limit_per_class = limit_per_class;
  node.read(source_table(spec.kind), spec);
  if (spec.name.empty()) node.refuse("name is empty");
  if (spec.head.empty()) spec.head = spec.name;
  const ImageSize size = data.size;
  if (spec.kind == SourceKind::generator) {
    spec.params = node.section("params").settings();
    const auto name = node.scalar("generator");
    const ConfigLocation place = name ? name->place : node.location();
    if (is_own_generator(spec.generator))
      spec.generator = own_generator_path(spec.generator, place);
    // The generator is made only to check every parameter here, where its location is known.
    make_generator(spec.generator, size, spec.params, place);
  } else {
    if (const auto format = node.scalar("format"); format && !format->value.empty())
      find_format(format->value, format->place);
    spec.params = read_format_settings(node, spec.format);
    RowRange::parse(spec.rows, spec.rows_by, node.location());
    spec.cache = read_cache(node);
    if (!spec.cache.empty() && spec.storage == Storage::resident)
      node.refuse("cache with storage: resident", "resident rows are read once",
                  "remove cache, or set storage: streamed");
  }
  if (is_event(spec)) {
    for (const char* const key : {"augment", "padding", "interpolation", "centre_crop"})
      if (node.is_present(key))
        node.refuse(fmt::format("{} cannot be used for events", key), "only images are augmented");
    read_event_scaling(node, source, shared, size);
    expect_repeats_differ(node, source);
    return source;
  }
  source.augmentations = shared;
  read_augmentations(node, source.augmentations);
  expect_repeats_differ(node, source);
  Normalisation& normalisation = source.augmentations.normalisation;
  if (spec.kind == SourceKind::generator && normalisation.choice == Choice::by_default)
    normalisation.choice = Choice::given;  // colours are unchanged
  Augmentations checked = source.augmentations;
  // Files may contain events or sets; their source checks that.
  if (spec.kind == SourceKind::files) checked.normalisation = {};
  if (checked.centre_crop > 0 && checked.centre_crop < size.longer())
    node.refuse(fmt::format("centre_crop: {}, and size: {}", checked.centre_crop, size.to_string()),
                "the crop is a part of the resized image", "use at least the size");
  const FrameSize frame = {size.width, size.height};
  plan_augmentation(checked, frame, frame);
  const bool coloured = spec.kind == SourceKind::generator && data.channels != Channels::one;
  expect_channels(checked, coloured ? 3 : static_cast<int>(data.channels));
  return source;
}

/// "30%" or 0.3.
double read_fraction(const ParamSetting& setting) {
  std::string_view text = trim(setting.value);
  const bool percent = text.ends_with('%');
  if (percent) text = trim(text.substr(0, text.size() - 1));
  double value = parse_number<double>(text).value_or(-1);
  if (percent) value /= 100;
  if (!(value >= 0 && value <= 1))
    fail(ErrorKind::config,
         {fmt::format("{}'{}' is not a point of the run", setting.place.prefix(), setting.value),
          "points are from 0% to 100%", "write 30%, or 0.3"});
  return value;
}

double read_weight(const ParamSetting& setting) {
  SourceSpec holder;
  source_table(SourceKind::generator).set(holder, "weight", setting.value, setting.place);
  return holder.weight;
}

SchedulePoint read_point(const ConfigNode& node, const std::vector<std::string>& names) {
  SchedulePoint point;
  point.place = node.location();
  point.at = read_fraction(node.required_scalar("at", point_table().rows()[0].help));
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
                  "every point must give a weight to every source");
  return point;
}

void check_schedule(const ConfigNode& node, const std::vector<SchedulePoint>& schedule) {
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    if (i > 0 && schedule[i].at < schedule[i - 1].at)
      node.refuse(fmt::format("point {} is before point {}", i, i - 1),
                  "points must be in chronological order");
    double sum = 0;
    for (const double weight : schedule[i].weights) sum += weight;
    if (!(sum > 0))
      node.refuse(schedule.size() == 1 ? "all weights are 0"
                                       : fmt::format("all weights of point {} are 0", i),
                  "no source would provide samples");
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
        source.refuse("weight cannot be combined with a schedule", "the schedule sets every weight",
                      "remove one of the two");
  }
  check_schedule(node, data.schedule);
}

MixConfig read_mix(const ConfigNode& data) {
  if (data.kind("mix") == ConfigKind::list)
    data.at("mix").refuse("mix is not a list",
                          "one of the two is chosen at random, so they have no order",
                          "write mix: {mixup: 0.8, cutmix: 1}");
  const ConfigNode node = data.section("mix");
  MixConfig mix = node.read(mix_table());
  mix.place = node.location();
  for (const double a : {mix.mixup, mix.cutmix})
    if (a > 0 && a < 0.001)
      node.refuse(fmt::format("Beta({0}, {0}) is too extreme", shortest(a)),
                  "below 0.001 all shares round to 0 or 1 in f32", "use 0 to switch it off");
  if (node.has("probability") && !node.has("mixup") && !node.has("cutmix"))
    node.refuse("probability without mixup or cutmix", "nothing would be mixed",
                "write mix: {mixup: 0.8, probability: 0.5}");
  return mix;
}

void write_source(ConfigWriter& writer, const SourceConfig& source, ImageSize size) {
  const SourceSpec& spec = source.spec;
  // The schedule sets the weights.
  if (spec.rows.empty())  // left out, so that the identity of runs with all rows stays the same
    writer.table(source_table(spec.kind), spec, {"weight", "rows", "rows_by"});
  else
    writer.table(source_table(spec.kind), spec, {"weight"});
  if (spec.kind == SourceKind::generator) {
    const auto generator = make_generator(spec.generator, size, spec.params);
    // Different versions of the generator give different samples.
    writer.fact("generator_version", std::to_string(generator->info().version));
    if (is_own_generator(spec.generator))
      writer.fact("generator_header", own_generator_hash(spec.generator));
    writer.section("uses", [&] {
      for (const UsedGenerator& used : generator->info().uses) {
        writer.section(used.name,
                       [&] { writer.fact("generator_version", std::to_string(used.version)); });
      }
    });
    writer.section("params", [&] { writer.lines(generator->parameters_yaml()); });
  } else {
    write_cache(writer, spec.cache);
    write_format_settings(writer, spec.params);
  }
  if (is_event(spec))
    write_normalisation(writer, source.augmentations.normalisation);
  else
    write_augmentations(writer, source.augmentations);
}

void write_point(ConfigWriter& writer, const SchedulePoint& point, const DataConfig& data) {
  writer.value("at", shortest(point.at));
  writer.section("weights", [&] {
    for (std::size_t i = 0; i < data.sources.size(); ++i) {
      writer.value(data.sources[i].spec.name, shortest(point.weights[i]));
    }
  });
}

}  // namespace

std::vector<std::string> names_of(const DataConfig& data) {
  std::vector<std::string> names;
  for (const SourceConfig& source : data.sources) names.push_back(source.spec.name);
  return names;
}

DataConfig read_data(const ConfigNode& node) {
  DataConfig data = node.read(data_table());
  Augmentations augmentations;
  read_augmentations(node, augmentations);
  const std::vector<ConfigNode> nodes = node.list("sources");
  if (nodes.empty()) node.refuse("sources is empty", "a run needs at least one source");
  if (nodes.size() > static_cast<std::size_t>(kMaxSources))
    node.refuse(counted(nodes.size(), "source"),
                fmt::format("a mixture can have at most {}", kMaxSources));
  for (const ConfigNode& source : nodes) {
    data.sources.push_back(read_source(source, data, augmentations, data.limit_per_class));
    expect_views_differ(node, data.views, data.sources.back());
    const std::vector<std::string> names = names_of(data);
    if (std::count(names.begin(), names.end(), names.back()) > 1)
      source.refuse(fmt::format("a second source is called '{}'", names.back()));
  }
  read_schedule(node, nodes, data);
  data.mix = read_mix(node);
  if (data.views > 1 && data.mix.on())
    node.at("mix").refuse("mix cannot be combined with views",
                          "neighbouring rows, which are mixed, are views of the same sample",
                          "remove one of the two");
  expect_mixable(data);
  return data;
}

void expect_mixable(const DataConfig& data) {
  for (const SourceConfig& source : data.sources)
    for (const AugmentSetting& setting : source.augmentations.list)
      if (data.mix.on() && setting.op() == op_of<augment::MaskPatches>)
        fail(ErrorKind::config,
             {setting.where() + " cannot be combined with data.mix",
              "a blend of two masked images has no mask", "remove mask_patches or mix"});
  for (const SourceConfig& source : data.sources)
    if (source.spec.kind == SourceKind::generator)
      expect_mixable(data.mix, find_generator(source.spec.generator).kind,
                     fmt::format("source '{}'", source.spec.name));
}

void expect_targets_follow(const DataConfig& data, const std::vector<std::string>& targets) {
  for (const SourceConfig& source : data.sources) {
    if (source.spec.kind != SourceKind::generator || is_event(source.spec)) continue;
    const auto generator = make_generator(source.spec.generator, data.size, source.spec.params);
    for (const LatentInfo& latent : generator->info().latents)
      if (std::find(targets.begin(), targets.end(), latent.name) != targets.end())
        for (const Augmentations& own : {source.augmentations, source.augmentations.held_out()})
          expect_mappable(own, latent.role, latent.name);
  }
}

std::vector<ParamSetting> read_format_settings(const ConfigNode& node, const std::string& format) {
  std::vector<ParamSetting> settings;
  for (const std::string& key : format_keys(format))
    if (const auto setting = node.setting(key)) settings.push_back(*setting);
  check_format_settings(format, settings);
  return settings;
}

void write_format_settings(ConfigWriter& writer, const std::vector<ParamSetting>& settings) {
  for (const ParamSetting& setting : settings)
    writer.value(setting.name, yaml_scalar(setting.value));
}

void write_data(ConfigWriter& writer, const DataConfig& data) {
  writer.section("data", [&] {
    // Default values are left out, so that the identity of runs without these keys is unchanged.
    writer.table(
        data_table(), data,
        {data.views == 1 ? "views" : "", data.channels == Channels::automatic ? "channels" : ""});
    writer.section("sources", [&] {
      for (std::size_t i = 0; i < data.sources.size(); ++i) {
        writer.element(i, [&] { write_source(writer, data.sources[i], data.size); });
      }
    });
    writer.section("schedule", [&] {
      for (std::size_t i = 0; i < data.schedule.size(); ++i) {
        writer.element(i, [&] { write_point(writer, data.schedule[i], data); });
      }
    });
    // Left out if off, so that the identity of runs without mixing is unchanged.
    if (data.mix.on()) writer.section("mix", [&] { writer.table(mix_table(), data.mix); });
  });
}

namespace {

/// Configuration sections of `place` ("data", "data.sources[]") for the augmentation of images.
void append_looking(std::vector<ConfigSection>& sections, const std::string& place) {
  std::vector<ParamRow> rows = reading_table().rows();
  ParamRow list;
  list.name = "augment";
  list.type = ParamType::text_list;
  list.default_text = "[]";
  list.help = "operations in order, see `wellspring describe augment`";
  rows.push_back(std::move(list));
  sections.push_back({place, "images only", std::move(rows), ""});
  std::vector<ParamRow> short_forms;  // `flip_x: 0.3`
  for (const AugmentEntry& entry : augmentation_table()) {
    short_forms.push_back({});
    short_forms.back().name = entry.name;
    short_forms.back().type = ParamType::text;
    short_forms.back().help = entry.takes_value() ? "a value sets " + entry.main : "no value";
  }
  ParamRow members;
  members.type = ParamType::text_list;
  for (const GroupKind kind : kGroupKinds) {
    for (ParamRow& row : group_table(kind).rows()) short_forms.push_back(std::move(row));
    members.name = group_list(kind);
    members.help = group_help(kind);
    short_forms.push_back(members);
  }
  sections.push_back({place + ".augment[]", "images only", std::move(short_forms), ""});
  for (const AugmentEntry& entry : augmentation_table())
    sections.push_back({place + ".augment[]." + entry.name, "", entry.rows(), ""});
  ParamRow word;
  word.name = "normalise";
  word.type = ParamType::text;
  word.help = "none, auto (measured; the default for files of events or sets), or a mapping:";
  sections.push_back({place, "", {std::move(word)}, ""});
  sections.push_back({place + ".normalise", "", normalisation_table().rows(), ""});
  sections.push_back({place + ".normalise.globals", "sets only", normalisation_table().rows(), ""});
}

}  // namespace

std::vector<ConfigSection> data_sections() {
  std::vector<ConfigSection> sections = {
      {"data", "", data_table().rows(), ""},
      {"data.sources[]", "kind: generator", source_table(SourceKind::generator).rows(), ""},
      {"data.sources[].params", "kind: generator", {}, "see `wellspring describe GENERATOR`"},
      {"data.sources[]", "kind: files", source_table(SourceKind::files).rows(), ""},
  };
  append_cache(sections, "data.sources[]");
  const std::vector<ConfigSection> others = {
      {"data.schedule[]", "", point_table().rows(), ""},
      {"data.schedule[].weights", "", {}, "the name of every source, with its weight"},
      {"data.mix", "images only; mixup also for events", mix_table().rows(), ""},
  };
  sections.insert(sections.end(), others.begin(), others.end());
  append_looking(sections, "data");
  append_looking(sections, "data.sources[]");
  for (const DatasetFormat& format : format_registry()) {
    sections.push_back({"data.sources[]", "format: " + format.name, format.parameters, ""});
  }
  return sections;
}

}  // namespace wellspring
