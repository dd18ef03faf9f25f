#include "core/config/config_tree.h"

#include "core/config/duplicates.h"
#include "core/config/yaml_documents.h"
#include "core/config/yaml_reason.h"
#include "core/error.h"
#include "core/text/parse.h"
#include "core/text/text.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>

namespace wellspring::detail {
namespace {

using Pointer = ConfigValue::Pointer;

/// Limits for aliases that contain themselves or multiply by nesting.
constexpr int kMaxDepth = 64;
constexpr int kMaxValues = 100'000;
/// Bytes of a refused text that a message shows.
constexpr std::size_t kShown = 60;

std::string beginning(const std::string& text) {
  return text.size() <= kShown ? text : printable(text.substr(0, kShown)) + "...";
}

std::string element_path(const std::string& path, std::size_t index) {
  return fmt::format("{}[{}]", path, index);
}

/// Messages about the value of an override give no line numbers.
enum class Lines { kept, dropped };

/// A place in the text at `whole`.
ConfigLocation place_at(const ConfigLocation& whole, Lines lines, const YAML::Mark& mark) {
  if (lines == Lines::dropped || mark.is_null()) return whole;
  return {whole.file, mark.line + 1, mark.column + 1, whole.origin};
}

/// Copies yaml-cpp's nodes into our tree.
class TreeBuilder {
 public:
  TreeBuilder(ConfigLocation whole, Lines lines) : whole_(std::move(whole)), lines_(lines) {}

