// The tree of a configuration: one YAML document, edited by overrides. Called by
// core/config/config.cpp; host only.
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

/// A value in the tree.
struct ConfigValue {
  using Pointer = std::shared_ptr<ConfigValue>;

  ConfigKind kind = ConfigKind::absent;
  ConfigLocation place;
  std::string path;
  std::string text;                                       ///< scalar
  std::vector<std::pair<ParamSetting, Pointer>> entries;  ///< map: key with location, value
  std::vector<Pointer> elements;                          ///< list
  std::unordered_map<std::string, std::size_t> index;     ///< key -> index in `entries`
  std::vector<std::string> known;  ///< keys of this map that readers asked for, in request order
  std::unordered_set<std::string> known_keys;  ///< the same, for look-up
  bool read = false;                           ///< consumed by a reader

  Pointer find(const std::string& key) const {
    const auto found = index.find(key);
    return found == index.end() ? nullptr : entries[found->second].second;
  }
  void append(ParamSetting key, Pointer value) {
    index.emplace(key.name, entries.size());
    entries.emplace_back(std::move(key), std::move(value));
  }
};

/// Larger files, such as /dev/zero, cannot be configurations.
inline constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 18;

/// "a value", "a list", "a section", "nothing".
const char* kind_name(ConfigKind kind);

std::string child_path(const std::string& path, const std::string& key);

/// Parses a file's text. `whole`: location of the file. Throws the config errors of
/// ConfigDocument::parse.
ConfigValue::Pointer parse_config(const std::string& text, const ConfigLocation& whole);

/// Applies the overrides in order. Throws a config error if one is malformed, or has no effect
/// because a later one sets the same value or replaces a section or list that contains it.
void apply_overrides(ConfigValue::Pointer& root, std::span<const std::string> overrides);

}  // namespace wellspring::detail
