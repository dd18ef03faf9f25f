// A configuration as a list of (path, value): what it is written from, compared by, and described
// with. Whoever has a table writes its part with a ConfigWriter; nobody writes YAML by hand. Used
// by all that are configured; host only.
#pragma once

#include "core/config/params.h"

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wellspring {

/// One value and where it stands: {"data", "sources", "[0]", "name"}, "shapes".
struct ConfigEntry {
  std::vector<std::string> path;  ///< keys as they are, elements of lists as "[index]"
  std::string value;              ///< as YAML writes it
  bool may_change = false;        ///< as ParamRow::may_change
  bool is_fact = false;           ///< follows from the settings and the program; nobody can set it

  std::string path_text() const;  ///< "data.sources[0].name", as messages have it
};

/// Walks a configuration from above and notes its values.
class ConfigWriter {
 public:
  /// One value under the current section; `yaml` is a scalar, or a list on one line.
  void value(const std::string& name, std::string yaml, bool may_change = false);
  /// What samples and weights depend on as on a setting: the version of a generator.
  void fact(const std::string& name, std::string yaml);
  /// The rows of a table, without those of some names.
  template <class Struct>
  void table(const ParamTable<Struct>& table, const Struct& values,
             std::initializer_list<std::string_view> left_out = {}) {
    rows(table.bound().rows, &values, left_out);
  }
  /// Lines "name: value", as ParamTable::to_yaml has them, of whoever keeps its table to itself.
  void lines(const std::string& yaml);
  /// `fill` notes what stands under `name`.
  template <class Fill>
  void section(std::string name, const Fill& fill) {
    path_.push_back(std::move(name));
    fill();
    path_.pop_back();
  }
  /// The same for an element of a list, which is the current section.
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

/// YAML, which reads back to the same values where all can be set: nested, two blanks a level.
std::string config_yaml(std::span<const ConfigEntry> entries);
/// Those that a file may set.
std::vector<ConfigEntry> config_settings(std::span<const ConfigEntry> entries);
/// Those that samples and weights depend on, facts included.
std::vector<ConfigEntry> config_identity(std::span<const ConfigEntry> entries);
/// The values of a YAML document as plain text, for comparing; a list of scalars is one value.
/// Errors (config) as ConfigDocument::parse, which `name` is for.
std::vector<ConfigEntry> config_entries(const std::string& yaml, const std::string& name);
/// What differs between two documents: "train.batch: 64 there, 128 here".
std::vector<std::string> config_differences(const std::string& there, const std::string& here);

/// The keys of one section, for `describe` and tests: those of a table, and in words what else.
struct ConfigSection {
  std::string path;       ///< "data.sources[]"; "" for the top level
  std::string condition;  ///< "kind: files"; "" where the section always has these keys
  std::vector<ParamRow> rows;
  std::string others;  ///< of sections with keys of somebody else: whose
};

}  // namespace wellspring