  Pointer build(const YAML::Node& node, const std::string& path, int depth = 0) {
    auto value = std::make_shared<ConfigValue>();
    value->place = place_at(whole_, lines_, node.Mark());
    value->path = path;
    if (depth > kMaxDepth)
      fail(ErrorKind::config,
           {fmt::format("{}more than {} levels", value->place.prefix(), kMaxDepth),
            "an alias contains itself, or sections are nested too deeply",
            "write it without the alias"});
    if (++values_ > kMaxValues)
      fail(ErrorKind::config,
           {fmt::format("{}more than {} values", value->place.prefix(), kMaxValues),
            "nested aliases multiply the number of values",
            "write the values out, without aliases"});
    expect_no_tag(node, value->place);
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
  /// In yaml-cpp, values without a tag have the tag "?", quoted ones "!", and empty ones "".
  static void expect_no_tag(const YAML::Node& node, const ConfigLocation& place) {
    const std::string& tag = node.Tag();
    if (tag.empty() || tag == "?" || tag == "!") return;
    fail(ErrorKind::config,
         {fmt::format("{}the tag {} is not allowed", place.prefix(), tag),
          "the type of a value follows from its key, not from a tag", "remove the tag"});
  }

  void add_entry(ConfigValue& map, const YAML::Node& key, const YAML::Node& value, int depth) {
    const ConfigLocation place = place_at(whole_, lines_, key.Mark());
    if (!key.IsScalar()) {
      fail(ErrorKind::config, {place.prefix() + "a key must be a scalar"});
    }
    if (const auto found = map.index.find(key.Scalar()); found != map.index.end()) {
      fail(ErrorKind::config,
           {fmt::format("{}duplicate key '{}'", place.prefix(), key.Scalar()),
            "first given at " + map.entries[found->second].first.place.to_string(),
            "keep one of the two"});
    }
    Pointer built = build(value, child_path(map.path, key.Scalar()), depth + 1);
    if (built->kind == ConfigKind::empty)
      built->place = place;  // yaml-cpp gives the location of the next token
    map.append({key.Scalar(), "", place}, std::move(built));
  }

  ConfigLocation whole_;
  Lines lines_;
  int values_ = 0;
};

/// Throws a config error unless the text is UTF-8 (as checkpoints, metrics and reports are) and
/// valid YAML (1.2.2, section 5.1: no control characters except tabs and line ends).
void expect_text(std::string_view text, const std::string& file, Lines lines) {
  if (text.size() > kMaxConfigBytes) {
    fail(ErrorKind::config, {fmt::format("{}: more than {}", file, human_bytes(kMaxConfigBytes)),
                             "a configuration has only a few KiB of text", "check the file name"});
  }
  int line = 1;
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1, ++line) {
    end = std::min(text.find('\n', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    const bool controls = std::any_of(part.begin(), part.end(), [](char c) {
      return static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\r';
    });
    // Values on the command line may contain control characters.
    if (is_utf8(part) && (lines == Lines::dropped || !controls)) continue;
    const ConfigLocation place = {file, lines == Lines::kept ? line : 0,
                                  lines == Lines::kept ? 1 : 0};
    fail(ErrorKind::config,
         {fmt::format("{}{}", place.prefix(), is_utf8(part) ? "a control character" : "not UTF-8"),
          fmt::format("'{}'; configurations and the files of a run are UTF-8 text",
                      printable(part.substr(0, kShown))),
          fmt::format("{} UTF-8; for a file whose name is not UTF-8, use a symbolic link",
                      lines == Lines::kept ? "save the file as" : "write it in")});
  }
}

Pointer parse_yaml(const std::string& text, const ConfigLocation& whole, Lines lines,
                   const std::string& path) {
  try {
    const YAML::Node document = YAML::Load(text);
    if (has_second_document(text)) {
      fail(ErrorKind::config, {fmt::format("{}: contains more than one YAML document", whole.file),
                               "a configuration is a single document", "remove the line '---'"});
    }
    TreeBuilder builder(whole, lines);
    return builder.build(document, path);
  } catch (const YAML::Exception& error) {
    const auto [why, advice] = yaml_reason(error.msg);
    fail(ErrorKind::config,
         {place_at(whole, lines, error.mark).prefix() + "not valid YAML", why, advice});
  }
}

/// Location of overrides.
const ConfigLocation kCommandLine{"command line", 0, 0};

[[noreturn]] void fail_override(const std::string& override_text, const std::string& why) {
  fail(ErrorKind::config,
       {fmt::format("command line: cannot apply '{}'", override_text), why,
        "write an override as section.key=value, or section.0.key=value for a list element"});
}

Pointer override_value(const std::string& text, const std::string& path) {
  const std::string_view trimmed = trim(text);
  if (trimmed.starts_with('[') || trimmed.starts_with('{')) {
    return parse_yaml(text, kCommandLine, Lines::dropped, path);
  }
  auto value = std::make_shared<ConfigValue>();
  value->kind = ConfigKind::scalar;
  value->place = kCommandLine;
  value->path = path;
  value->text = text;
  return value;
}

/// The slot at one step of an override's path; created if the map does not contain it.
Pointer& child_slot(ConfigValue& parent, const std::string& step,
                    const std::string& override_text) {
  if (parent.kind == ConfigKind::list) {
    const bool digits =
        !step.empty() && step.size() < 10 &&
        std::all_of(step.begin(), step.end(), [](char c) { return c >= '0' && c <= '9'; });
    const std::size_t index = digits ? std::stoul(step) : parent.elements.size();
    if (index >= parent.elements.size()) {
      fail_override(override_text,
                    fmt::format("'{}' is a list of length {}, which has no element '{}'",
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

/// Applies an override; returns the path that it set.
std::string apply_override(Pointer& root, const std::string& text) {
  expect_text(text, kCommandLine.file, Lines::dropped);
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) fail_override(text, "there is no '='");
  const std::string key = text.substr(0, equals);
  if (trim(key).empty()) fail_override(text, "the key is empty");
  if (std::count(key.begin(), key.end(), '.') >= kMaxDepth) {
    fail_override(beginning(key), fmt::format("the key has more than {} parts", kMaxDepth));
  }
  Pointer* slot = &root;
  for (const std::string_view part : split(key, '.')) {
    const std::string step(trim(part));
    if (step.empty()) fail_override(text, "the key has an empty part");
    if (step.ends_with(']')) {
      std::string instead = key;
      std::erase(instead, ']');
      std::ranges::replace(instead, '[', '.');
      fail(ErrorKind::config, {fmt::format("command line: cannot apply '{}'", text),
                               "list elements are written without brackets here",
                               fmt::format("write {}={}", instead, text.substr(equals + 1))});
    }
    slot = &child_slot(**slot, step, text);
  }
  *slot = override_value(text.substr(equals + 1), (*slot)->path);
  return (*slot)->path;
}

/// The value of a valid override.
std::string value_of(const std::string& override_text) {
  return beginning(override_text.substr(override_text.find('=') + 1));
}

/// True if `path` is inside the section or list `outer`.
bool is_inside(const std::string& path, const std::string& outer) {
  return path.size() > outer.size() && path.starts_with(outer) &&
         (path[outer.size()] == '.' || path[outer.size()] == '[');
}

}  // namespace

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

std::string child_path(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

ConfigValue::Pointer parse_config(const std::string& text, const ConfigLocation& whole) {
  expect_text(text, whole.file, Lines::kept);
  Pointer root = parse_yaml(text, whole, Lines::kept, "");
  if (root->kind != ConfigKind::map && root->kind != ConfigKind::empty) {
    fail(ErrorKind::config,
         {fmt::format("{}: not a configuration", whole.file),
          fmt::format("it is {}, not a map of sections and keys", kind_name(root->kind))});
  }
  return root;
}

void apply_overrides(Pointer& root, std::span<const std::string> overrides) {
  std::vector<std::string> paths;
  for (const std::string& text : overrides) {
    std::string path = apply_override(root, text);
    for (std::size_t i = 0; i < paths.size(); ++i) {
      if (paths[i] == path)
        fail_given_twice(kCommandLine, path, value_of(overrides[i]), value_of(text));
      if (is_inside(paths[i], path)) {
        fail(ErrorKind::config,
             {fmt::format("command line: '{}' would undo the earlier '{}'", beginning(text),
                          beginning(overrides[i])),
              fmt::format("it sets all of '{}'", path),
              fmt::format("move '{}' after it, or remove it", beginning(overrides[i]))});
      }
    }
    paths.push_back(std::move(path));
  }
}

}  // namespace wellspring::detail
