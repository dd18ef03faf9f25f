#include "export/sample_reader.h"

#include "core/config/image_size.h"
#include "core/config/yaml_json.h"
#include "core/io/sha256.h"
#include "core/text/plural.h"
#include "core/text/text.h"
#include "generators/own/own_generator.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <span>
#include <stdexcept>

namespace wellspring {

void SampleReader::make_files(const std::function<void(const HostSamples&)>&) {
  throw std::logic_error("the samples have no files");
}

GeneratorReader::GeneratorReader(Generator& generator, const SampleRange& range,
                                 const SampleMaking& making)
    : generator_(generator),
      range_(range),
      making_(making),
      origins_{{generator.info().name, generator.info(), true, {}, generator.parameters_yaml()}} {
  if (making.dense == DenseLabels::plane) expect_plane(generator.info());
}

GeneratorReader::GeneratorReader(std::unique_ptr<Generator> generator, const SampleRange& range,
                                 const SampleMaking& making)
    : GeneratorReader(*generator, range, making) {
  kept_ = std::move(generator);
}

void GeneratorReader::make(const std::function<void(const HostSamples&)>& take) {
  maker_.emplace(generator_, making_, range_.count);
  SampleRange rest = range_;
  rest.first += skipped_;
  rest.count -= skipped_;
  if (!rest.latents.empty())
    rest.latents.erase(rest.latents.begin(),
                       rest.latents.begin() + static_cast<std::ptrdiff_t>(
                                                  skipped_ * rest.latents.size() / range_.count));
  maker_->make(rest, take);
}

SampleHeading GeneratorReader::heading() const {
  std::string remark = fmt::format("seed {}   ids {} to {}", range_.seed, range_.first,
                                   range_.first + range_.count - 1);
  if (layout().kind == SampleKind::image) {
    remark += fmt::format("   {} x {}", layout().width, layout().height);
  } else if (const auto best = generator_.best_accuracy()) {
    remark += fmt::format("   best possible accuracy {:.4f}", *best);
  }
  return {generator_.info().name, remark, one_line(generator_.parameters_yaml())};
}

std::string GeneratorReader::summary() const {
  return fmt::format("{} of {} (version {}), ids from {}", counted(range_.count, "sample"),
                     generator_.info().name, generator_.info().version, range_.first);
}

nlohmann::ordered_json GeneratorReader::identity() const {
  nlohmann::ordered_json identity = {{"generator", generator_.info().name}};
  add_versions(identity, generator_.info());
  if (const auto* const own = dynamic_cast<const OwnGenerator*>(&generator_))
    identity["generator_header"] = own->hash();
  identity["parameters"] = yaml_to_json(generator_.parameters_yaml());
  if (layout().kind == SampleKind::image)
    identity["size"] = yaml_to_json(ImageSize(layout().height, layout().width).to_string());
  identity["seed"] = range_.seed;
  identity["first"] = range_.first;
  identity["count"] = range_.count;
  if (!range_.latents.empty())
    identity["given_latents"] = Sha256().update(std::as_bytes(std::span(range_.latents))).hex();
  return identity;
}

std::vector<std::string> GeneratorReader::generators() const {
  const auto* const own = dynamic_cast<const OwnGenerator*>(&generator_);
  return {own != nullptr ? own->path() : generator_.info().name};
}

nlohmann::ordered_json GeneratorReader::making() const {
  return {{"device", making_.device.to_string()}, {"batch", making_.batch}};
}

void add_versions(nlohmann::ordered_json& identity, const SampleInfo& info) {
  identity["generator_version"] = info.version;
  for (const UsedGenerator& used : info.uses) {
    identity["uses"][used.name] = {{"generator_version", used.version}};
  }
}

std::string one_line(const std::string& yaml) {
  std::string line;
  for (const char character : yaml) {
    if (character != '\n') {
      line += character;
    } else if (!line.empty() && line.back() != '\n') {
      line += "   ";
    }
  }
  return std::string(trim(line));
}

}  // namespace wellspring
