#include "tests/generators/golden.h"

#include "core/io/files.h"
#include "generators/generator.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>

namespace wellspring::test {
namespace {

using Json = nlohmann::ordered_json;

Json read_file(const std::string& file) {
  return std::filesystem::exists(file) ? Json::parse(read_text(file)) : Json::object();
}

std::vector<ParamSetting> settings_of(const Json& entry) {
  std::vector<ParamSetting> settings;
  for (const auto& [key, value] : entry.at("parameters").items()) {
    settings.push_back({key, value.get<std::string>(), {}});
  }
  return settings;
}

Json parameters_of(const std::vector<ParamSetting>& settings) {
  Json parameters = Json::object();
  for (const ParamSetting& setting : settings) parameters[setting.name] = setting.value;
  return parameters;
}

std::string one_line(const Json& value) {
  if (!value.is_object()) return value.dump();
  std::string text;
  for (const auto& [key, member] : value.items()) {
    text += fmt::format("{}\"{}\": {}", text.empty() ? "" : ", ", key, one_line(member));
  }
  return "{" + text + "}";
}

std::string one_per_line(const Json& values) {
  std::string text;
  for (const Json& value : values) {
    text += fmt::format("{}  {}", text.empty() ? "" : ",\n", one_line(value));
  }
  return "[\n" + text + "\n ]";
}

}  // namespace

std::vector<std::string> generator_names() {
  std::vector<std::string> names;
  for (const GeneratorEntry& entry : generator_registry()) names.push_back(entry.name);
  return names;
}

Golden read_golden(const std::string& generator) {
  Golden golden;
  golden.file = WELLSPRING_SOURCE_DIR "/tests/generators/golden/" + generator + ".json";
  const Json document = read_file(golden.file);
  for (const Json& entry : document.value("samples", Json::array())) {
    golden.samples.push_back({settings_of(entry),
                              entry.at("size"),
                              {entry.at("seed"), entry.at("first"), entry.at("count")},
                              entry.value("plane", false) ? DenseLabels::plane : DenseLabels::none,
                              entry.at("sha256")});
  }
  if (document.contains("teams")) {
    const Json& teams = document["teams"];
    golden.teams = {settings_of(teams), teams.at("height"), teams.at("width")};
  }
  if (document.contains("quick")) golden.quick = settings_of(document["quick"]);
  return golden;
}

void write_golden(const Golden& golden) {
  Json document = read_file(golden.file);
  Json samples = Json::array();
  for (const GoldenSamples& entry : golden.samples) {
    samples.push_back({{"parameters", parameters_of(entry.settings)},
                       {"size", entry.size},
                       {"seed", entry.range.seed},
                       {"first", entry.range.first},
                       {"count", entry.range.count}});
    if (entry.dense == DenseLabels::plane) samples.back()["plane"] = true;
    samples.back()["sha256"] = entry.sha256;
  }
  document["samples"] = samples;
  std::string text;
  for (const auto& [key, value] : document.items()) {
    text += fmt::format("{} \"{}\": ", text.empty() ? "" : ",\n", key);
    text += value.is_array() ? one_per_line(value) : one_line(value);
  }
  write_file(golden.file, "{\n" + text + "\n}\n");
}

}  // namespace wellspring::test
