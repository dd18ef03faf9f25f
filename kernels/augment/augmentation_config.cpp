// Reads, checks and writes the augmentation settings of a configuration.
#include "kernels/augment/augmentation_config.h"

#include "core/error.h"
#include "core/text/plural.h"
#include "core/text/text.h"
#include "kernels/augment/setting_check.h"

#include <fmt/format.h>

namespace wellspring {
namespace {

void check_setting(const AugmentSetting& setting) {
  std::visit(
      [&]<class P>(const P& p) {
        const SettingCheck check(setting);
        if constexpr (requires { &P::template check<SettingCheck>; }) p.check(check);
      },
      setting.params);
}

/// Rejects a list in which a later stage precedes an earlier one. Pointwise colours may be anywhere
/// before the erased box.
void expect_order(const AugmentSetting& before, const AugmentSetting& setting) {
  const AugmentStage first = before.stage(), second = setting.stage();
  const bool pointwise = first == AugmentStage::colour || second == AugmentStage::colour;
  if (first == AugmentStage::erase ? second == first : (pointwise || first <= second)) return;
  const char* why =
      "geometry is applied when pixels are read, before operations that need neighbours";
  if (first == AugmentStage::erase) {
    why = "the box is erased last";
  } else if (second == AugmentStage::whole) {
    why = "the blur is the last pass over whole images";
  }
  const std::string &name = augmentation_entry(setting.op()).name,
                    &other = augmentation_entry(before.op()).name;
  fail(ErrorKind::config, {fmt::format("{} comes after {}", setting.where(), other), why,
                           fmt::format("move {} before {}", name, other)});
}

/// Only one box may be erased.
void expect_one_erasure(const AugmentSetting& before, const AugmentSetting& setting) {
  if (before.stage() != AugmentStage::erase || setting.stage() != AugmentStage::erase) return;
  fail(ErrorKind::config, {fmt::format("{} is used together with {}", setting.where(),
                                       augmentation_entry(before.op()).name),
                           "only one box per sample is erased", "remove one of the two"});
}

/// Rejects mixup and cutmix, because they mix several samples.
void expect_no_mixing(const std::string& name, const ConfigLocation& place) {
  if (name != "mixup" && name != "cutmix") return;
  fail(ErrorKind::config,
       {fmt::format("{}augment: {} mixes samples", place.prefix(), name),
        "augment lists operations on single samples",
        fmt::format("write mix: {{{}: 1}} under data; see describe config", name)});
}

/// The entry of an operation that is given only by name.
const AugmentEntry& find_entry(const ParamSetting& name) {
  std::vector<std::string> names;
  for (const AugmentEntry& entry : augmentation_table()) {
    if (entry.name == name.value) return entry;
    names.push_back(entry.name);
  }
  fail(ErrorKind::config,
       {fmt::format("{}unknown augmentation '{}'", name.place.prefix(), name.value), "",
        name_advice(name.value, names)});
}

/// The entry of an operation that is given as the only key of a list element.
const AugmentEntry& find_entry(const ConfigNode& element) {
  const AugmentEntry* found = nullptr;
  for (const AugmentEntry& entry : augmentation_table()) {
    if (!element.has(entry.name)) continue;
    if (found != nullptr)
      element.refuse(fmt::format("{} and {} are in one element", found->name, entry.name),
                     "operations are applied in the order of the list",
                     "write each on its own line, with a dash");
    found = &entry;
  }
  if (found == nullptr) element.finish();  // reports the closest name
  if (found == nullptr) element.refuse("this element is empty", "", "write flip_x: 0.5");
  return *found;
}

/// Sets `params` to the values below the key of `entry`.
void read_params(const ConfigNode& element, const AugmentEntry& entry, AugmentParams& params) {
  std::visit(
      [&]<class P>(P& own) {
        typename P::Values& values = own;
        const auto& table = params_table<typename P::Operation>();
        const ConfigNode body = element.at(entry.name);
        if (body.kind() == ConfigKind::map || body.kind() == ConfigKind::empty) {
          body.read(table, values);
          return element.finish();
        }
        element.finish();
        // A single value sets the main parameter.
        for (const ParamSetting& value : element.settings())
          table.set(values, entry.main, value.value, value.place);
      },
      params);
}

AugmentSetting read_operation(const ConfigNode& element) {
  if (element.kind() == ConfigKind::scalar) {
    const ParamSetting name = element.scalar();
    expect_no_mixing(name.value, name.place);
    const AugmentSetting setting = {find_entry(name).defaults, element.location()};
    std::visit(
        [&]<class P>(const P&) {  // rejects a missing required parameter
          params_table<typename P::Operation>().read(std::vector<ParamSetting>{}, setting.place);
        },
        setting.params);
    return setting;
  }
  if (element.kind() != ConfigKind::map)
    element.refuse("not an operation", "an operation is a name, or a name with its parameters",
                   "write flip_x: 0.5");
  for (const std::string& key : element.keys()) expect_no_mixing(key, element.location());
  const AugmentEntry& entry = find_entry(element);
  AugmentSetting setting = {entry.defaults, element.location()};
  read_params(element, entry, setting.params);
  return setting;
}

}  // namespace

Augmentations Augmentations::without_list() const {
  Augmentations plain = *this;
  plain.list.clear();
  return plain;
}

bool Normalisation::is_identity() const {
  return *this == ColumnScaling{} && globals == ColumnScaling{};
}

void read_normalisation(const ConfigNode& node, Normalisation& values) {
  if (!node.has("normalise")) return;
  using Choice = Normalisation::Choice;
  if (node.kind("normalise") == ConfigKind::scalar) {
    const std::string word = node.scalar("normalise")->value;
    if (word != "auto" && word != "none")
      node.at("normalise")
          .refuse(fmt::format("'{}' is not a normalisation", word), "",
                  "write auto, none, or normalise: {mean: [0.5], std: [0.25]}");
    values = {};
    values.choice = word == "auto" ? Choice::automatic : Choice::given;
    return;
  }
  const ConfigNode section = node.section("normalise");
  values.choice = Choice::given;
  section.read<ColumnScaling>(normalisation_table(), values);
  section.section("globals").read(normalisation_table(), values.globals);
}

void write_normalisation(ConfigWriter& writer, const Normalisation& values) {
  using Choice = Normalisation::Choice;
  if (values.choice == Choice::automatic) writer.value("normalise", "auto");
  if (values.choice != Choice::given) return;
  writer.section("normalise", [&] {
    writer.table<ColumnScaling>(normalisation_table(), values);
    if (values.globals != ColumnScaling{})
      writer.section("globals", [&] { writer.table(normalisation_table(), values.globals); });
  });
}

void read_augmentations(const ConfigNode& node, Augmentations& values) {
  if (node.is_present("view"))
    node.at("view").refuse("`view` was replaced by a list of operations",
                           "the order of the operations matters",
                           "write augment: [flip_x: 0.5, shift: 0.125] and "
                           "normalise: {mean: [0.5], std: [0.25]}; see describe augment");
  if (node.has("augment")) {
    values.list.clear();
    for (const ConfigNode& element : node.list("augment"))
      values.list.push_back(read_operation(element));
  }
  read_normalisation(node, values.normalisation);
  node.read(reading_table(), values);
  if (node.has("augment") || node.has("normalise") || node.has("padding") ||
      node.has("interpolation"))
    values.place = node.location();
  check_augmentations(values);
}

void write_augmentations(ConfigWriter& writer, const Augmentations& values) {
  if (values.list.empty()) writer.value("augment", "[]");
  writer.section("augment", [&] {
    for (std::size_t i = 0; i < values.list.size(); ++i) {
      writer.element(i, [&] {
        std::visit(
            [&]<class P>(const P& own) {
              using Op = typename P::Operation;
              const typename P::Values& params = own;
              writer.section(Op::kInfo.name, [&] { writer.table(params_table<Op>(), params); });
            },
            values.list[i].params);
      });
    }
  });
  write_normalisation(writer, values.normalisation);
  writer.table(reading_table(), values);
}

void check_augmentations(const Augmentations& values) {
  for (std::size_t i = 0; i < values.list.size(); ++i) {
    const AugmentSetting& setting = values.list[i];
    check_setting(setting);
    for (std::size_t j = 0; j < i; ++j) {
      if (values.list[j].op() == setting.op()) {
        fail(ErrorKind::config, {fmt::format("{} is listed twice", setting.where()),
                                 "the random numbers of an operation are keyed by its name",
                                 "widen the range of the first one"});
      }
      expect_order(values.list[j], setting);
      expect_one_erasure(values.list[j], setting);
    }
  }
}

}  // namespace wellspring
