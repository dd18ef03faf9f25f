// Parameter tables: every tunable of a generator, model, source or trainer is declared once, as a
// row; the configuration reader, the help text, the catalogue and the range checks come from it.
// Called by whoever declares or reads parameters; host only.
#pragma once

#include "core/error.h"

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace wellspring {

/// Where a value was written: "train.yaml:12:3", or "command line" for key=value overrides.
struct ConfigLocation {
  std::string file;  ///< file name, or "command line"; "" where there is none
  int line = 0;      ///< from 1; 0 where there is none
  int column = 0;    ///< from 1; 0 where there is none

  std::string to_string() const;  ///< "train.yaml:12:3", "command line", ""
  std::string prefix() const;     ///< the same before a message: "train.yaml:12:3: ", or ""
};

/// One parameter as somebody wrote it: {"sigma", "0.2", "train.yaml:12:3"}.
struct ParamSetting {
  std::string name, value;
  ConfigLocation place = {};
};

enum class ParamType { real, integer, flag, choice, text, real_list, integer_list, text_list };

constexpr bool is_list(ParamType type) {
  return type == ParamType::real_list || type == ParamType::integer_list ||
         type == ParamType::text_list;
}

/// What goes beside a numeric row: {0, 1}, {0} (open above) or {}. Both ends belong to the range.
struct Bounds {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

/// Settings under one name, applied in front of those that are written out.
struct ParamPreset {
  std::string name;
  std::string help;  ///< one line: what they are and where they come from
  std::vector<ParamSetting> settings;

  std::string to_string() const;  ///< "lines: 32, depth: 4"
};

/// The key that asks for a preset, where a table has any.
inline constexpr const char* kPresetKey = "preset";

/// One row, as read by help texts and the catalogue. A table with presets has one more row, for the
/// key `preset`, of type choice.
struct ParamRow {
  std::string name;
  ParamType type = ParamType::real;
  std::string unit;                  ///< "" where dimensionless
  std::string default_text;          ///< as it would be written in YAML
  double low = Bounds{}.low;         ///< inclusive, numbers only
  double high = Bounds{}.high;       ///< inclusive, numbers only
  std::vector<std::string> choices;  ///< for ParamType::choice
  std::string help;                  ///< one line
  std::string source;                ///< where the constant or formula comes from; "" for our own
  bool required = false;             ///< no default: must be given
  std::string effect;                ///< where it has one: "label: temperature"; "" everywhere
  bool may_change = false;           ///< samples and weights do not depend on it: a resumed run may
                                     ///< have another value
  std::vector<ParamPreset> presets;  ///< of the row for `preset`

  std::string type_text() const;   ///< "an integer", "true or false"
  std::string range_text() const;  ///< "[0, 1]", ">= 0", "one of a, b", ""
};

namespace detail {

/// What a row holds, apart from its struct. A choice is an index into ParamRow::choices; float is
/// apart from double so that its shortest text is its own.
using ParamValue = std::variant<double, float, std::int64_t, bool, std::string, std::vector<double>,
                                std::vector<std::int64_t>, std::vector<std::string>>;

/// A row and how to reach its member; the pointer is to the table's struct.
struct BoundRow {
  ParamRow row;
  std::function<void(void*, const ParamValue&)> put;
  std::function<ParamValue(const void*)> get;
  std::function<void(void*)> reset;               ///< to its default
  std::function<bool(const void*)> matters = {};  ///< whether it has an effect; empty: always
};

/// Text to value, with every check. Errors (config).
ParamValue parse_param(const ParamRow& row, const std::string& text, const ConfigLocation& place);
/// As it would be written in YAML; parse_param reads it back.
std::string param_text(const ParamRow& row, const ParamValue& value);
std::string params_yaml(std::span<const BoundRow> rows, const void* values, int indent);
/// The rows and presets of a table, without its struct.
struct BoundTable {
  std::string section;
  std::vector<BoundRow> rows;
  std::vector<ParamPreset> presets;

  /// Rows as ParamTable::rows().
  std::vector<ParamRow> described() const;
};
const BoundRow& find_row(const BoundTable& table, const std::string& name,
                         const ConfigLocation& place);
/// Names settings; std::logic_error for a name that is taken.
void add_preset(BoundTable& table, ParamPreset preset);
/// As ParamTable::expect_ordered, of one range.
void expect_ordered(const BoundTable& table, const void* values, const std::string& range);
/// Sets one parameter of `target`, or all of a preset.
void set_param(const BoundTable& table, void* target, const ParamSetting& setting);
/// From a handler, of what made something of `settings`: an error about several of them together
/// names no place of its own and gets theirs.
[[noreturn]] void rethrow_at(const ConfigLocation& place, std::span<const ParamSetting> settings,
                             const Error& error);
/// Sets what is listed, a preset first, and insists on required rows. What is listed twice is
/// refused, and what is listed and has no effect; what a preset has so is left at its
/// default.
void read_settings(const BoundTable& table, void* target, std::span<const ParamSetting> settings,
                   const ConfigLocation& place);

}  // namespace detail

/// The table of a plain struct. The struct's member initialisers are the defaults, so that a value
/// stands in one place only.
///
///     struct Params { float sigma = 0.25f; Law law = Law::uniform; };
///     static const auto table = ParamTable<Params>("noise")
///         .real("sigma", &Params::sigma, {0, 1}, "", "standard deviation of the Gaussian")
///         .choice("law", &Params::law, {{"uniform", Law::uniform}, {"gaussian", Law::gaussian}},
///                 "law of each value")
///         .preset("film", {{"law", "gaussian"}, {"sigma", "0.05"}}, "grain, as Smith 1999 has
///         it");
template <class Struct>
class ParamTable {
 public:
  explicit ParamTable(std::string section) { table_.section = std::move(section); }

  template <class Real>  // float or double
  ParamTable& real(std::string name, Real Struct::*member, Bounds bounds, std::string unit,
                   std::string help, std::string source = "");
  template <class Integer>  // values from -2^63 to 2^63 - 1, within the member's own range
  ParamTable& integer(std::string name, Integer Struct::*member, Bounds bounds, std::string unit,
                      std::string help, std::string source = "");
  ParamTable& flag(std::string name, bool Struct::*member, std::string help,
                   std::string source = "");
  ParamTable& text(std::string name, std::string Struct::*member, std::string help);
  ParamTable& real_list(std::string name, std::vector<double> Struct::*member, Bounds bounds,
                        std::string unit, std::string help, std::string source = "");
  template <class Integer>
  ParamTable& integer_list(std::string name, std::vector<Integer> Struct::*member, Bounds bounds,
                           std::string unit, std::string help, std::string source = "");
  ParamTable& text_list(std::string name, std::vector<std::string> Struct::*member,
                        std::string help);
  template <class Enum>
  ParamTable& choice(std::string name, Enum Struct::*member,
                     std::vector<std::pair<std::string, Enum>> choices, std::string help,
                     std::string source = "");
  /// Marks the last row as one that has no default and must be given.
  ParamTable& required();
  /// Says where the last row has an effect, and that in words, as somebody would set it: "label:
  /// temperature". A mode counts, not a number that happens to be 0: a scan may reach that.
  ParamTable& only_where(bool (*matters)(const Struct&), std::string effect);
  /// Marks the last row as one that neither samples nor weights depend on.
  ParamTable& may_change();
  /// Names settings, each as somebody would write it, of rows that stand above. `help` says where
  /// they come from.
  ParamTable& preset(std::string name, std::vector<std::pair<std::string, std::string>> settings,
                     std::string help);

  const std::string& section() const { return table_.section; }
  std::vector<ParamRow> rows() const { return table_.described(); }
  /// Sets one parameter. Errors (config): unknown name (with the nearest known one), wrong type,
  /// out of range; each with its place.
  void set(Struct& target, const std::string& name, const std::string& text,
           const ConfigLocation& place) const {
    detail::set_param(table_, &target, {name, text, place});
  }
  /// The struct with its defaults and these settings. Errors as `set`, and (config) where a
  /// required parameter is missing, where one is set twice, and where one that has no effect beside
  /// the others is not its default; `place` is where the settings as a whole were written.
  Struct read(std::span<const ParamSetting> settings, const ConfigLocation& place = {}) const {
    Struct values{};
    detail::read_settings(table_, &values, settings, place);
    return values;
  }
  /// The values as YAML lines "name: value", in table order.
  std::string to_yaml(const Struct& values, int indent = 0) const {
    return detail::params_yaml(table_.rows, &values, indent);
  }
  /// For ranges that two rows give, NAME_low and NAME_high: error (config) where the first is the
  /// larger one.
  void expect_ordered(const Struct& values, std::initializer_list<const char*> ranges) const {
    for (const char* const range : ranges) detail::expect_ordered(table_, &values, range);
  }
  const detail::BoundTable& bound() const { return table_; }

 private:
  /// Adds a row for `member`; Value is the type in ParamValue that stands for it.
  template <class Value, class Member>
  ParamTable& add(ParamRow row, Member Struct::*member);
  ParamTable& add_bound(detail::BoundRow bound);

  detail::BoundTable table_;
};

}  // namespace wellspring

#include "core/config/params_impl.h"
