#include "cli/describe_json.h"

#include "kernels/batch/batch_columns.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <map>
#include <memory>
#include <string>

namespace wellspring::cli {
namespace {

using Json = nlohmann::ordered_json;

/// null for an open end.
Json end_of_range(double end) {
  return std::isfinite(end) ? Json(end) : Json();
}

Json to_json(const ParamPreset& preset) {
  Json settings = Json::object();
  for (const ParamSetting& setting : preset.settings) settings[setting.name] = setting.value;
  return {{"name", preset.name}, {"help", preset.help}, {"settings", std::move(settings)}};
}

Json to_json(const ParamRow& row) {
  Json object = {{"name", row.name}, {"type", row.type_text()}, {"unit", row.unit}};
  object["default"] = row.required ? Json() : Json(row.default_text);
  object["low"] = end_of_range(row.low);
  object["high"] = end_of_range(row.high);
  object["choices"] = row.choices;
  object["help"] = row.help;
  object["source"] = row.source;
  if (!row.effect.empty()) object["effect"] = row.effect;
  for (const ParamPreset& preset : row.presets) object["presets"].push_back(to_json(preset));
  return object;
}

Json to_json(const LatentInfo& latent) {
  return {{"name", latent.name},
          {"unit", latent.unit},
          {"low", latent.low},
          {"high", latent.high},
          {"help", latent.help}};
}

Json to_json(const ValueInfo& value) {
  return {{"name", value.name}, {"unit", value.unit}};
}

Json to_json(const std::optional<PlaneInfo>& plane) {
  if (!plane) return nullptr;
  static const std::map<PlaneInfo::Kind, const char*> kinds = {
      {PlaneInfo::Kind::number, "number"},
      {PlaneInfo::Kind::class_number, "class_number"},
      {PlaneInfo::Kind::depth, "depth"}};
  return {{"name", plane->name},
          {"help", plane->help},
          {"unit", plane->unit},
          {"kind", kinds.at(plane->kind)}};
}

Json to_json(const BestResult& best) {
  return {{"metric", best.metric}, {"value", best.value}};
}

template <class Thing>
Json list_of(const std::vector<Thing>& things) {
  Json list = Json::array();
  for (const Thing& thing : things) list.push_back(to_json(thing));
  return list;
}

}  // namespace

Json to_json(const GeneratorEntry& entry) {
  constexpr int kAnySize = 64;  // affects only the layout
  return to_json(entry, entry.make({}, kAnySize)->info());
}

Json to_json(const GeneratorEntry& entry, const SampleInfo& info) {
  return {{"name", entry.name},
          {"version", info.version},
          {"summary", entry.summary},
          {"reference", info.reference},
          {"sample", to_string(info.layout)},
          {"features", list_of(info.features)},
          {"globals", list_of(info.globals)},
          {"targets", list_of(info.targets)},
          {"best", list_of(info.best)},
          {"random_blocks",
           {{"scene", info.draws.scene},
            {"part", info.draws.part},
            {"part_side", info.draws.side},
            {"pixel", info.draws.pixel}}},
          {"classes", info.classes},
          {"latents", list_of(info.latents)},
          {"settable_latents", info.settable_latents},
          {"plane", to_json(info.plane)},
          {"parameters", list_of(entry.parameters)}};
}

Json to_json(const ModelEntry& entry) {
  return {{"name", entry.name},
          {"summary", entry.summary},
          {"reference", entry.reference},
          {"outputs", entry.outputs},
          {"parameters", list_of(entry.parameters)}};
}

Json to_json(const DatasetFormat& format) {
  return {{"name", format.name},
          {"summary", format.summary},
          {"files", format.files},
          {"parameters", list_of(format.parameters)}};
}

Json to_json(const std::vector<ConfigSection>& sections) {
  Json list = Json::array();
  for (const ConfigSection& section : sections) {
    list.push_back({{"section", section.path},
                    {"condition", section.condition},
                    {"others", section.others},
                    {"parameters", list_of(section.rows)}});
  }
  return list;
}

Json to_json(const std::vector<AugmentEntry>& operations) {
  Json list = Json::array();
  for (const AugmentEntry& entry : operations) {
    list.push_back({{"name", entry.name},
                    {"summary", entry.summary},
                    {"source", entry.source},
                    {"main", entry.takes_value() ? entry.main : ""},
                    {"parameters", list_of(entry.rows())}});
  }
  return list;
}

Json to_json(const AugmentPreset& preset) {
  return {{"name", preset.name},
          {"summary", preset.summary},
          {"source", preset.source},
          {"list", preset.list}};
}

}  // namespace wellspring::cli
