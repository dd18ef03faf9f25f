// Strict reader of YAML configurations with overrides. Every value carries its file, line and
// column. Keys that no reader asked for are errors, so no key is silently ignored. Called by the
// trainer, the sources and the command line; host only.
#pragma once

#include "core/config/params.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace wellspring {

enum class ConfigKind { absent, empty, scalar, list, map };

namespace detail {
struct ConfigValue;
}

/// A view of a value in a document: cheap to copy, and it keeps the value alive. Reading marks keys
/// as known; `finish` refuses all others. An absent section counts as an empty one: its parameters
/// take their defaults, and a missing required parameter is reported with its path.
///
///     ConfigDocument document = ConfigDocument::load("train.yaml", overrides);
///     ConfigNode optimizer = document.root().section("optimizer");
///     AdamParams adam = optimizer.read(adam_table());
///     document.finish();
class ConfigNode {
 public:
  ConfigKind kind() const;
  const ConfigLocation& location() const;
  /// For messages: "train.yaml:3:1: data.sources[0]".
  std::string describe() const;

  /// Kind of the value of `key` in this map. Marks the key as known.
  ConfigKind kind(const std::string& key) const;
  bool has(const std::string& key) const { return kind(key) != ConfigKind::absent; }
  /// True if `key` is present. Does not mark the key as known; used for keys that are refused.
  bool is_present(const std::string& key) const;
  /// The keys of this map, in order; empty for other kinds.
  std::vector<std::string> keys() const;
  /// A value of any kind, possibly absent.
  ConfigNode at(const std::string& key) const;
  /// A map. Throws a config error for any other kind.
  ConfigNode section(const std::string& key) const;
  /// The elements of a list; empty if absent. Throws a config error for any other kind.
  std::vector<ConfigNode> list(const std::string& key) const;
  /// The elements of this list.
  std::vector<ConfigNode> elements() const;
  /// A scalar, if present. Throws a config error for any other kind.
  std::optional<ParamSetting> scalar(const std::string& key) const;
  /// The same, but a list of scalars is also accepted, as the text of a list parameter.
  std::optional<ParamSetting> setting(const std::string& key) const;
  /// A required scalar, such as the key that selects the table for the rest of the section.
  ParamSetting required_scalar(const std::string& key, const std::string& help) const;
  /// This scalar (an element of a list), with its path as its name.
  ParamSetting scalar() const;

  /// Reads the rows of a table from the scalars (and lists of scalars) of this map. If the table
  /// has presets, the one named by the key `preset` is applied first. Other keys are left to other
  /// readers. Throws the config errors of ParamTable::set, and one for a missing required row.
  template <class Struct>
  void read(const ParamTable<Struct>& table, Struct& values) const {
    read_rows(table.bound(), &values);
  }
  template <class Struct>
  Struct read(const ParamTable<Struct>& table) const {
    Struct values{};
    read(table, values);
    return values;
  }
  /// The whole map as settings, for a reader with its own table (a generator).
  std::vector<ParamSetting> settings() const;

  /// Throws a config error for the first unknown key at or below this node; names a similar key.
  void finish() const;
  /// Throws a config error about this value: "train.yaml:3:1: data.sources[0]: <problem>".
  [[noreturn]] void refuse(const std::string& problem, const std::string& why = "",
                           const std::string& advice = "") const;

 private:
  friend class ConfigDocument;
  explicit ConfigNode(std::shared_ptr<detail::ConfigValue> value) : value_(std::move(value)) {}
  void read_rows(const detail::BoundTable& table, void* values) const;

  std::shared_ptr<detail::ConfigValue> value_;
};

/// One YAML document with its overrides.
class ConfigDocument {
 public:
  /// Reads a file. `overrides`, such as `optimizer.lr=0.1` or `data.sources.0.weight=2`, are
  /// applied to it in order. A value that begins with [ or { is YAML; any other value is a literal
  /// scalar. An override may change part of a value that an earlier override set, but may not
  /// replace all of it. Throws config errors if the file is missing, longer than 256 KiB, not UTF-8
  /// or not YAML. Also throws for a duplicate key, a malformed override, two overrides of the same
  /// value, or an override that replaces a section changed by an earlier one.
  static ConfigDocument load(const std::filesystem::path& file,
                             std::span<const std::string> overrides = {});
  /// The same from text; messages use `name` as the file name. The overrides are the user's.
  static ConfigDocument parse(const std::string& text, const std::string& name,
                              std::span<const std::string> overrides = {},
                              ConfigOrigin origin = ConfigOrigin::user);

  ConfigNode root() const { return root_; }
  void finish() const { root_.finish(); }

 private:
  explicit ConfigDocument(ConfigNode root) : root_(std::move(root)) {}

  ConfigNode root_;
};

}  // namespace wellspring
