// The configuration reader: YAML with overrides, strict. Every value knows its file, line and
// column; whatever nobody asked for is refused, so that no key is ever ignored in silence.
// Called by whoever is configured: the trainer, the sources, the command line; host only.
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

/// A view of one value of a document: cheap to copy, and it keeps the value alive. Reading marks
/// keys as known; `finish` refuses the rest. An absent section reads as an empty one, so that its
/// parameters take their defaults and a required one is still asked for, by its path.
///
///     ConfigDocument document = ConfigDocument::load("train.yaml", overrides);
///     ConfigNode optimizer = document.root().section("optimizer");
///     AdamParams adam = optimizer.read(adam_table());
///     document.finish();
class ConfigNode {
 public:
  ConfigKind kind() const;
  const ConfigLocation& place() const;
  /// "data.sources[0]"; "" for the root.
  const std::string& path() const;
  /// For messages: "train.yaml:3:1: data.sources[0]".
  std::string describe() const;

  /// What stands under `key` of this map, which becomes a known key.
  ConfigKind kind(const std::string& key) const;
  bool has(const std::string& key) const { return kind(key) != ConfigKind::absent; }
  /// Whether something stands there, which does not make it a known key: for what is refused where
  /// it stands.
  bool stands(const std::string& key) const;
  /// The keys of this map, in their order; none of anything else.
  std::vector<std::string> keys() const;
  /// Any kind of value, possibly absent.
  ConfigNode at(const std::string& key) const;
  /// A map. Error (config) if something else stands there.
  ConfigNode section(const std::string& key) const;
  /// The elements of a list; none if absent. Error (config) if something else stands there.
  std::vector<ConfigNode> list(const std::string& key) const;
  /// The elements of this list.
  std::vector<ConfigNode> elements() const;
  /// A scalar, where there is one. Error (config) if something else stands there.
  std::optional<ParamSetting> scalar(const std::string& key) const;
  /// The same, or a list of scalars, as the text that a row of lists takes.
  std::optional<ParamSetting> setting(const std::string& key) const;
  /// A scalar that must be there: the key that says which table reads the rest.
  ParamSetting required_scalar(const std::string& key, const std::string& help) const;
  /// This scalar (an element of a list), under the name of its path.
  ParamSetting scalar() const;

  /// Reads the rows of a table from the scalars (and lists of scalars) of this map, after the
  /// preset that `preset` names where the table has any; other keys are left to other readers.
  /// Errors (config) as ParamTable::set, and where a required row is missing.
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
  /// Everything in this map as settings, for a reader that has its own table (a generator's).
  std::vector<ParamSetting> settings() const;

  /// Error (config) for the first key at or below this node that nobody asked for, with the nearest
  /// known one.
  void finish() const;
  /// Error (config) about this value: "train.yaml:3:1: data.sources[0]: <problem>".
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
  /// Reads a file. `overrides` are `optimizer.lr=0.1` or `data.sources.0.weight=2`, applied in
  /// order over the file; a value that begins with [ or { is YAML, anything else is a scalar as it
  /// stands. One may change a part of what an earlier one set, but not undo it. Errors (config): no
  /// such file, longer than 256 KiB, not UTF-8, not YAML, duplicate key, malformed override, two
  /// overrides of the same value, or of a value and then of all that it lies in.
  static ConfigDocument load(const std::filesystem::path& file,
                             std::span<const std::string> overrides = {});
  /// The same from text; `name` stands for the file in messages.
  static ConfigDocument parse(const std::string& text, const std::string& name,
                              std::span<const std::string> overrides = {});

  ConfigNode root() const { return root_; }
  void finish() const { root_.finish(); }

 private:
  explicit ConfigDocument(ConfigNode root) : root_(std::move(root)) {}

  ConfigNode root_;
};

}  // namespace wellspring
