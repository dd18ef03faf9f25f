// Parameter tables: every tunable of a generator, model, source or trainer is declared once, as a
// row; the configuration reader, the help text, the catalogue and the range checks come from it.
// Called by whoever declares or reads parameters; host only.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace wellspring {

/// Where a value was written: "train.yaml:12:3", or "command line" for key=value overrides.
struct Place {
  std::string file;  ///< file name, or "command line"
  int line = 0;      ///< from 1; 0 where there is none
  int column = 0;    ///< from 1; 0 where there is none
  std::string to_string() const;
};

enum class ParamType { real, integer, flag, choice, text, real_list };

/// One row, as read by help texts and the catalogue.
struct ParamRow {
  std::string name;
  ParamType type = ParamType::real;
  std::string unit;                  ///< "" where dimensionless
  std::string default_text;          ///< as it would be written in YAML
  double low = -std::numeric_limits<double>::infinity();   ///< inclusive, numbers only
  double high = std::numeric_limits<double>::infinity();   ///< inclusive, numbers only
  std::vector<std::string> choices;  ///< for ParamType::choice
  std::string help;                  ///< one line
  std::string source;                ///< where the constant or formula comes from; "" for our own
  bool required = false;             ///< no default: must be given

  std::string range_text() const;    ///< "[0, 1]", "one of a, b", ""
};

/// What goes beside a numeric row. Aggregate, so that tables read as tables.
struct Bounds {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

namespace detail {
/// Type-erased row with its setter; `target` points at the struct.
struct BoundRow {
  ParamRow row;
  std::function<void(void* target, const std::string& text, const Place& place)> set_from_text;
  std::function<std::string(const void* target)> to_yaml;        ///< round-trips through set
  std::function<void(const void* target, nlohmann::json& out)> to_json;  ///< out[name] = value
};
void set_by_name(std::span<const BoundRow> rows, void* target, const std::string& section,
                 const std::string& name, const std::string& text, const Place& place);
BoundRow real_row(ParamRow row, std::function<double&(void*)> member);
BoundRow float_row(ParamRow row, std::function<float&(void*)> member);
BoundRow integer_row(ParamRow row, std::function<std::int64_t(const void*)> get,
                     std::function<void(void*, std::int64_t)> put);
BoundRow flag_row(ParamRow row, std::function<bool&(void*)> member);
BoundRow text_row(ParamRow row, std::function<std::string&(void*)> member);
BoundRow real_list_row(ParamRow row, std::function<std::vector<double>&(void*)> member);
BoundRow choice_row(ParamRow row, std::function<int(const void*)> get,
                    std::function<void(void*, int)> put);
std::string default_as_yaml(const BoundRow& row, const void* defaults);
}  // namespace detail

/// The table of a plain struct. The struct's member initialisers are the defaults, so that a value
/// stands in one place only.
///
///     struct Params { float sigma = 0.25f; Law law = Law::uniform; };
///     static const auto table = ParamTable<Params>("noise")
///         .real("sigma", &Params::sigma, {0, 1}, "", "standard deviation of the Gaussian", "")
///         .choice("law", &Params::law, {{"uniform", Law::uniform}, {"gaussian", Law::gaussian}},
///                 "law of each value", "");
template <class Struct>
class ParamTable {
 public:
  explicit ParamTable(std::string section) : section_(std::move(section)) {}

  template <class Real>  // float or double
  ParamTable& real(std::string name, Real Struct::* member, Bounds bounds, std::string unit,
                   std::string help, std::string source = "");
  template <class Integer>
  ParamTable& integer(std::string name, Integer Struct::* member, Bounds bounds, std::string unit,
                      std::string help, std::string source = "");
  ParamTable& flag(std::string name, bool Struct::* member, std::string help,
                   std::string source = "");
  ParamTable& text(std::string name, std::string Struct::* member, std::string help);
  ParamTable& real_list(std::string name, std::vector<double> Struct::* member, Bounds bounds,
                        std::string unit, std::string help, std::string source = "");
  template <class Enum>
  ParamTable& choice(std::string name, Enum Struct::* member,
                     std::vector<std::pair<std::string, Enum>> choices, std::string help,
                     std::string source = "");
  /// Marks the last row as one that has no default and must be given.
  ParamTable& required();

  const std::string& section() const { return section_; }
  std::vector<ParamRow> rows() const;
  /// Sets one parameter. Errors (config): unknown name (with the nearest known one), wrong type,
  /// out of range; each with its place.
  void set(Struct& target, const std::string& name, const std::string& text,
           const Place& place) const {
    detail::set_by_name(rows_, &target, section_, name, text, place);
  }
  /// The values as JSON object / YAML lines "name: value", in table order.
  nlohmann::json to_json(const Struct& values) const;
  std::string to_yaml(const Struct& values, int indent = 0) const;
  std::span<const detail::BoundRow> bound_rows() const { return rows_; }

 private:
  std::string section_;
  std::vector<detail::BoundRow> rows_;
};

}  // namespace wellspring

#include "core/params_impl.h"
