// Reads, checks and writes the augmentation settings of a configuration.
#include "kernels/augment/augmentation_config.h"

#include "core/error.h"
#include "core/text/plural.h"
#include "core/text/text.h"

#include <fmt/format.h>

namespace wellspring {
namespace {

/// "augment.zoom", preceded by the operation's location in the file, if it has one.
std::string where(const AugmentSetting& setting) {
  return setting.place.prefix() + "augment." + augmentation_entry(setting.op).name;
}

void expect_range(const AugmentSetting& setting, const char* name,
                  const std::vector<double>& range) {
  if (range.size() != 2) {
    fail(ErrorKind::config,
         {fmt::format("{}.{} has {}", where(setting), name, counted(range.size(), "value")),
          "it is a range", "give [from, to]"});
  }
  if (range[0] > range[1]) {
    fail(ErrorKind::config, {fmt::format("{}.{}: the range begins at {} and ends at {}",
                                         where(setting), name, range[0], range[1]),
                             "the lower limit exceeds the upper one", "swap the two"});
  }
}

void expect_axes(const AugmentSetting& setting, const char* name,
                 const std::vector<double>& values) {
  if (values.size() == 2) return;
  fail(ErrorKind::config,
       {fmt::format("{}.{} has {}", where(setting), name, counted(values.size(), "value")),
        "it needs one value per axis", "give [x, y]"});
}

void check_setting(const AugmentSetting& setting) {
  const AugmentParams& p = setting.params;
  if (setting.op == AugmentOp::crop_resize || setting.op == AugmentOp::erase_box) {
    expect_range(setting, "scale", p.scale);
    expect_range(setting, "ratio", p.ratio);
  } else if (setting.op == AugmentOp::zoom) {
    expect_range(setting, "scale", p.zoom);
  } else if (setting.op == AugmentOp::affine) {
    expect_range(setting, "scale", p.zoom);
    expect_axes(setting, "translate", p.translate);
    expect_axes(setting, "shear", p.shear);
  } else if (setting.op == AugmentOp::blur) {
    expect_range(setting, "sigma", p.sigma);
    if (p.kernel != 0 && p.kernel % 2 == 0) {
      fail(ErrorKind::config, {fmt::format("{}.kernel = {} is even", where(setting), p.kernel),
                               "a kernel has a central pixel", "give an odd number, or 0"});
    }
  }
}

/// Refuses an operation of a later stage before one of an earlier stage. Pointwise colours may
/// stand anywhere before the erased box.
void expect_order(const AugmentSetting& before, const AugmentSetting& setting) {
  const AugmentStage first = stage_of(before), second = stage_of(setting);
  const bool pointwise = first == AugmentStage::colour || second == AugmentStage::colour;
  if (first == AugmentStage::erase ? second == first : (pointwise || first <= second)) return;
  const char* why =
      "geometry is applied when pixels are read, before operations that need neighbours";
  if (first == AugmentStage::erase) {
    why = "the box is erased last";
  } else if (second == AugmentStage::whole) {
    why = "the blur is the last pass over whole images";
  }
  const std::string &name = augmentation_entry(setting.op).name,
                    &other = augmentation_entry(before.op).name;
  fail(ErrorKind::config, {fmt::format("{} comes after {}", where(setting), other), why,
                           fmt::format("move {} before {}", name, other)});
}

/// Only one box may be erased.
void expect_one_erasure(const AugmentSetting& before, const AugmentSetting& setting) {
  if (stage_of(before) != AugmentStage::erase || stage_of(setting) != AugmentStage::erase) return;
  fail(ErrorKind::config, {fmt::format("{} is used together with {}", where(setting),
                                       augmentation_entry(before.op).name),
                           "only one box per sample is erased", "remove one of the two"});
}

double channel(const std::vector<double>& values, std::size_t c, const char* name,
               const ConfigLocation& place) {
  if (values.size() == 1) return values[0];
  if (values.size() == 3) return values[c];
  fail(ErrorKind::config,
       {fmt::format("{}normalise.{} has {}", place.prefix(), name, counted(values.size(), "value")),
        "images have one or three channels", "give one value or three"});
}

/// Refuses mixup and cutmix, which mix several samples.
void expect_no_mixing(const std::string& name, const ConfigLocation& place) {
  if (name != "mixup" && name != "cutmix") return;
  fail(ErrorKind::config,
       {fmt::format("{}augment: {} mixes samples", place.prefix(), name),
        "augment lists operations on single samples",
        fmt::format("write mix: {{{}: 1}} under data; see describe config", name)});
}

AugmentSetting read_operation(const ConfigNode& element) {
  AugmentSetting setting;
  setting.place = element.place();
  if (element.kind() == ConfigKind::scalar) {
    const ParamSetting name = element.scalar();
    expect_no_mixing(name.value, name.place);
    std::vector<std::string> names;
    for (const AugmentEntry& entry : augmentation_table()) {
      names.push_back(entry.name);
      if (entry.name == name.value) setting.op = entry.op;
    }
    if (setting.op == AugmentOp::none)
      fail(ErrorKind::config,
           {fmt::format("{}there is no augmentation '{}'", name.place.prefix(), name.value), "",
            name_advice(name.value, names)});
    const AugmentEntry& entry = augmentation_entry(setting.op);
    setting.params = entry.defaults;
    entry.table.read(std::vector<ParamSetting>{}, element.place());  // required parameters
    return setting;
  }
  if (element.kind() != ConfigKind::map)
    element.refuse("not an operation", "an operation is a name, or a name with its parameters",
                   "write flip_x: 0.5");
  for (const std::string& key : element.keys()) expect_no_mixing(key, element.place());
  const AugmentEntry* found = nullptr;
  for (const AugmentEntry& entry : augmentation_table()) {
    if (!element.has(entry.name)) continue;
    if (found != nullptr)
      element.refuse(fmt::format("{} and {} in one element", found->name, entry.name),
                     "the list order is the order of application",
                     "write each on its own line, with a dash");
    found = &entry;
  }
  if (found == nullptr) element.finish();  // reports the closest name
  if (found == nullptr) element.refuse("this element is empty", "", "write flip_x: 0.5");
  setting.op = found->op;
  setting.params = found->defaults;
  const ConfigNode body = element.at(found->name);
  if (body.kind() == ConfigKind::map || body.kind() == ConfigKind::empty) {
    body.read(found->table, setting.params);
    element.finish();
    return setting;
  }
  element.finish();
  // A single value sets the main parameter.
  for (const ParamSetting& value : element.settings())
    found->table.set(setting.params, found->main, value.value, value.place);
  return setting;
}

}  // namespace

AugmentStage stage_of(const AugmentSetting& setting) {
  const bool mean =
      setting.op == AugmentOp::contrast && setting.params.about == ContrastCentre::mean;
  return mean ? AugmentStage::whole : augmentation_entry(setting.op).stage;
}

Augmentations Augmentations::without_list() const {
  Augmentations plain = *this;
  plain.list.clear();
  return plain;
}

void read_augmentations(const ConfigNode& node, Augmentations& values) {
  if (node.stands("view"))
    node.at("view").refuse("`view` was replaced by a list of operations",
                           "the order of the operations matters",
                           "write augment: [flip_x: 0.5, shift: 0.125] and "
                           "normalise: {mean: [0.5], std: [0.25]}; see describe augment");
  if (node.has("augment")) {
    values.list.clear();
    for (const ConfigNode& element : node.list("augment"))
      values.list.push_back(read_operation(element));
  }
  node.section("normalise").read(normalisation_table(), values.normalisation);
  node.read(reading_table(), values);
  if (node.has("augment") || node.has("normalise") || node.has("padding") ||
      node.has("interpolation"))
    values.place = node.place();
  check_augmentations(values);
}

void write_augmentations(ConfigWriter& writer, const Augmentations& values) {
  if (values.list.empty()) writer.value("augment", "[]");
  writer.section("augment", [&] {
    for (std::size_t i = 0; i < values.list.size(); ++i) {
      const AugmentEntry& entry = augmentation_entry(values.list[i].op);
      writer.element(i, [&] {
        writer.section(entry.name, [&] { writer.table(entry.table, values.list[i].params); });
      });
    }
  });
  writer.section("normalise", [&] { writer.table(normalisation_table(), values.normalisation); });
  writer.table(reading_table(), values);
}

void check_augmentations(const Augmentations& values) {
  for (std::size_t i = 0; i < values.list.size(); ++i) {
    const AugmentSetting& setting = values.list[i];
    check_setting(setting);
    for (std::size_t j = 0; j < i; ++j) {
      if (values.list[j].op == setting.op) {
        fail(ErrorKind::config, {fmt::format("{} is listed twice", where(setting)),
                                 "the random numbers of an operation are keyed by its name",
                                 "widen the range of the first one"});
      }
      expect_order(values.list[j], setting);
      expect_one_erasure(values.list[j], setting);
    }
  }
  channel(values.normalisation.mean, 0, "mean", values.place);
  channel(values.normalisation.std, 0, "std", values.place);
}

}  // namespace wellspring
