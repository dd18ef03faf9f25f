// Parameter tables: every tunable of a generator, model, source or trainer is declared once, as a
// row; the configuration reader, help text, catalogue and range checks use it. Called by code that
// declares or reads parameters; host only.
#pragma once

#include "core/config/image_size.h"
#include "core/error.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace wellspring {

/// Origin of a value. Only the user's values start a compiler (generators/own).
enum class ConfigOrigin : std::uint8_t { user, checkpoint };

/// Location of a value: "train.yaml:12:3", or "command line" for key=value overrides.
struct ConfigLocation {
  std::string file;  ///< file name, or "command line"; "": unknown
  int line = 0;      ///< 1-based; 0: unknown
  int column = 0;    ///< 1-based; 0: unknown
  ConfigOrigin origin = ConfigOrigin::user;

  std::string to_string() const;  ///< "train.yaml:12:3", "command line", ""
  std::string prefix() const;     ///< the same before a message: "train.yaml:12:3: ", or ""
};

/// The canonical form of a path given at `place`. Relative paths in a YAML file start at the file's
/// folder; all others start at the working directory.
std::string absolute_path(const std::string& path, const ConfigLocation& place);

/// One parameter as written by the user: {"sigma", "0.2", "train.yaml:12:3"}.
struct ParamSetting {
  std::string name, value;
  ConfigLocation place = {};
};

enum class ParamType {
  real,
  integer,
  flag,
  choice,
  text,
  real_list,
  integer_list,
  text_list,
  size,  ///< image size: a number, or [height, width]
};

/// True if the text of a value may be a list.
constexpr bool is_list(ParamType type) {
  return type == ParamType::real_list || type == ParamType::integer_list ||
         type == ParamType::text_list || type == ParamType::size;
}

/// Range of a numeric row: {0, 1}, {0} (open above) or {}. Both ends are inclusive.
struct Bounds {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

/// Named settings, applied before explicit ones.
struct ParamPreset {
  std::string name;
  std::string help;  ///< one line: content and source
  std::vector<ParamSetting> settings;

  std::string to_string() const;  ///< "lines: 32, depth: 4"
};

/// The key that selects a preset.
inline constexpr const char* kPresetKey = "preset";

/// One row, as read by help texts and the catalogue. A table with presets has an additional row
/// `preset`, of type choice.
struct ParamRow {
  std::string name;
  ParamType type = ParamType::real;
  std::string unit;                  ///< "" where dimensionless
  std::string default_text;          ///< as it would be written in YAML
  double low = Bounds{}.low;         ///< inclusive, numbers only
  double high = Bounds{}.high;       ///< inclusive, numbers only
  std::vector<std::string> choices;  ///< for ParamType::choice
  std::string help;                  ///< one line
  std::string source;                ///< source of the constant or formula; "" for our own
  bool required = false;             ///< no default: must be given
  std::string effect;                ///< setting that it depends on: "label: temperature"; "": none
  bool may_change = false;           ///< samples and weights do not depend on it, so a resumed run
                                     ///< may change it
  bool paths = false;                ///< its values are paths
  std::vector<ParamPreset> presets;  ///< presets, in the row `preset`

