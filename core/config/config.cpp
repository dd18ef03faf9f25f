#include "core/config/config.h"

#include "core/config/config_tree.h"
#include "core/config/foreign_words.h"
#include "core/error.h"
#include "core/io/files.h"
#include "core/text/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

namespace wellspring {
namespace detail {
namespace {

std::string section_name(const ConfigValue& value) {
  return value.path.empty() ? "the configuration" : value.path;
}

/// Reports a missing required key, and a similar key if there is one.
[[noreturn]] void fail_missing_key(const ConfigValue& map, const std::string& key,
                                   const std::string& help) {
  std::vector<std::string> unread;
  std::string foreign;  // a present key that is another program's word for `key`
  for (const auto& [name, value] : map.entries) {
    if (value->read) continue;
    unread.push_back(name.name);
    const ForeignWord* const word = find_foreign_word(name.name);
    if (word != nullptr && word->key == child_path(map.path, key)) foreign = name.name;
  }
  const auto nearest = nearest_name(key, unread);
  std::string advice = nearest ? fmt::format("rename '{}' if you meant that key", *nearest) : "";
  if (!foreign.empty())
    advice = fmt::format("'{}' is not a key: {}", foreign, foreign_word_advice(foreign));
  if (map.kind == ConfigKind::absent)
    fail(ErrorKind::config,
         {fmt::format("{}the section '{}' is missing", map.place.prefix(), map.path),
          fmt::format("its key '{}' is required: {}", key, help),
          fmt::format("add {}: {{{}: ...}}", map.path, key)});
  fail(ErrorKind::config,
       {fmt::format("{}'{}' is missing in {}", map.place.prefix(), key, section_name(map)), help,
        advice});
}

std::string unknown_key_advice(const std::string& key, const std::vector<std::string>& known) {
  const std::string other = foreign_word_advice(key);
  return other.empty() ? name_advice(key, known) : other;
}

void finish_value(const ConfigValue& value) {
  if (value.kind == ConfigKind::list) {
    for (const ConfigValue::Pointer& element : value.elements) finish_value(*element);
    return;
  }
  for (const auto& [key, entry] : value.entries) {
    if (!entry->read) {
      fail(ErrorKind::config, {fmt::format("{}unknown key '{}' in {}", key.place.prefix(), key.name,
                                           section_name(value)),
                               "", unknown_key_advice(key.name, value.known)});
    }
    finish_value(*entry);
  }
}

}  // namespace
}  // namespace detail

using detail::ConfigValue;

ConfigKind ConfigNode::kind() const {
  return value_->kind;
}
const ConfigLocation& ConfigNode::location() const {
  return value_->place;
}
std::string ConfigNode::describe() const {
  return value_->place.prefix() + detail::section_name(*value_);
}

void ConfigNode::refuse(const std::string& problem, const std::string& why,
                        const std::string& advice) const {
  fail(ErrorKind::config, {fmt::format("{}: {}", describe(), problem), why, advice});
}

ConfigKind ConfigNode::kind(const std::string& key) const {
  return at(key).kind();
}

bool ConfigNode::is_present(const std::string& key) const {
  return value_->find(key) != nullptr;
}

std::vector<std::string> ConfigNode::keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, entry] : value_->entries) keys.push_back(key.name);
  return keys;
}

ConfigNode ConfigNode::at(const std::string& key) const {
  if (value_->kind != ConfigKind::map && value_->kind != ConfigKind::empty &&
      value_->kind != ConfigKind::absent) {
    refuse(fmt::format("must be a section, got {}", detail::kind_name(value_->kind)));
  }
  if (value_->known_keys.insert(key).second) value_->known.push_back(key);
  if (auto found = value_->find(key)) {
    found->read = true;
    return ConfigNode(std::move(found));
  }
  auto absent = std::make_shared<ConfigValue>();
  absent->place = value_->place;
  absent->path = detail::child_path(value_->path, key);
  return ConfigNode(std::move(absent));
}

ConfigNode ConfigNode::section(const std::string& key) const {
  ConfigNode node = at(key);
  if (node.kind() == ConfigKind::scalar || node.kind() == ConfigKind::list) {
    node.refuse(fmt::format("must be a section, got {}", detail::kind_name(node.kind())));
  }
  return node;
}

std::vector<ConfigNode> ConfigNode::list(const std::string& key) const {
  const ConfigNode node = at(key);
  if (node.kind() == ConfigKind::absent || node.kind() == ConfigKind::empty) return {};
  return node.elements();
}

std::vector<ConfigNode> ConfigNode::elements() const {
  if (value_->kind != ConfigKind::list) {
    refuse(fmt::format("must be a list, got {}", detail::kind_name(value_->kind)));
  }
  std::vector<ConfigNode> nodes;
  for (const auto& element : value_->elements) {
    element->read = true;
    nodes.push_back(ConfigNode(element));
  }
  return nodes;
}

