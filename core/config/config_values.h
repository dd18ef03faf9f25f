// A configuration as a list of (path, value) pairs, for writing, comparing and describing it. Each
// owner of a table writes its part with a ConfigWriter; no YAML is written by hand. Called by all
// code that has a configuration; host only.
#pragma once

#include "core/config/params.h"

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wellspring {

/// A value and its path: {"data", "sources", "[0]", "name"}, "shapes".
struct ConfigEntry {
  std::vector<std::string> path;  ///< keys, and "[index]" for list elements
  std::string value;              ///< YAML
  bool may_change = false;        ///< see ParamRow::may_change
  bool is_fact = false;           ///< derived from the settings and the program; cannot be set

  std::string path_text() const;  ///< for messages: "data.sources[0].name"
};

/// Collects the values of a configuration, top down.
class ConfigWriter {
 public:
  /// Adds a value to the current section; `yaml` is a scalar or a one-line list.
  void value(const std::string& name, std::string yaml, bool may_change = false);
  /// Adds a fact that, like a setting, affects samples and weights: a generator's version.
  void fact(const std::string& name, std::string yaml);
  /// Adds the rows of a table, except those named in `left_out`.
  template <class Struct>
  void table(const ParamTable<Struct>& table, const Struct& values,
             std::initializer_list<std::string_view> left_out = {}) {
    rows(table.bound().rows, &values, left_out);
  }
  /// Adds lines "name: value" in the format of ParamTable::to_yaml, for owners of a private table.
  void lines(const std::string& yaml);
  /// Adds the section `name`; `fill` adds its values.
  template <class Fill>
  void section(std::string name, const Fill& fill) {
    path_.push_back(std::move(name));
    fill();
    path_.pop_back();
  }
  /// The same for one element, if the current section is a list.
  template <class Fill>
  void element(std::size_t index, const Fill& fill) {
    section("[" + std::to_string(index) + "]", fill);
  }

  const std::vector<ConfigEntry>& entries() const { return entries_; }

 private:
  void rows(std::span<const detail::BoundRow> rows, const void* values,
            std::initializer_list<std::string_view> left_out);

  std::vector<std::string> path_;
  std::vector<ConfigEntry> entries_;
};

/// Nested YAML, indented by two. Reading it gives the same values if all of them can be set.
std::string config_yaml(std::span<const ConfigEntry> entries);
/// The values that a file may set.
std::vector<ConfigEntry> config_settings(std::span<const ConfigEntry> entries);
/// The values that samples and weights depend on, including facts.
std::vector<ConfigEntry> config_identity(std::span<const ConfigEntry> entries);
/// The values of a YAML document as plain text, for comparison; a list of scalars is one value.
/// `name` and the config errors are as for ConfigDocument::parse.
std::vector<ConfigEntry> config_entries(const std::string& yaml, const std::string& name);
/// The differences between two documents: "train.batch: 64 there, 128 here".
std::vector<std::string> config_differences(const std::string& there, const std::string& here);

/// The keys of a section, for `describe` and tests.
struct ConfigSection {
  std::string path;       ///< "data.sources[]"; "" for the top level
  std::string condition;  ///< "kind: files"; "" if the section always has these keys
  std::vector<ParamRow> rows;
  std::string others;  ///< source of the section's other keys, in words
};

}  // namespace wellspring