  std::string type_text() const;   ///< "an integer", "true or false"
  std::string range_text() const;  ///< "[0, 1]", ">= 0", "one of a, b", ""
};

namespace detail {

/// Value of a row. A choice is an index into ParamRow::choices; a size is {height, width}. float
/// and double are separate types because their shortest texts differ.
using ParamValue = std::variant<double, float, std::int64_t, bool, std::string, std::vector<double>,
                                std::vector<std::int64_t>, std::vector<std::string>>;

/// Type of a struct's member. An enumeration counts as its underlying integer.
enum class MemberType : std::uint8_t {
  f32,
  f64,
  flag,
  i8,
  u8,
  i16,
  u16,
  i32,
  u32,
  i64,
  u64,
  text,
  reals,         ///< std::vector<double>
  texts,         ///< std::vector<std::string>
  integers_i32,  ///< std::vector<std::int32_t>
  integers_i64,  ///< std::vector<std::int64_t>
  size,          ///< ImageSize
};

template <class Member>
constexpr MemberType member_type() {
  if constexpr (std::is_same_v<Member, float>) {
    return MemberType::f32;
  } else if constexpr (std::is_same_v<Member, double>) {
    return MemberType::f64;
  } else if constexpr (std::is_same_v<Member, bool>) {
    return MemberType::flag;
  } else if constexpr (std::is_same_v<Member, std::string>) {
    return MemberType::text;
  } else if constexpr (std::is_same_v<Member, std::vector<double>>) {
    return MemberType::reals;
  } else if constexpr (std::is_same_v<Member, std::vector<std::string>>) {
    return MemberType::texts;
  } else if constexpr (std::is_same_v<Member, std::vector<std::int32_t>>) {
    return MemberType::integers_i32;
  } else if constexpr (std::is_same_v<Member, std::vector<std::int64_t>>) {
    return MemberType::integers_i64;
  } else if constexpr (std::is_same_v<Member, ImageSize>) {
    return MemberType::size;
  } else if constexpr (std::is_enum_v<Member>) {
    return member_type<std::underlying_type_t<Member>>();
  } else {
    static_assert(std::is_integral_v<Member>, "a parameter cannot have this type");
    constexpr bool kSigned = std::is_signed_v<Member>;
    if constexpr (sizeof(Member) == 1) return kSigned ? MemberType::i8 : MemberType::u8;
    if constexpr (sizeof(Member) == 2) return kSigned ? MemberType::i16 : MemberType::u16;
    if constexpr (sizeof(Member) == 4) return kSigned ? MemberType::i32 : MemberType::u32;
    return kSigned ? MemberType::i64 : MemberType::u64;
  }
}

/// Location of a member in its struct.
struct MemberPlace {
  std::size_t offset = 0;  ///< bytes
  MemberType type = MemberType::f64;
};
template <class Struct, class Member>
MemberPlace place_of(const Struct& values, const Member& member) {
  return {static_cast<std::size_t>(reinterpret_cast<const std::byte*>(&member) -
                                   reinterpret_cast<const std::byte*>(&values)),
          member_type<Member>()};
}

/// A type-erased condition on a struct.
struct Condition {
  void (*matters)() = nullptr;  ///< a bool (*)(const Struct&)
  bool (*call)(void (*matters)(), const void* values) = nullptr;

  explicit operator bool() const { return call != nullptr; }
  bool operator()(const void* values) const { return call(matters, values); }
};
template <class Struct>
Condition condition_of(bool (*matters)(const Struct&)) {
  return {reinterpret_cast<void (*)()>(matters), [](void (*erased)(), const void* values) {
            return reinterpret_cast<bool (*)(const Struct&)>(erased)(
                *static_cast<const Struct*>(values));
          }};
}

/// A row and its member. `values` points to the table's struct.
struct BoundRow {
  ParamRow row;
  MemberPlace member;
  std::vector<std::int64_t> enumerators;  ///< the enumerator of each choice
  ParamValue initial;                     ///< the default
  Condition matters;                      ///< true if the row has an effect; empty: always

  void put(void* values, const ParamValue& value) const;
  ParamValue get(const void* values) const;
};

/// The texts of a row.
struct RowText {
  std::string_view name, unit, help, source;
};

/// Converts text to a value, with every check. Throws config errors.
ParamValue parse_param(const ParamRow& row, const std::string& text, const ConfigLocation& place);
/// YAML text of a value; parse_param reads it back.
std::string param_text(const ParamRow& row, const ParamValue& value);
std::string params_yaml(std::span<const BoundRow> rows, const void* values, int indent);
/// Rows and presets of a table, with the type of its struct erased.
struct BoundTable {
  std::string section;
  std::vector<BoundRow> rows;
  std::vector<ParamPreset> presets;

  explicit BoundTable(std::string_view name);
  BoundTable(const BoundTable& other);
  BoundTable(BoundTable&& other) noexcept;
  BoundTable& operator=(const BoundTable& other);
  BoundTable& operator=(BoundTable&& other) noexcept;
  ~BoundTable();

