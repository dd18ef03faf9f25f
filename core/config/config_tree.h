// The tree behind a configuration: one YAML document, edited by overrides. Used by core/config/config.cpp;
// host only.
#pragma once

#include "core/config/config.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace wellspring::detail {

/// One value of the document's own tree.
struct ConfigValue {
  using Pointer = std::shared_ptr<ConfigValue>;

  ConfigKind kind = ConfigKind::absent;
  ConfigLocation place;
  std::string path;
  std::string text;                                       ///< of a scalar
  std::vector<std::pair<ParamSetting, Pointer>> entries;  ///< of a map: key with its place, value
  std::vector<Pointer> elements;                          ///< of a list

  std::unordered_map<std::string, std::size_t> index;  ///< of each key in `entries`

  std::vector<std::string> known;  ///< keys of this map that a reader asked for, in that order
  std::unordered_set<std::string> known_keys;  ///< the same, to look up
  bool read = false;                           ///< this value was consumed by a reader

  Pointer find(const std::string& key) const {
    const auto found = index.find(key);
    return found == index.end() ? nullptr : entries[found->second].second;
  }
  void append(ParamSetting key, Pointer value) {
    index.emplace(key.name, entries.size());
    entries.emplace_back(std::move(key), std::move(value));
  }
};

/// Larger than any honest configuration: another file, /dev/zero.
inline constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 18;

/// "a value", "a list", "a section", "nothing".
const char* kind_name(ConfigKind kind);

std::string child_path(const std::string& path, const std::string& key);

/// The tree of a file's text; `name` stands for it in messages. Errors (config) as
/// ConfigDocument::parse.
ConfigValue::Pointer parse_config(const std::string& text, const std::string& name);

/// In order. Errors (config): malformed, and one of which nothing would be left: set again, or
/// within a section or a list that a later one sets as a whole.
void apply_overrides(ConfigValue::Pointer& root, std::span<const std::string> overrides);

}  // namespace wellspring::detail