std::optional<ParamSetting> ConfigNode::scalar(const std::string& key) const {
  const ConfigNode node = at(key);
  if (node.kind() == ConfigKind::absent) return std::nullopt;
  ParamSetting setting = node.scalar();
  setting.name = key;
  return setting;
}

ParamSetting ConfigNode::required_scalar(const std::string& key, const std::string& help) const {
  auto setting = scalar(key);
  if (!setting) detail::fail_missing_key(*value_, key, help);
  return *std::move(setting);
}

ParamSetting ConfigNode::scalar() const {
  if (value_->kind != ConfigKind::scalar) {
    refuse(fmt::format("must be a value, got {}", detail::kind_name(value_->kind)));
  }
  return {value_->path, value_->text, value_->place};
}

namespace {

/// A scalar, or a list of scalars in the text form of a list parameter, quoted where necessary.
ParamSetting as_setting(const ConfigNode& node, const std::string& name) {
  if (node.kind() != ConfigKind::list) {
    ParamSetting setting = node.scalar();
    setting.name = name;
    return setting;
  }
  std::vector<std::string> texts;
  for (const ConfigNode& element : node.elements()) {
    const std::string text = element.scalar().value;
    const bool plain = !text.empty() && text.find_first_of(",[]{}\"\\\n") == std::string::npos;
    texts.push_back(plain ? text : yaml_scalar(text));
  }
  return {name, "[" + join(texts) + "]", node.location()};
}

}  // namespace

std::optional<ParamSetting> ConfigNode::setting(const std::string& key) const {
  const ConfigNode node = at(key);
  if (node.kind() == ConfigKind::absent) return std::nullopt;
  return as_setting(node, key);
}

void ConfigNode::read_rows(const detail::BoundTable& table, void* values) const {
  if (!table.presets.empty()) {
    if (const auto preset = scalar(kPresetKey)) detail::set_param(table, values, *preset);
  }
  for (const detail::BoundRow& bound : table.rows) {
    const ConfigNode node = at(bound.row.name);
    if (node.kind() == ConfigKind::absent) {
      if (bound.row.required) {
        detail::fail_missing_key(*value_, bound.row.name, bound.row.help);
      }
      continue;
    }
    const bool wants_list = is_list(bound.row.type);
    if (node.kind() != ConfigKind::scalar && !(wants_list && node.kind() == ConfigKind::list)) {
      fail(ErrorKind::config,
           {fmt::format("{}'{}' must be {}, got {}", node.location().prefix(), bound.row.name,
                        bound.row.type_text(), detail::kind_name(node.kind())),
            bound.row.help});
    }
    const ParamSetting setting = as_setting(node, bound.row.name);
    bound.put(values, detail::parse_param(bound.row, setting.value, setting.place));
  }
}

std::vector<ParamSetting> ConfigNode::settings() const {
  if (value_->kind == ConfigKind::scalar || value_->kind == ConfigKind::list) {
    refuse(fmt::format("must be a section, got {}", detail::kind_name(value_->kind)));
  }
  std::vector<ParamSetting> settings;
  for (const auto& [key, entry] : value_->entries) {
    settings.push_back(as_setting(at(key.name), key.name));
  }
  return settings;
}

void ConfigNode::finish() const {
  detail::finish_value(*value_);
}

ConfigDocument ConfigDocument::parse(const std::string& text, const std::string& name,
                                     std::span<const std::string> overrides, ConfigOrigin origin) {
  auto root = detail::parse_config(text, {.file = name, .origin = origin});
  detail::apply_overrides(root, overrides);
  root->read = true;
  return ConfigDocument(ConfigNode(std::move(root)));
}

namespace {

/// Advice for a missing file: a configuration with a similar path, or the missing part of the path.
std::string advice_for_missing(const std::filesystem::path& file) {
  namespace fs = std::filesystem;
  const fs::path ending = fs::path(file) += ".yaml";
  for (const fs::path& other :
       {ending, "configs" / file.filename(), "configs" / ending.filename()}) {
    std::error_code unreadable;  // no advice for an unreadable folder
    if (fs::is_regular_file(other, unreadable))
      return fmt::format("did you mean {}?", other.string());
  }
  return missing_part(file);
}

}  // namespace

ConfigDocument ConfigDocument::load(const std::filesystem::path& file,
                                    std::span<const std::string> overrides) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) {
    const std::filesystem::path own = std::filesystem::path(file) += ".yaml";
    fail(ErrorKind::config,
         {fmt::format("{}: is a folder", file.string()), "a configuration is a YAML file",
          std::filesystem::is_regular_file(own, error)
              ? fmt::format("did you mean {}?", own.string())
              : "for a folder of data, `wellspring init FOLDER` writes one"});
  }
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  std::string text(detail::kMaxConfigBytes + 1,
                   '\0');  // read at most this much, even from endless files
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!stream.is_open() || stream.bad()) {
    const int reason = errno;
    fail(ErrorKind::config, {fmt::format("{}: cannot read the configuration", file.string()),
                             std::generic_category().message(reason), advice_for_missing(file)});
  }
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return parse(text, file.string(), overrides);
}

}  // namespace wellspring