  /// The rows that ParamTable::rows() returns.
  std::vector<ParamRow> described() const;
  /// Adds a row. `defaults`: a default struct. Throws std::logic_error for a duplicate name or an
  /// empty range.
  void add(ParamType type, const RowText& text, MemberPlace member, Bounds bounds,
           const void* defaults);
  void add_choice(const RowText& text, MemberPlace member,
                  std::span<const std::pair<std::string_view, std::int64_t>> choices,
                  const void* defaults);
  /// Implement ParamTable::required, only_where and may_change.
  void require();
  void restrict(Condition matters, std::string_view effect);
  void allow_change();
  /// `scratch`: a default struct, on which the settings are tested.
  void add_preset(std::string_view name,
                  std::span<const std::pair<std::string_view, std::string_view>> settings,
                  std::string_view help, void* scratch);
};
const BoundRow& find_row(const BoundTable& table, const std::string& name,
                         const ConfigLocation& place);
/// Implements ParamTable::expect_ordered for one range.
void expect_ordered(const BoundTable& table, const void* values, const std::string& range);
/// Sets one parameter of `target`, or all parameters of a preset.
void set_param(const BoundTable& table, void* target, const ParamSetting& setting);
/// Rethrows the current error, which is about `settings`; adds the location `place` if it has none.
[[noreturn]] void rethrow_at(const ConfigLocation& place, std::span<const ParamSetting> settings,
                             const Error& error);
/// Applies the settings, a preset first, and checks for required rows. Rejects duplicates and
/// settings without effect; such settings inside a preset are ignored.
void read_settings(const BoundTable& table, void* target, std::span<const ParamSetting> settings,
                   const ConfigLocation& place);

}  // namespace detail

/// The name of a choice and its enumerator.
template <class Enum>
struct ParamChoice {
  std::string_view name;
  Enum value;
};

/// The table of a plain struct. The member initialisers of the struct are the defaults.
///
///     struct Params { float sigma = 0.25f; Law law = Law::uniform; };
///     static const auto table = ParamTable<Params>("noise")
///         .real("sigma", &Params::sigma, {0, 1}, "", "standard deviation of the Gaussian")
///         .choice("law", &Params::law, {{"uniform", Law::uniform}, {"gaussian", Law::gaussian}},
///                 "law of each value")
///         .preset("film", {{"law", "gaussian"}, {"sigma", "0.05"}},
///                 "grain, as in Smith 1999");
template <class Struct>
class ParamTable {
 public:
  explicit ParamTable(std::string_view section) : table_(section) {}

  // `Base` is the struct, or a base class of it that has the member.
  template <class Real, class Base>  // float or double
  ParamTable& real(std::string_view name, Real Base::*member, Bounds bounds, std::string_view unit,
                   std::string_view help, std::string_view source = "") {
    static_assert(std::is_floating_point_v<Real>);
    return add(ParamType::real, {name, unit, help, source}, member, bounds);
  }
  template <class Integer, class Base>  // from -2^63 to 2^63 - 1, within the member's own range
  ParamTable& integer(std::string_view name, Integer Base::*member, Bounds bounds,
                      std::string_view unit, std::string_view help, std::string_view source = "") {
    static_assert(std::is_integral_v<Integer> && !std::is_same_v<Integer, bool>);
    return add(ParamType::integer, {name, unit, help, source}, member, bounds);
  }
  template <class Base>
  ParamTable& flag(std::string_view name, bool Base::*member, std::string_view help,
                   std::string_view source = "") {
    return add(ParamType::flag, {name, "", help, source}, member);
  }
  template <class Base>
  ParamTable& text(std::string_view name, std::string Base::*member, std::string_view help) {
    return add(ParamType::text, {name, "", help, ""}, member);
  }
  template <class Base>
  ParamTable& real_list(std::string_view name, std::vector<double> Base::*member, Bounds bounds,
                        std::string_view unit, std::string_view help,
                        std::string_view source = "") {
    return add(ParamType::real_list, {name, unit, help, source}, member, bounds);
  }
  template <class Integer, class Base>
  ParamTable& integer_list(std::string_view name, std::vector<Integer> Base::*member, Bounds bounds,
                           std::string_view unit, std::string_view help,
                           std::string_view source = "") {
    return add(ParamType::integer_list, {name, unit, help, source}, member, bounds);
  }
  template <class Base>
  ParamTable& text_list(std::string_view name, std::vector<std::string> Base::*member,
                        std::string_view help) {
    return add(ParamType::text_list, {name, "", help, ""}, member);
  }
  /// `bounds` apply to height and width.
  template <class Base>
  ParamTable& size(std::string_view name, ImageSize Base::*member, Bounds bounds,
                   std::string_view help) {
    return add(ParamType::size, {name, "pixels", help, ""}, member, bounds);
  }
  template <class Enum, class Base>
  ParamTable& choice(std::string_view name, Enum Base::*member,
                     std::initializer_list<ParamChoice<std::type_identity_t<Enum>>> choices,
                     std::string_view help, std::string_view source = "") {
    return add_choice({name, "", help, source}, member, choices);
  }
  template <class Enum, class Base>
  ParamTable& choice(std::string_view name, Enum Base::*member,
                     const std::vector<std::pair<std::string, Enum>>& choices,
                     std::string_view help, std::string_view source = "") {
    return add_choice({name, "", help, source}, member, choices);
  }
  /// The last row has no default, so it must be given.
  ParamTable& required() {
    table_.require();
    return *this;
  }
  /// The last row has an effect only if `matters` returns true; `effect` states that as a setting:
  /// "label: temperature". Use modes as conditions, not numbers that a scan may set to 0.
  ParamTable& only_where(bool (*matters)(const Struct&), std::string_view effect) {
    table_.restrict(detail::condition_of(matters), effect);
    return *this;
  }
  /// Neither samples nor weights depend on the last row.
  ParamTable& may_change() {
    table_.allow_change();
    return *this;
  }
  /// The texts of the last row are paths: they are resolved with absolute_path.
  ParamTable& paths() {
    table_.rows.back().row.paths = true;
    return *this;
  }
  /// Named settings of the rows above, as a user would write them. `help` gives their source.
  ParamTable& preset(std::string_view name,
                     std::initializer_list<std::pair<std::string_view, std::string_view>> settings,
                     std::string_view help) {
    Struct scratch{};
    table_.add_preset(name, {settings.begin(), settings.size()}, help, &scratch);
    return *this;
  }
  ParamTable& preset(std::string_view name,
                     const std::vector<std::pair<std::string, std::string>>& settings,
                     std::string_view help) {
    Struct scratch{};
    table_.add_preset(name,
                      std::vector<std::pair<std::string_view, std::string_view>>(settings.begin(),
                                                                                 settings.end()),
                      help, &scratch);
    return *this;
  }

