#include "core/config/params.h"

#include "core/config/duplicates.h"
#include "core/config/ranges.h"
#include "core/error.h"
#include "core/text/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <type_traits>

namespace wellspring {

std::string ConfigLocation::to_string() const {
  return line > 0 ? fmt::format("{}:{}:{}", file, line, column) : file;
}

std::string ConfigLocation::prefix() const {
  return file.empty() ? "" : to_string() + ": ";
}

std::string absolute_path(const std::string& path, const ConfigLocation& place) {
  std::filesystem::path full = path;
  const std::filesystem::path file = place.file;
  if (full.is_relative() && (file.extension() == ".yaml" || file.extension() == ".yml"))
    full = file.parent_path() / full;
  std::error_code failed;
  const auto canonical = std::filesystem::weakly_canonical(std::filesystem::absolute(full), failed);
  return (failed ? full : canonical).string();
}

std::string ParamRow::type_text() const {
  switch (type) {
    case ParamType::real:
      return "a number";
    case ParamType::integer:
      return "an integer";
    case ParamType::flag:
      return "true or false";
    case ParamType::choice:
      return "one of " + join(choices);
    case ParamType::text:
      return "a string";
    case ParamType::real_list:
      return "a list of numbers";
    case ParamType::integer_list:
      return "a list of integers";
    case ParamType::text_list:
      return "a list of strings";
    case ParamType::size:
      return "an integer, or [height, width]";
  }
  return "";
}

namespace detail {
namespace {

/// Calls visit(member) with the member of `values` at `place`, with the member's own type.
template <class Bytes, class Visit>
auto visit_member(Bytes* values, MemberPlace place, const Visit& visit) {
  const auto as = [&]<class Member>(Member*) -> decltype(auto) {
    using MemberPointer = std::conditional_t<std::is_const_v<Bytes>, const Member*, Member*>;
    return visit(*reinterpret_cast<MemberPointer>(values + place.offset));
  };
  switch (place.type) {
    case MemberType::f32:
      return as(static_cast<float*>(nullptr));
    case MemberType::f64:
      return as(static_cast<double*>(nullptr));
    case MemberType::flag:
      return as(static_cast<bool*>(nullptr));
    case MemberType::i8:
      return as(static_cast<std::int8_t*>(nullptr));
    case MemberType::u8:
      return as(static_cast<std::uint8_t*>(nullptr));
    case MemberType::i16:
      return as(static_cast<std::int16_t*>(nullptr));
    case MemberType::u16:
      return as(static_cast<std::uint16_t*>(nullptr));
    case MemberType::i32:
      return as(static_cast<std::int32_t*>(nullptr));
    case MemberType::u32:
      return as(static_cast<std::uint32_t*>(nullptr));
    case MemberType::i64:
      return as(static_cast<std::int64_t*>(nullptr));
    case MemberType::u64:
      return as(static_cast<std::uint64_t*>(nullptr));
    case MemberType::text:
      return as(static_cast<std::string*>(nullptr));
    case MemberType::reals:
      return as(static_cast<std::vector<double>*>(nullptr));
    case MemberType::texts:
      return as(static_cast<std::vector<std::string>*>(nullptr));
    case MemberType::integers_i32:
      return as(static_cast<std::vector<std::int32_t>*>(nullptr));
    case MemberType::integers_i64:
      return as(static_cast<std::vector<std::int64_t>*>(nullptr));
    case MemberType::size:
      return as(static_cast<ImageSize*>(nullptr));
  }
  throw std::logic_error("a member has no type");
}

/// The type in ParamValue that holds a member.
template <class Member>
struct ValueOf {
  using type = Member;  // the same type
};
template <std::integral Integer>
struct ValueOf<Integer> {
  using type = std::int64_t;
};
template <>
struct ValueOf<bool> {
  using type = bool;
};
template <>
struct ValueOf<std::vector<std::int32_t>> {
  using type = std::vector<std::int64_t>;
};
template <>
struct ValueOf<ImageSize> {
  using type = std::vector<std::int64_t>;
};

ParamRow make_row(ParamType type, const RowText& text, Bounds bounds) {
  ParamRow row;
  row.name = text.name;
  row.type = type;
  row.unit = text.unit;
  row.low = bounds.low;
  row.high = bounds.high;
  row.help = text.help;
  row.source = text.source;
  return row;
}

void add_row(BoundTable& table, BoundRow bound, const void* defaults) {
  for (const BoundRow& other : table.rows) {
    if (other.row.name == bound.row.name) {
      throw std::logic_error("parameter '" + bound.row.name + "' is declared twice in " +
                             table.section);
    }
  }
  if (!(bound.row.low < bound.row.high)) {  // an end written as {}, as in {0, {}}, is 0, not open
    throw std::logic_error("parameter '" + bound.row.name + "' has an empty range in " +
                           table.section);
  }
  bound.initial = bound.get(defaults);
  bound.row.default_text = param_text(bound.row, bound.initial);
  table.rows.push_back(std::move(bound));
}

}  // namespace

void BoundRow::put(void* values, const ParamValue& value) const {
  const auto* const index = enumerators.empty() ? nullptr : std::get_if<std::int64_t>(&value);
  visit_member(static_cast<std::byte*>(values), member, [&]<class Member>(Member& held) {
    using Value = typename ValueOf<Member>::type;
    if constexpr (std::is_same_v<Member, float>) {
      const auto* const given = std::get_if<double>(&value);
      held = given != nullptr ? static_cast<float>(*given) : std::get<float>(value);
    } else if constexpr (std::is_integral_v<Member>) {
      held = static_cast<Member>(index != nullptr ? enumerators[static_cast<std::size_t>(*index)]
                                                  : std::get<Value>(value));
    } else if constexpr (std::is_same_v<Member, std::vector<std::int32_t>>) {
      held.clear();
      for (const std::int64_t element : std::get<Value>(value)) {
        held.push_back(static_cast<std::int32_t>(element));
      }
    } else if constexpr (std::is_same_v<Member, ImageSize>) {
      const auto& extents = std::get<Value>(value);
      held = {static_cast<int>(extents[0]), static_cast<int>(extents[1])};
    } else {
      held = std::get<Value>(value);
    }
  });
}

ParamValue BoundRow::get(const void* values) const {
  return visit_member(static_cast<const std::byte*>(values), member,
                      [&]<class Member>(const Member& held) -> ParamValue {
                        using Value = typename ValueOf<Member>::type;
                        if constexpr (std::is_integral_v<Member>) {
                          if (row.type != ParamType::choice) return static_cast<Value>(held);
                          const auto found = std::find(enumerators.begin(), enumerators.end(),
                                                       static_cast<std::int64_t>(held));
                          if (found == enumerators.end())
                            throw std::logic_error("an enumerator has no name");
                          return static_cast<std::int64_t>(found - enumerators.begin());
                        } else if constexpr (std::is_same_v<Member, std::vector<std::int32_t>>) {
                          return Value(held.begin(), held.end());
                        } else if constexpr (std::is_same_v<Member, ImageSize>) {
                          return Value{held.height, held.width};
                        } else {
                          return held;
                        }
                      });
}

BoundTable::BoundTable(std::string_view name) : section(name) {}
BoundTable::BoundTable(const BoundTable& other) = default;
BoundTable::BoundTable(BoundTable&& other) noexcept = default;
BoundTable& BoundTable::operator=(const BoundTable& other) = default;
BoundTable& BoundTable::operator=(BoundTable&& other) noexcept = default;
BoundTable::~BoundTable() = default;

void BoundTable::add(ParamType type, const RowText& text, MemberPlace member, Bounds bounds,
                     const void* defaults) {
  add_row(*this,
          {.row = make_row(type, text, within_type(bounds, member.type)),
           .member = member,
           .enumerators = {},
           .initial = {},
           .matters = {}},
          defaults);
}

void BoundTable::add_choice(const RowText& text, MemberPlace member,
                            std::span<const std::pair<std::string_view, std::int64_t>> choices,
                            const void* defaults) {
  BoundRow bound{.row = make_row(ParamType::choice, text, {}),
                 .member = member,
                 .enumerators = {},
                 .initial = {},
                 .matters = {}};
  for (const auto& [name, value] : choices) {
    bound.row.choices.emplace_back(name);
    bound.enumerators.push_back(value);
  }
  add_row(*this, std::move(bound), defaults);
}

void BoundTable::require() {
  rows.back().row.required = true;
  rows.back().row.default_text.clear();
}

void BoundTable::restrict(Condition matters, std::string_view effect) {
  rows.back().row.effect = effect;
  rows.back().matters = matters;
}

void BoundTable::allow_change() {
  rows.back().row.may_change = true;
}

std::vector<ParamRow> BoundTable::described() const {
  std::vector<ParamRow> described;
  if (!presets.empty()) {
    ParamRow row = make_row(ParamType::choice,
                            {kPresetKey, "", "named settings, applied before the others", ""}, {});
    row.presets = presets;
    for (const ParamPreset& preset : presets) row.choices.push_back(preset.name);
    row.default_text = "none";
    described.push_back(std::move(row));
  }
  for (const BoundRow& bound : rows) described.push_back(bound.row);
  return described;
}

const BoundRow& find_row(const BoundTable& table, const std::string& name,
                         const ConfigLocation& place) {
  std::vector<std::string> known;
  for (const BoundRow& bound : table.rows) {
    if (bound.row.name == name) return bound;
    known.push_back(bound.row.name);
  }
  if (!table.presets.empty()) known.emplace_back(kPresetKey);
  fail(ErrorKind::config,
       {fmt::format("{}unknown key '{}' in {}", place.prefix(), name, table.section), "",
        name_advice(name, known)});
}

void BoundTable::add_preset(std::string_view name,
                            std::span<const std::pair<std::string_view, std::string_view>> settings,
                            std::string_view help, void* scratch) {
  ParamPreset preset{std::string(name), std::string(help), {}};
  for (const auto& [row, value] : settings) {
    preset.settings.push_back({std::string(row), std::string(value), {}});
  }
  for (const ParamPreset& other : presets) {
    if (other.name == preset.name) {
      throw std::logic_error("preset '" + preset.name + "' is declared twice in " + section);
    }
  }
  for (const BoundRow& bound : rows) {
    if (bound.row.name == kPresetKey) {
      throw std::logic_error("a row is called 'preset' in " + section);
    }
  }
  presets.push_back(std::move(preset));
  // Test every setting.
  set_param(*this, scratch, {kPresetKey, presets.back().name, {}});
}

void expect_ordered(const BoundTable& table, const void* values, const std::string& range) {
  const BoundRow& low = find_row(table, range + "_low", {});
  const BoundRow& high = find_row(table, range + "_high", {});
  const ParamValue least = low.get(values), most = high.get(values);
  if (least <= most) return;
  const std::string least_text = param_text(low.row, least);
  const std::string most_text = param_text(high.row, most);
  fail(ErrorKind::config, {fmt::format("{}: {} = {} is larger than {} = {}", table.section,
                                       low.row.name, least_text, high.row.name, most_text),
                           "values are drawn between the two",
                           fmt::format("give {}: {} or less, or {}: {} or more", low.row.name,
                                       most_text, high.row.name, least_text)});
}

namespace {

bool asks_for_preset(const BoundTable& table, const ParamSetting& setting) {
  return !table.presets.empty() && setting.name == kPresetKey;
}

void apply_preset(const BoundTable& table, void* target, const ParamSetting& asked) {
  std::vector<std::string> known;
  for (const ParamPreset& preset : table.presets) {
    known.push_back(preset.name);
    if (preset.name != trim(asked.value)) continue;
    for (const ParamSetting& setting : preset.settings) {
      set_param(table, target, {setting.name, setting.value, asked.place});
    }
    return;
  }
  fail(ErrorKind::config, {fmt::format("{}unknown preset '{}' in {}", asked.place.prefix(),
                                       asked.value, table.section),
                           "", name_advice(asked.value, known)});
}

}  // namespace

void set_param(const BoundTable& table, void* target, const ParamSetting& setting) {
  if (asks_for_preset(table, setting)) return apply_preset(table, target, setting);
  const BoundRow& bound = find_row(table, setting.name, setting.place);
  bound.put(target, parse_param(bound.row, setting.value, setting.place));
}

void rethrow_at(const ConfigLocation& place, std::span<const ParamSetting> settings,
                const Error& error) {
  const std::string_view message = error.what();
  const auto begins_with = [&](const ConfigLocation& known) {
    return !known.file.empty() && message.starts_with(known.prefix());
  };
  const bool placed = begins_with(place) ||
                      std::any_of(settings.begin(), settings.end(),
                                  [&](const auto& setting) { return begins_with(setting.place); });
  if (error.kind() != ErrorKind::config || placed || place.file.empty()) throw;
  fail(ErrorKind::config, {place.prefix() + error.what()});
}

namespace {

/// `given`: the explicit setting of each row, or null.
void expect_effect(const BoundTable& table, void* target,
                   std::span<const ParamSetting* const> given) {
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const BoundRow& bound = table.rows[i];
    const ParamRow& row = bound.row;
    if (!bound.matters || bound.matters(target)) continue;
    if (param_text(row, bound.get(target)) == row.default_text) continue;
    if (given[i] != nullptr)
      fail(ErrorKind::config,
           {fmt::format("{}{} = {} has no effect in {}", given[i]->place.prefix(), row.name,
                        trim(given[i]->value), table.section),
            fmt::format("it applies only with {}", row.effect),
            fmt::format("remove {}, or use {}", row.name, row.effect)});
    bound.put(target, bound.initial);
  }
}

/// `before`: an earlier setting of this name, or null.
void expect_first(const ParamSetting* before, const ParamSetting& setting) {
  if (before != nullptr)
    fail_given_twice(setting.place, setting.name, before->value, setting.value);
}

}  // namespace

void read_settings(const BoundTable& table, void* target, std::span<const ParamSetting> settings,
                   const ConfigLocation& place) {
  const ParamSetting* preset = nullptr;
  for (const ParamSetting& setting : settings) {
    if (!asks_for_preset(table, setting)) continue;
    expect_first(preset, setting);
    apply_preset(table, target, setting);
    preset = &setting;
  }
  const std::vector<BoundRow>& rows = table.rows;
  std::vector<const ParamSetting*> given(rows.size(), nullptr);
  for (const ParamSetting& setting : settings) {
    if (asks_for_preset(table, setting)) continue;
    const BoundRow& bound = find_row(table, setting.name, setting.place);
    const ParamSetting*& own = given[static_cast<std::size_t>(&bound - rows.data())];
    expect_first(own, setting);
    bound.put(target, parse_param(bound.row, setting.value, setting.place));
    own = &setting;
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].row.required || given[i] != nullptr) continue;
    fail(ErrorKind::config,
         {fmt::format("{}'{}' is missing in {}", place.prefix(), rows[i].row.name, table.section),
          rows[i].row.help});
  }
  expect_effect(table, target, given);
}

}  // namespace detail

std::string ImageSize::to_string() const {
  return height == width ? std::to_string(height) : fmt::format("[{}, {}]", height, width);
}

std::string ParamPreset::to_string() const {
  std::vector<std::string> parts;
  for (const ParamSetting& setting : settings) parts.push_back(setting.name + ": " + setting.value);
  return join(parts);
}

}  // namespace wellspring
