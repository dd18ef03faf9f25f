#include "kernels/augment/augmentation_list.h"

#include "core/error.h"
#include "core/text/text.h"
#include "kernels/augment/augmentation_presets.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

namespace wellspring {
namespace {

/// Rejects operations that are blends of images.
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
  for (const AugmentPreset& preset : augment_presets()) names.push_back(preset.name);
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
        if (!entry.takes_value())
          body.refuse(fmt::format("{} takes no single value", entry.name),
                      "a value is an operation's strength, or the probability of one without "
                      "other parameters",
                      fmt::format("write {}: {{probability: 0.5}}", entry.name));
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

/// Reads elements of a list, in order.
class ListReader {
 public:
  explicit ListReader(Augmentations& values) : values_(values) {}

  void read(const ConfigNode& element, GroupPlace place) {
    if (const auto kind = kind_of(element)) return read_group(element, *kind, place);
    if (const AugmentPreset* const preset = preset_of(element))
      return read_preset(element, *preset, place);
    values_.list.push_back(read_operation(element));
    values_.list.back().group = place;
  }

 private:
  static std::optional<GroupKind> kind_of(const ConfigNode& element) {
    if (element.kind() != ConfigKind::map) return std::nullopt;
    for (const GroupKind kind : kGroupKinds)
      if (element.has(group_name(kind))) return kind;
    return std::nullopt;
  }
  static const AugmentPreset* preset_of(const ConfigNode& element) {
    if (element.kind() != ConfigKind::scalar) return nullptr;
    for (const AugmentPreset& preset : augment_presets())
      if (preset.name == element.scalar().value) return &preset;
    return nullptr;
  }

  void read_preset(const ConfigNode& element, const AugmentPreset& preset, GroupPlace place) {
    if (place.group >= 0)
      element.refuse(preset.name + " is in a group", "a preset is a whole list",
                     "write its operations; see wellspring describe augment." + preset.name);
    const ConfigDocument document =
        ConfigDocument::parse("augment:\n" + preset.list, "preset " + preset.name);
    for (const ConfigNode& own : document.root().list("augment")) read(own, {});
    document.finish();
  }
  void read_group(const ConfigNode& element, GroupKind kind, GroupPlace place) {
    const auto index = values_.groups.size();
    if (index == static_cast<std::size_t>(kMostGroups))
      element.refuse(fmt::format("more than {} groups", kMostGroups), "",
                     "use fewer groups in this list");
    GroupSetting group;
    group.kind = kind;
    group.group = place;
    group.place = element.location();
    element.read(group_table(kind), group);
    const std::vector<ConfigNode> members = element.list(group_list(kind));
    group.members = static_cast<int>(members.size());
    values_.groups.push_back(group);
    GroupPlace inside = {static_cast<std::int8_t>(index), 0};
    for (const ConfigNode& member : members) {
      read(member, inside);
      if (kind == GroupKind::one_of) ++inside.member;
    }
    element.finish();
    expect_members(element, group);
  }
  static void expect_members(const ConfigNode& element, const GroupSetting& group) {
    const char* const name = group_name(group.kind);
    if (group.members == 0)
      element.refuse(fmt::format("{} has no operations", name), "",
                     group.kind == GroupKind::apply
                         ? "write apply: 0.8 and of: [grey, hue: 0.1]"
                         : fmt::format("write {}: [grey, hue: 0.1]", name));
    if (group.members > kMostMembers)
      element.refuse(fmt::format("{} has {} members", name, group.members),
                     fmt::format("at most {} are possible", kMostMembers), "use fewer");
    if (group.weights.empty()) return;
    double sum = 0;
    for (const double weight : group.weights) sum += weight;
    if (static_cast<int>(group.weights.size()) != group.members || !(sum > 0))
      element.refuse(fmt::format("{} weights for {} members, with sum {}", group.weights.size(),
                                 group.members, shortest(sum)),
                     "every member needs a weight, and their sum must be positive",
                     "give one weight per member");
  }

  Augmentations& values_;
};

/// Writes elements of a list, in order.
class ListWriter {
 public:
  ListWriter(ConfigWriter& writer, const Augmentations& values)
      : writer_(writer), values_(values) {}

  /// Writes the elements directly in group `parent` (-1: the list).
  void write(int parent) {
    for (std::size_t element = 0; next_ < values_.list.size(); ++element) {
      const AugmentSetting& setting = values_.list[next_];
      const auto group = element_of(setting.group.group, parent);
      if (!group) return;
      writer_.element(element, [&] { *group == parent ? write_next() : write_group(*group); });
    }
  }

 private:
  /// The group directly in `parent` that contains `group`, or `parent` itself; empty if outside.
  std::optional<int> element_of(int group, int parent) const {
    int inner = parent;
    while (group != parent) {
      if (group < 0) return std::nullopt;
      inner = group;
      group = values_.groups[static_cast<std::size_t>(group)].group.group;
    }
    return inner;
  }
  void write_next() {
    std::visit(
        [&]<class P>(const P& own) {
          using Op = typename P::Operation;
          const typename P::Values& params = own;
          std::string_view unwritten;  // so that the identity of runs without it stays the same
          if constexpr (requires { params.fill == augment::MaskFill::mean; }) {
            if (params.fill == augment::MaskFill::mean) unwritten = "fill";
          }
          writer_.section(Op::kInfo.name,
                          [&] { writer_.table(params_table<Op>(), params, {unwritten}); });
        },
        values_.list[next_].params);
    ++next_;
  }
  void write_group(int index) {
    const GroupSetting& group = values_.groups[static_cast<std::size_t>(index)];
    if (group.kind == GroupKind::apply || !group.weights.empty())
      writer_.table(group_table(group.kind), group);
    writer_.section(group_list(group.kind), [&] { write(index); });
  }

  ConfigWriter& writer_;
  const Augmentations& values_;
  std::size_t next_ = 0;
};

}  // namespace

void detail::read_list(const ConfigNode& node, Augmentations& values) {
  values.list.clear();
  values.groups.clear();
  ListReader reader(values);
  for (const ConfigNode& element : node.list("augment")) reader.read(element, {});
}

void detail::write_list(ConfigWriter& writer, const Augmentations& values) {
  ListWriter(writer, values).write(-1);
}

}  // namespace wellspring