  const std::string& section() const { return table_.section; }
  std::vector<ParamRow> rows() const { return table_.described(); }
  /// Sets one parameter. Throws a config error with the location for an unknown name (with the
  /// nearest known one), a wrong type or a value out of range.
  void set(Struct& target, const std::string& name, const std::string& text,
           const ConfigLocation& place) const {
    detail::set_param(table_, &target, {name, text, place});
  }
  /// The default struct with these settings. Throws the errors of `set`, and config errors for a
  /// missing required parameter, a duplicate, or a non-default value that has no effect. `place`:
  /// location of the settings as a whole.
  Struct read(std::span<const ParamSetting> settings, const ConfigLocation& place = {}) const {
    Struct values{};
    detail::read_settings(table_, &values, settings, place);
    return values;
  }
  /// The values as YAML lines "name: value", in table order.
  std::string to_yaml(const Struct& values, int indent = 0) const {
    return detail::params_yaml(table_.rows, &values, indent);
  }
  /// For ranges of two rows, NAME_low and NAME_high: throws a config error if low exceeds high.
  void expect_ordered(const Struct& values, std::initializer_list<const char*> ranges) const {
    for (const char* const range : ranges) detail::expect_ordered(table_, &values, range);
  }
  const detail::BoundTable& bound() const { return table_; }

 private:
  template <class Member, class Base>
  ParamTable& add(ParamType type, const detail::RowText& text, Member Base::*member,
                  Bounds bounds = {}) {
    const Struct defaults{};
    table_.add(type, text, detail::place_of(defaults, defaults.*member), bounds, &defaults);
    return *this;
  }
  template <class Enum, class Base, class Choices>
  ParamTable& add_choice(const detail::RowText& text, Enum Base::*member, const Choices& choices) {
    static_assert(std::is_enum_v<Enum>);
    std::vector<std::pair<std::string_view, std::int64_t>> values;
    for (const auto& [label, value] : choices)
      values.emplace_back(label, static_cast<std::int64_t>(value));
    const Struct defaults{};
    table_.add_choice(text, detail::place_of(defaults, defaults.*member), values, &defaults);
    return *this;
  }

  detail::BoundTable table_;
};

}  // namespace wellspring
