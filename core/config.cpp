#include "core/config.h"

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "core/yaml_documents.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <fstream>
#include <unordered_map>
#include <unordered_set>

namespace wellspring {
namespace detail {

/// One value of the document's own tree. YAML stays in this file; overrides edit this tree.
struct ConfigValue {
  using Pointer = std::shared_ptr<ConfigValue>;

  ConfigKind kind = ConfigKind::absent;
  Place place;
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

namespace {

using Pointer = ConfigValue::Pointer;

/// Deeper or larger than any honest configuration: another file, /dev/zero, an alias that contains
/// itself, or aliases of aliases that multiply.
constexpr std::size_t kMaxBytes = std::size_t{1} << 18;
constexpr int kMaxDepth = 64;
constexpr int kMaxValues = 100'000;
/// Of a text that is refused, bytes that a message has.
constexpr std::size_t kShown = 60;

std::string child_path(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

std::string element_path(const std::string& path, std::size_t index) {
  return fmt::format("{}[{}]", path, index);
}

const char* kind_name(ConfigKind kind) {
  switch (kind) {
    case ConfigKind::absent:
      return "nothing";
    case ConfigKind::empty:
      return "nothing";
    case ConfigKind::scalar:
      return "a value";
    case ConfigKind::list:
      return "a list";
    case ConfigKind::map:
      return "a section";
  }
  return "";
}

/// Whether lines of the text mean something to the reader: not those of an override's value.
enum class Lines { kept, dropped };

Place place_at(const std::string& file, Lines lines, const YAML::Mark& mark) {
  if (lines == Lines::dropped || mark.is_null()) return {file, 0, 0};
  return {file, mark.line + 1, mark.column + 1};
}

/// Copies yaml-cpp's nodes into our tree.
class TreeBuilder {
 public:
  TreeBuilder(std::string file, Lines lines) : file_(std::move(file)), lines_(lines) {}

  Pointer build(const YAML::Node& node, const std::string& path, int depth = 0) {
    auto value = std::make_shared<ConfigValue>();
    value->place = place_at(file_, lines_, node.Mark());
    value->path = path;
    if (depth > kMaxDepth || ++values_ > kMaxValues) {
      fail(ErrorKind::config,
           {value->place.prefix() + "the configuration never ends",
            fmt::format("it is more than {} levels deep or has more than {} values: an alias "
                        "contains itself, or aliases multiply",
                        kMaxDepth, kMaxValues)});
    }
    if (node.IsMap()) {
      value->kind = ConfigKind::map;
      for (const auto& entry : node) add_entry(*value, entry.first, entry.second, depth);
    } else if (node.IsSequence()) {
      value->kind = ConfigKind::list;
      for (const auto& element : node) {
        value->elements.push_back(
            build(element, element_path(path, value->elements.size()), depth + 1));
      }
    } else if (node.IsScalar()) {
      value->kind = ConfigKind::scalar;
      value->text = node.Scalar();
    } else {
      value->kind = ConfigKind::empty;
    }
    return value;
  }

 private:
  void add_entry(ConfigValue& map, const YAML::Node& key, const YAML::Node& value, int depth) {
    const Place place = place_at(file_, lines_, key.Mark());
    if (!key.IsScalar()) {
      fail(ErrorKind::config, {place.prefix() + "a key must be a plain word"});
    }
    if (const auto found = map.index.find(key.Scalar()); found != map.index.end()) {
      fail(ErrorKind::config,
           {fmt::format("{}duplicate key '{}'", place.prefix(), key.Scalar()),
            "it stands already at " + map.entries[found->second].first.place.to_string(),
            "keep one of the two"});
    }
    Pointer built = build(value, child_path(map.path, key.Scalar()), depth + 1);
    if (built->kind == ConfigKind::empty) built->place = place;  // yaml-cpp names the next token's
    map.append({key.Scalar(), "", place}, std::move(built));
  }

  std::string file_;
  Lines lines_;
  int values_ = 0;
};

/// Error (config) unless checkpoints, metrics and reports, which are UTF-8, can hold this text, and
/// YAML may (1.2.2, section 5.1: no control characters but tabs and ends of lines).
void expect_text(std::string_view text, const std::string& file, Lines lines) {
  if (text.size() > kMaxBytes) {
    fail(ErrorKind::config,
         {fmt::format("{}: more than {}", file, human_bytes(kMaxBytes)),
          "a configuration is text of a few KiB", "is it the file that was meant?"});
  }
  int line = 1;
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1, ++line) {
    end = std::min(text.find('\n', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    const bool controls = std::any_of(part.begin(), part.end(), [](char c) {
      return static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\r';
    });
    // A value of the command line is taken as it stands, whatever it holds.
    if (is_utf8(part) && (lines == Lines::dropped || !controls)) continue;
    const Place place = {file, lines == Lines::kept ? line : 0, lines == Lines::kept ? 1 : 0};
    fail(ErrorKind::config,
         {fmt::format("{}{}", place.prefix(), is_utf8(part) ? "a control character" : "not UTF-8"),
          fmt::format("'{}'; a configuration is plain text in UTF-8, and so is what a run writes",
                      printable(part.substr(0, kShown))),
          fmt::format("{} UTF-8; what has another name is reached by a symbolic link",
                      lines == Lines::kept ? "save the file as" : "write it in")});
  }
}

Pointer parse_yaml(const std::string& text, const std::string& file, Lines lines,
                   const std::string& path) {
  try {
    const YAML::Node document = YAML::Load(text);
    if (has_second_document(text)) {
      fail(ErrorKind::config, {fmt::format("{}: more than one YAML document", file),
                               "a configuration is one", "remove the line '---'"});
    }
    TreeBuilder builder(file, lines);
    return builder.build(document, path);
  } catch (const YAML::Exception& error) {
    fail(ErrorKind::config,
         {place_at(file, lines, error.mark).prefix() + "not valid YAML", error.msg});
  }
}

/// Where overrides are written.
const Place kCommandLine{"command line", 0, 0};

[[noreturn]] void fail_override(const std::string& override_text, const std::string& why) {
  fail(ErrorKind::config, {fmt::format("command line: cannot apply '{}'", override_text), why,
                           "overrides are written section.key=value, list elements section.0.key"});
}

Pointer override_value(const std::string& text, const std::string& path) {
  const std::string_view trimmed = trim(text);
  if (trimmed.starts_with('[') || trimmed.starts_with('{')) {
    return parse_yaml(text, kCommandLine.file, Lines::dropped, path);
  }
  auto value = std::make_shared<ConfigValue>();
  value->kind = ConfigKind::scalar;
  value->place = kCommandLine;
  value->path = path;
  value->text = text;
  return value;
}

/// The slot that one step of an override's path leads to, made if a map lacks it.
Pointer& child_slot(ConfigValue& parent, const std::string& step,
                    const std::string& override_text) {
  if (parent.kind == ConfigKind::list) {
    const bool digits =
        !step.empty() && step.size() < 10 &&
        std::all_of(step.begin(), step.end(), [](char c) { return c >= '0' && c <= '9'; });
    const std::size_t index = digits ? std::stoul(step) : parent.elements.size();
    if (index >= parent.elements.size()) {
      fail_override(override_text, fmt::format("'{}' is a list of {}, and '{}' is none of them",
                                               parent.path, parent.elements.size(), step));
    }
    return parent.elements[index];
  }
  if (parent.kind == ConfigKind::scalar) {
    fail_override(override_text, fmt::format("'{}' is a value, not a section", parent.path));
  }
  parent.kind = ConfigKind::map;
  if (const auto found = parent.index.find(step); found != parent.index.end()) {
    return parent.entries[found->second].second;
  }
  auto made = std::make_shared<ConfigValue>();
  made->kind = ConfigKind::empty;
  made->place = kCommandLine;
  made->path = child_path(parent.path, step);
  parent.append({step, "", kCommandLine}, std::move(made));
  return parent.entries.back().second;
}

void apply_override(Pointer& root, const std::string& text) {
  expect_text(text, kCommandLine.file, Lines::dropped);
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) fail_override(text, "there is no '='");
  const std::string key = text.substr(0, equals);
  if (trim(key).empty()) fail_override(text, "the key is empty");
  if (std::count(key.begin(), key.end(), '.') >= kMaxDepth) {
    fail_override(printable(key.substr(0, kShown)) + "...",
                  fmt::format("its key has more than {} parts", kMaxDepth));
  }
  Pointer* slot = &root;
  for (std::size_t begin = 0; begin <= key.size();) {
    const std::size_t end = std::min(key.find('.', begin), key.size());
    const std::string step(trim(std::string_view(key).substr(begin, end - begin)));
    if (step.empty()) fail_override(text, "the key has an empty part");
    slot = &child_slot(**slot, step, text);
    begin = end + 1;
  }
  *slot = override_value(text.substr(equals + 1), (*slot)->path);
}

std::string section_name(const ConfigValue& value) {
  return value.path.empty() ? "the configuration" : value.path;
}

/// A key that must be there; a misspelt one may be.
[[noreturn]] void fail_missing_key(const ConfigValue& map, const std::string& key,
                                   const std::string& help) {
  std::vector<std::string> unread;
  for (const auto& [name, value] : map.entries) {
    if (!value->read) unread.push_back(name.name);
  }
  const auto nearest = nearest_name(key, unread);
  fail(ErrorKind::config,
       {fmt::format("{}'{}' is missing in {}", map.place.prefix(), key, section_name(map)), help,
        nearest ? fmt::format("is '{}' meant to be it?", *nearest) : ""});
}

void finish_value(const ConfigValue& value) {
  if (value.kind == ConfigKind::list) {
    for (const Pointer& element : value.elements) finish_value(*element);
    return;
  }
  for (const auto& [key, entry] : value.entries) {
    if (!entry->read) {
      fail(ErrorKind::config, {fmt::format("{}unknown key '{}' in {}", key.place.prefix(), key.name,
                                           section_name(value)),
                               "", name_advice(key.name, value.known)});
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
const Place& ConfigNode::place() const {
  return value_->place;
}
const std::string& ConfigNode::path() const {
  return value_->path;
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

std::vector<std::string> ConfigNode::keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, entry] : value_->entries) keys.push_back(key.name);
  return keys;
}

ConfigNode ConfigNode::at(const std::string& key) const {
  if (value_->kind != ConfigKind::map && value_->kind != ConfigKind::empty &&
      value_->kind != ConfigKind::absent) {
    refuse(fmt::format("wants a section, got {}", detail::kind_name(value_->kind)));
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
    node.refuse(fmt::format("wants a section, got {}", detail::kind_name(node.kind())));
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
    refuse(fmt::format("wants a list, got {}", detail::kind_name(value_->kind)));
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
    refuse(fmt::format("wants a value, got {}", detail::kind_name(value_->kind)));
  }
  return {value_->path, value_->text, value_->place};
}

namespace {

/// A scalar, or a list of scalars as the text that a row of lists takes: quoted where it must be.
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
  return {name, "[" + join(texts) + "]", node.place()};
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
           {fmt::format("{}'{}' wants {}, got {}", node.place().prefix(), bound.row.name,
                        bound.row.type_text(), detail::kind_name(node.kind())),
            bound.row.help});
    }
    const ParamSetting setting = as_setting(node, bound.row.name);
    bound.put(values, detail::parse_param(bound.row, setting.value, setting.place));
  }
}

std::vector<ParamSetting> ConfigNode::settings() const {
  if (value_->kind == ConfigKind::scalar || value_->kind == ConfigKind::list) {
    refuse(fmt::format("wants a section, got {}", detail::kind_name(value_->kind)));
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
                                     std::span<const std::string> overrides) {
  detail::expect_text(text, name, detail::Lines::kept);
  auto root = detail::parse_yaml(text, name, detail::Lines::kept, "");
  if (root->kind != ConfigKind::map && root->kind != ConfigKind::empty) {
    fail(ErrorKind::config,
         {fmt::format("{}: not a configuration", name),
          fmt::format("it holds {}, not sections and keys", detail::kind_name(root->kind))});
  }
  for (const std::string& text_override : overrides) detail::apply_override(root, text_override);
  root->read = true;
  return ConfigDocument(ConfigNode(std::move(root)));
}

ConfigDocument ConfigDocument::load(const std::filesystem::path& file,
                                    std::span<const std::string> overrides) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) {
    fail(ErrorKind::config,
         {fmt::format("{}: is a folder", file.string()), "", "name a YAML file"});
  }
  std::ifstream stream(file, std::ios::binary);
  std::string text(detail::kMaxBytes + 1, '\0');  // no more is read, whatever the file is
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!stream.is_open() || stream.bad()) {
    fail(ErrorKind::config, {fmt::format("{}: cannot read the configuration", file.string()),
                             std::generic_category().message(errno), missing_part(file)});
  }
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return parse(text, file.string(), overrides);
}

}  // namespace wellspring
