// Longer than 500 lines: reading, writing and checking a parameter share the rules of its number text.
#include "core/config/params.h"

#include "core/config/duplicates.h"
#include "core/error.h"
#include "core/text/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <optional>
#include <stdexcept>
#include <type_traits>

namespace wellspring {

std::string ConfigLocation::to_string() const {
  return line > 0 ? fmt::format("{}:{}:{}", file, line, column) : file;
}

std::string ConfigLocation::prefix() const {
  return file.empty() ? "" : to_string() + ": ";
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
      return "a text";
    case ParamType::real_list:
      return "a list of numbers";
    case ParamType::integer_list:
      return "a list of integers";
    case ParamType::text_list:
      return "a list of texts";
  }
  return "";
}

namespace detail {
namespace {

/// The largest double below which every integer is one: 2^53.
constexpr double kExactIntegers = 9007199254740992.0;

bool counts_in_integers(const ParamRow& row) {
  return row.type == ParamType::integer || row.type == ParamType::integer_list;
}

/// True for an end of a range that is only the limit of the type.
bool is_open(const ParamRow& row, double end) {
  const double limit = counts_in_integers(row)
                           ? kExactIntegers
                           : static_cast<double>(std::numeric_limits<float>::max());
  return std::abs(end) >= limit;
}

std::string number_text(const ParamRow& row, double value) {
  if (!counts_in_integers(row)) return shortest(value);
  // 2^63 stands for the largest int64, which no double equals.
  if (value >= 0x1p63) return std::to_string(std::numeric_limits<std::int64_t>::max());
  return fmt::format("{:.0f}", value);
}

[[noreturn]] void fail_type(const ParamRow& row, const std::string& text,
                            const ConfigLocation& place) {
  const std::string got = trim(text).empty() ? "nothing" : "'" + text + "'";
  ErrorText message{
      fmt::format("{}'{}' must be {}, got {}", place.prefix(), row.name, row.type_text(), got),
      row.help};
  if (row.type == ParamType::choice) message.advice = name_advice(text, row.choices);
  fail(ErrorKind::config, message);
}

/// Rejects a value beyond `end` of its range. Prints the limit of a type only if it is the reason.
[[noreturn]] void fail_range(const ParamRow& row, double end, const std::string& text,
                             const ConfigLocation& place) {
  std::string range = row.range_text();
  if (is_open(row, end)) {
    range = fmt::format("[{}, {}]", number_text(row, row.low), number_text(row, row.high));
  }
  if (!row.unit.empty()) range += " " + row.unit;
  fail(ErrorKind::config,
       {fmt::format("{}{} = {} is out of range {}", place.prefix(), row.name, trim(text), range),
        row.help});
}

template <class Number>
void check_range(const ParamRow& row, Number value, const std::string& text,
                 const ConfigLocation& place) {
  if (value < row.low) fail_range(row, row.low, text, place);
  if (value > row.high) fail_range(row, row.high, text, place);
}

/// Without the underscores between digits (1_000_000) and a leading plus; nothing if there is
/// an underscore elsewhere, or a leading zero, which other readers take for octal (010).
std::optional<std::string> plain_number(std::string_view text) {
  text = trim(text);
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  const auto is_digit = [&](std::size_t i) {
    return i < text.size() && text[i] >= '0' && text[i] <= '9';
  };
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      plain += text[i];
    } else if (i == 0 || !is_digit(i - 1) || !is_digit(i + 1)) {
      return std::nullopt;
    }
  }
  const std::size_t first = plain.starts_with('-') ? 1 : 0;
  if (plain.size() > first + 1 && plain[first] == '0' && plain[first + 1] >= '0' &&
      plain[first + 1] <= '9')
    return std::nullopt;
  return plain;
}

template <class Number>
std::optional<Number> parse_whole(const std::string& text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

double parse_real(const ParamRow& row, const std::string& text, const ConfigLocation& place) {
  const auto plain = plain_number(text);
  const auto value = plain ? parse_whole<double>(*plain) : std::nullopt;
  if (!value) fail_type(row, text, place);
  if (!std::isfinite(*value)) {
    fail(ErrorKind::config,
         {fmt::format("{}'{}' must be a finite number, got '{}'", place.prefix(), row.name, text),
          row.help});
  }
  check_range(row, *value, text, place);
  return *value;
}

std::int64_t parse_integer(const ParamRow& row, const std::string& text,
                           const ConfigLocation& place) {
  const auto plain = plain_number(text);
  auto value = plain ? parse_whole<std::int64_t>(*plain) : std::nullopt;
  if (plain && !value) {  // 1e6, 2.5e3: only where the double is certain to be what was written
    const auto real = parse_whole<double>(*plain);
    if (!real || !std::isfinite(*real) || *real != std::floor(*real)) fail_type(row, text, place);
    if (plain->find_first_of(".eE") == std::string::npos) {  // digits alone: beyond int64
      fail_range(row, *real < 0 ? row.low : row.high, text, place);
    }
    check_range(row, *real, text, place);
    if (std::abs(*real) >= kExactIntegers) {
      fail(ErrorKind::config,
           {fmt::format("{}{} = {} may not be exact", place.prefix(), row.name, text),
            "floating-point notation is exact below 2^53 only", "write all its digits"});
    }
    value = static_cast<std::int64_t>(*real);
  }
  if (!value) fail_type(row, text, place);
  // long double holds every int64, so that the comparison is exact.
  check_range(row, static_cast<long double>(*value), text, place);
  return *value;
}

bool parse_flag(const ParamRow& row, const std::string& text, const ConfigLocation& place) {
  std::string word(trim(text));
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (word == "true" || word == "yes" || word == "on") return true;
  if (word == "false" || word == "no" || word == "off") return false;
  fail_type(row, text, place);
}

std::int64_t parse_choice(const ParamRow& row, const std::string& text,
                          const ConfigLocation& place) {
  const auto found = std::find(row.choices.begin(), row.choices.end(), trim(text));
  if (found == row.choices.end()) fail_type(row, text, place);
  return found - row.choices.begin();
}

/// "1, 2", "[1, 2]" or "[a, \"b, c\"]".
template <class Element, class Parse>
std::vector<Element> parse_list(const ParamRow& row, const std::string& text,
                                const ConfigLocation& place, const Parse& parse) {
  const auto parts = split_yaml_list(text);
  if (!parts) fail_type(row, text, place);
  std::vector<Element> values;
  for (const std::string& part : *parts) values.push_back(parse(row, part, place));
  return values;
}

struct TextWriter {
  const ParamRow& row;
  std::string operator()(double value) const { return shortest(value); }
  std::string operator()(float value) const { return shortest(value); }
  std::string operator()(std::int64_t value) const {
    return row.type == ParamType::choice ? yaml_scalar(row.choices[static_cast<std::size_t>(value)])
                                         : std::to_string(value);
  }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(const std::string& value) const { return yaml_scalar(value); }
  std::string operator()(const std::vector<double>& values) const {
    return fmt::format("[{}]", fmt::join(values, ", "));
  }
  std::string operator()(const std::vector<std::int64_t>& values) const {
    return fmt::format("[{}]", fmt::join(values, ", "));
  }
  std::string operator()(const std::vector<std::string>& values) const { return yaml_list(values); }
};

}  // namespace

