#include "train/checkpoint/model_file.h"

#include "core/error.h"
#include "core/io/file_kind.h"
#include "core/io/files.h"
#include "core/text/json_reason.h"
#include "core/text/parse.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace wellspring {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kFormat = "wellspring model 2";
constexpr std::string_view kOwnFormats = "wellspring ";

[[noreturn]] void fail_metadata(const fs::path& file, const std::string& why) {
  fail(ErrorKind::data, {fmt::format("{}: cannot read the model's metadata", file.string()), why,
                         "use a checkpoint written by this version of the program"});
}

std::string heads_json(const std::vector<HeadSpec>& heads) {
  Json list = Json::array();
  for (const HeadSpec& head : heads) {
    Json entry = {{"name", head.name}, {"loss", to_string(head.loss)}};
    if (head.positions > 1) entry["positions"] = head.positions;
    if (head.is_item()) entry["hidden"] = head.hidden;
    if (head.is_masked())
      entry.update({{"patch", head.patch}, {"patch_values", head.patch_values}});
    if (!head.has_targets()) {
      entry["classes"] = head.classes;
    } else {
      entry["targets"] = Json::array();
      for (const HeadTarget& target : head.targets)
        entry["targets"].push_back({{"name", target.name},
                                    {"unit", target.unit},
                                    {"low", target.low},
                                    {"high", target.high}});
      const auto outputs = static_cast<std::size_t>(head.law.outputs);
      for (const auto& [name, error] : error_names())
        if (error == head.law.error && error != ops::RegressionError::squared)
          entry["error"] = name;
      if (head.law.error == ops::RegressionError::huber) entry["delta"] = head.law.delta;
      if (head.law.error == ops::RegressionError::quantile)
        entry["quantiles"] = std::vector<float>(head.law.level + 1, head.law.level + outputs);
    }
    if (head.is_embedding()) entry["projection"] = head.projection;
    if (head.output != kSampleOutput) entry["output"] = head.output;
    if (!head.average_with.empty()) entry["average_with"] = head.average_with;
    for (const auto& [name, value] : cross_entropy_names())
      if (value == head.cross_entropy && value != CrossEntropy::softmax)
        entry["cross_entropy"] = name;
    list.push_back(std::move(entry));
  }
  return list.dump();
}

ops::RegressionLaw law_from(const Json& entry, const fs::path& file) {
  const auto error = entry.value("error", std::string("squared"));
  const auto quantiles = entry.value("quantiles", std::vector<double>());
  for (const auto& [name, value] : error_names())
    if (name == error && quantiles.size() < ops::RegressionLaw::kMostLevels)
      return make_law(value, entry.value("delta", 1.0), quantiles);
  fail_metadata(file, fmt::format("the error '{}' of a regression is unknown", error));
}

CrossEntropy cross_entropy_from(const Json& entry, const fs::path& file) {
  const auto text = entry.value("cross_entropy", std::string("softmax"));
  for (const auto& [name, value] : cross_entropy_names())
    if (name == text) return value;
  fail_metadata(file, fmt::format("the cross_entropy '{}' of a head is unknown", text));
}

std::vector<HeadSpec> heads_from(const std::string& text, const fs::path& file) {
  try {
    std::vector<HeadSpec> heads;
    for (const Json& entry : Json::parse(text)) {
      HeadSpec head;
      head.name = entry.at("name").get<std::string>();
      head.loss = loss_named(entry.at("loss").get<std::string>());
      head.output = entry.value("output", kSampleOutput);
      head.average_with = entry.value("average_with", std::string());
      head.cross_entropy = cross_entropy_from(entry, file);
      head.positions = entry.value("positions", std::int32_t{1});
      head.hidden = entry.value("hidden", std::uint64_t{0});
      if (head.is_masked()) {
        head.patch = entry.at("patch").get<std::int32_t>();
        head.patch_values = entry.at("patch_values").get<std::int32_t>();
      }
      if (!head.has_targets()) {
        head.classes = entry.at("classes").get<std::vector<std::string>>();
      } else {
        for (const Json& target : entry.at("targets"))
          head.targets.push_back({target.at("name").get<std::string>(),
                                  target.at("unit").get<std::string>(),
                                  target.at("low").get<float>(), target.at("high").get<float>()});
        head.law = law_from(entry, file);
      }
      if (head.is_embedding()) {
        head.projection = entry.at("projection").get<std::vector<std::int32_t>>();
        if (head.projection.empty()) fail_metadata(file, "an embedding has no width");
      }
      heads.push_back(std::move(head));
    }
    place_heads(heads);
    if (heads.empty()) fail_metadata(file, "its list of heads is empty");
    for (const HeadSpec& head : heads) {
      const auto other = std::ranges::find(heads, head.average_with, &HeadSpec::name);
      if (!head.average_with.empty() &&
          (other == heads.end() || other->outputs() != head.outputs()))
        fail_metadata(file,
                      fmt::format("head '{}' is averaged with another kind of head", head.name));
    }
    return heads;
  } catch (const Json::exception& error) {
    fail_metadata(file, json_reason(error.what()));
  }
}

