#include "core/config/config_values.h"

#include "core/config/config.h"
#include "core/text/parse.h"
#include "core/text/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace wellspring {
namespace {

bool is_element(const std::string& step) {
  return step.size() > 2 && step.front() == '[' && step.back() == ']' &&
         std::all_of(step.begin() + 1, step.end() - 1, [](char c) { return c >= '0' && c <= '9'; });
}

/// Appends the values at and below a node.
void note_all(const ConfigNode& node, std::vector<std::string>& path,
              std::vector<ConfigEntry>& entries) {
  const auto below = [&](std::string step, const ConfigNode& child) {
    path.push_back(std::move(step));
    note_all(child, path, entries);
    path.pop_back();
  };
  switch (node.kind()) {
    case ConfigKind::absent:
      return;
    case ConfigKind::empty:
      entries.push_back({path, ""});
      return;
    case ConfigKind::scalar:
      entries.push_back({path, node.scalar().value});
      return;
    case ConfigKind::map:
      for (const std::string& key : node.keys()) below(key, node.at(key));
      return;
    case ConfigKind::list:
      break;
  }
  const std::vector<ConfigNode> elements = node.elements();
  const bool flat = std::all_of(elements.begin(), elements.end(), [](const ConfigNode& element) {
    return element.kind() == ConfigKind::scalar;
  });
  if (flat) {
    std::vector<std::string> texts;
    for (const ConfigNode& element : elements) texts.push_back(element.scalar().value);
    entries.push_back({path, "[" + join(texts) + "]"});
    return;
  }
  for (std::size_t i = 0; i < elements.size(); ++i) below(fmt::format("[{}]", i), elements[i]);
}

}  // namespace

std::string ConfigEntry::path_text() const {
  std::string text;
  for (const std::string& step : path) {
    if (!text.empty() && !is_element(step)) text += '.';
    text += step;
  }
  return text;
}

void ConfigWriter::value(const std::string& name, std::string yaml, bool may_change) {
  ConfigEntry entry{path_, std::move(yaml), may_change};
  entry.path.push_back(name);
  entries_.push_back(std::move(entry));
}

void ConfigWriter::fact(const std::string& name, std::string yaml) {
  value(name, std::move(yaml));
  entries_.back().is_fact = true;
}

void ConfigWriter::lines(const std::string& yaml) {
  for (const std::string_view line : split(yaml, '\n'))
    if (const std::size_t colon = line.find(": "); colon != std::string_view::npos)
      value(std::string(line.substr(0, colon)), std::string(line.substr(colon + 2)));
}

void ConfigWriter::rows(std::span<const detail::BoundRow> rows, const void* values,
                        std::initializer_list<std::string_view> left_out) {
  for (const detail::BoundRow& bound : rows) {
    const std::string& name = bound.row.name;
    if (std::find(left_out.begin(), left_out.end(), name) != left_out.end()) continue;
    value(name, detail::param_text(bound.row, bound.get(values)), bound.row.may_change);
  }
}

std::string config_yaml(std::span<const ConfigEntry> entries) {
  std::string out;
  std::vector<std::string> open;  // sections already written
  for (const ConfigEntry& entry : entries) {
    const std::size_t last = entry.path.size() - 1;
    std::size_t level = 0;
    while (level < last && level < open.size() && open[level] == entry.path[level]) ++level;
    std::string prefix(2 * level, ' ');
    for (; level < last; ++level) {
      const std::string& step = entry.path[level];
      if (is_element(step)) {
        prefix += "- ";  // the element's first key goes on this line
      } else {
        out += prefix + yaml_scalar(step) + ":\n";
        prefix.assign(2 * level + 2, ' ');
      }
    }
    out += prefix + yaml_scalar(entry.path[last]) + ": " + entry.value + "\n";
    open.assign(entry.path.begin(), entry.path.end() - 1);
  }
  return out;
}

std::vector<ConfigEntry> config_settings(std::span<const ConfigEntry> entries) {
  std::vector<ConfigEntry> settings;
  for (const ConfigEntry& entry : entries) {
    if (!entry.is_fact) settings.push_back(entry);
  }
  return settings;
}

std::vector<ConfigEntry> config_identity(std::span<const ConfigEntry> entries) {
  std::vector<ConfigEntry> identity;
  for (const ConfigEntry& entry : entries) {
    if (!entry.may_change) identity.push_back(entry);
  }
  return identity;
}

std::vector<ConfigEntry> config_entries(const std::string& yaml, const std::string& name) {
  std::vector<ConfigEntry> entries;
  std::vector<std::string> path;
  note_all(ConfigDocument::parse(yaml, name).root(), path, entries);
  return entries;
}

std::vector<std::string> config_differences(const std::string& there, const std::string& here) {
  const auto by_path = [](const std::vector<ConfigEntry>& entries) {
    std::map<std::vector<std::string>, std::string> values;
    for (const ConfigEntry& entry : entries) values[entry.path] = entry.value;
    return values;
  };
  const std::vector<ConfigEntry> olds = config_entries(there, "there");
  const std::vector<ConfigEntry> news = config_entries(here, "here");
  const auto old_values = by_path(olds), new_values = by_path(news);
  std::vector<std::string> differences;
  for (const ConfigEntry& old : olds) {
    const auto found = new_values.find(old.path);
    if (found == new_values.end()) {
      differences.push_back(fmt::format("{}: {} there, absent here", old.path_text(), old.value));
    } else if (found->second != old.value) {
      differences.push_back(
          fmt::format("{}: {} there, {} here", old.path_text(), old.value, found->second));
    }
  }
  for (const ConfigEntry& entry : news) {
    if (!old_values.contains(entry.path)) {
      differences.push_back(
          fmt::format("{}: absent there, {} here", entry.path_text(), entry.value));
    }
  }
  return differences;
}

}  // namespace wellspring