ParamValue parse_param(const ParamRow& row, const std::string& text, const ConfigLocation& place) {
  switch (row.type) {
    case ParamType::real:
      return parse_real(row, text, place);
    case ParamType::integer:
      return parse_integer(row, text, place);
    case ParamType::flag:
      return parse_flag(row, text, place);
    case ParamType::choice:
      return parse_choice(row, text, place);
    case ParamType::text:
      return text;
    case ParamType::real_list:
      return parse_list<double>(row, text, place, parse_real);
    case ParamType::integer_list:
      return parse_list<std::int64_t>(row, text, place, parse_integer);
    case ParamType::text_list:
      return parse_list<std::string>(
          row, text, place, [](const ParamRow&, const std::string& element, const ConfigLocation&) {
            return element;
          });
  }
  fail_type(row, text, place);
}

std::string param_text(const ParamRow& row, const ParamValue& value) {
  return std::visit(TextWriter{row}, value);
}

std::string params_yaml(std::span<const BoundRow> rows, const void* values, int indent) {
  std::string out;
  for (const BoundRow& bound : rows) {
    out += fmt::format("{:{}}{}: {}\n", "", indent, bound.row.name,
                       param_text(bound.row, bound.get(values)));
  }
  return out;
}

namespace {

/// Calls visit(member) with the member of `values` at `place`, as its own type.
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
  }
  throw std::logic_error("a member has no type");
}

/// The type in ParamValue that holds a member.
template <class Member>
struct ValueOf {
  using type = Member;  // as it is
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

/// The bounds, narrowed to what a member of this type can hold and text is parsed to: int64 or
/// double.
Bounds within_type(Bounds bounds, MemberType type) {
  const auto within = [&]<class Number>(Number) -> Bounds {
    using Limits = std::numeric_limits<Number>;
    const double high =
        std::is_integral_v<Number>
            ? std::min(static_cast<double>(Limits::max()),
                       static_cast<double>(std::numeric_limits<std::int64_t>::max()))
            : static_cast<double>(Limits::max());
    return {std::max(bounds.low, static_cast<double>(Limits::lowest())),
            std::min(bounds.high, high)};
  };
  switch (type) {
    case MemberType::f32:
      return within(float{});
    case MemberType::f64:
    case MemberType::reals:
      return within(double{});
    case MemberType::i8:
      return within(std::int8_t{});
    case MemberType::u8:
      return within(std::uint8_t{});
    case MemberType::i16:
      return within(std::int16_t{});
    case MemberType::u16:
      return within(std::uint16_t{});
    case MemberType::i32:
    case MemberType::integers_i32:
      return within(std::int32_t{});
    case MemberType::u32:
      return within(std::uint32_t{});
    case MemberType::i64:
    case MemberType::integers_i64:
      return within(std::int64_t{});
    case MemberType::u64:
      return within(std::uint64_t{});
    case MemberType::flag:
    case MemberType::text:
    case MemberType::texts:
      break;
  }
  return bounds;
}

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
  if (!(bound.row.low < bound.row.high)) {  // {0, {}} for {0}: the end would be 0, not open
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
            fmt::format("it belongs to {}", row.effect),
            fmt::format("leave {} out, or ask for {}", row.name, row.effect)});
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

std::string ParamPreset::to_string() const {
  std::vector<std::string> parts;
  for (const ParamSetting& setting : settings) parts.push_back(setting.name + ": " + setting.value);
  return join(parts);
}

std::string ParamRow::range_text() const {
  if (type == ParamType::choice) return "one of " + join(choices);
  if (type == ParamType::flag || type == ParamType::text || type == ParamType::text_list) return "";
  const bool open_low = detail::is_open(*this, low);
  const bool open_high = detail::is_open(*this, high);
  const std::string low_text = detail::number_text(*this, low);
  const std::string high_text = detail::number_text(*this, high);
  if (open_low && open_high) return "";
  if (open_low) return "<= " + high_text;
  if (open_high) return ">= " + low_text;
  return fmt::format("[{}, {}]", low_text, high_text);
}

}  // namespace wellspring