/// Names of input kinds in model files.
const std::vector<std::pair<std::string, SampleKind>>& kind_names() {
  static const std::vector<std::pair<std::string, SampleKind>> names = {
      {"image", SampleKind::image}, {"event", SampleKind::event}, {"set", SampleKind::set}};
  return names;
}

std::string input_json(const SampleLayout& input) {
  std::string kind;
  for (const auto& [name, value] : kind_names())
    if (value == input.kind) kind = name;
  const SampleShape shape = input.shape();
  return Json{{"kind", kind},
              {"shape", {shape.height, shape.width, shape.channels}},
              {"globals", input.globals}}
      .dump();
}

/// Returns 0 for values out of range, which the comparison with the run's layout then refuses.
/// Error (Json::exception) unless the value is a whole number.
int extent(const Json& number) {
  const auto value = number.get_ref<const Json::number_unsigned_t&>();
  return std::in_range<int>(value) ? static_cast<int>(value) : 0;
}

SampleLayout input_from(const std::string& text, const fs::path& file) {
  try {
    const Json json = Json::parse(text);
    const Json& extents = json.at("shape");
    const SampleShape shape = {extent(extents.at(0)), extent(extents.at(1)), extent(extents.at(2))};
    SampleLayout input = SampleLayout::image(shape);
    for (const auto& [name, kind] : kind_names()) {
      if (name != json.at("kind").get<std::string>() || kind == SampleKind::image) continue;
      input = kind == SampleKind::event ? SampleLayout::event(shape.channels)
                                        : SampleLayout::set(shape.width, shape.channels);
    }
    input.globals = extent(json.at("globals"));
    return input;
  } catch (const Json::exception& error) {
    fail_metadata(file, json_reason(error.what()));
  }
}

std::uint64_t step_from(const std::string& text, const fs::path& file) {
  const auto step = parse_number<std::uint64_t>(text);
  if (!step) fail_metadata(file, fmt::format("its step '{}' is not a number", text));
  return *step;
}

SafetensorsFile open_tensors(const fs::path& path) {
  const InputFile file(path);
  const FileKind kind = file_kind(file);
  if (kind == FileKind::pytorch || kind == FileKind::pickle || kind == FileKind::zip)
    fail(ErrorKind::data,
         {fmt::format("{}: not a safetensors file", path.string()),
          "it looks like a file written by torch.save",
          fmt::format("convert it: scripts/torch-weights from-torch {} weights.safetensors",
                      path.string())});
  refuse_other_kinds(file, {FileKind::safetensors}, "a safetensors file");
  return SafetensorsFile(path);
}

/// nullopt if the file was not written by this program.
std::optional<ModelDescription> description_in(const SafetensorsFile& file) {
  const TensorMetadata& metadata = file.metadata();
  const auto format = metadata.find("format");
  if (format == metadata.end() || !format->second.starts_with(kOwnFormats)) return std::nullopt;
  if (format->second != kFormat)
    fail(ErrorKind::data,
         {fmt::format("{}: not a model file of this version of the program", file.path().string()),
          fmt::format("its format is '{}', not '{}'", format->second, kFormat),
          "use the model.safetensors of a checkpoint written by `wellspring train`"});
  const auto text = [&](const std::string& key) {
    const auto found = metadata.find(key);
    if (found == metadata.end()) fail_metadata(file.path(), fmt::format("'{}' is missing", key));
    return found->second;
  };
  return ModelDescription{.step = step_from(text("step"), file.path()),
                          .config_yaml = text("config"),
                          .heads = heads_from(text("heads"), file.path()),
                          .input = input_from(text("input"), file.path())};
}

}  // namespace

TensorMetadata to_metadata(const ModelDescription& model) {
  return {{"format", kFormat},
          {"step", std::to_string(model.step)},
          {"config", model.config_yaml},
          {"heads", heads_json(model.heads)},
          {"input", input_json(model.input)},
          {"layout", "convolutions OIHW, activations NHWC"}};
}

ModelFile::ModelFile(const fs::path& path) : tensors_(open_tensors(path)) {
  if (!foreign()) tensors_.verify();
  description_ = description_in(tensors_);
}

const ModelDescription& ModelFile::described() const {
  if (description_) return *description_;
  fail(ErrorKind::config,
       {fmt::format("{}: the file has no configuration", path().string()),
        "it was not written by `wellspring train`",
        fmt::format("give a configuration: wellspring eval {} CONFIG.yaml", path().string())});
}

}  // namespace wellspring
