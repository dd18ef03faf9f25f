#include "generators/export.h"

#include "core/error.h"
#include "core/npy.h"
#include "core/version.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring {
namespace {

nlohmann::ordered_json metadata(const Generator& generator, const SampleRange& range) {
  const GeneratorInfo& info = generator.info();
  nlohmann::ordered_json latents = nlohmann::ordered_json::array();
  for (const LatentInfo& latent : info.latents) {
    latents.push_back(
        {{"name", latent.name}, {"unit", latent.unit}, {"low", latent.low}, {"high", latent.high}});
  }
  return {{"generator", info.name},
          {"reference", info.reference},
          {"parameters", generator.parameters_yaml()},
          {"seed", range.seed},
          {"first", range.first},
          {"count", range.count},
          {"classes", info.classes},
          {"features", info.features},
          {"latents", std::move(latents)},
          {"version", kVersion}};
}

std::vector<std::int64_t> shape_of_x(const Generator& generator, std::int64_t count) {
  const SampleShape shape = generator.shape();
  if (generator.info().kind == SampleKind::event) return {count, shape.channels};
  return {count, shape.height, shape.width, shape.channels};
}

void write_npz(const Generator& generator, const SampleRange& range, const SampleMaking& making,
               const std::filesystem::path& path) {
  const auto count = static_cast<std::int64_t>(range.count);
  constexpr double kMostBytes = 0x1p60;  // far beyond any disk, and within all integers used here
  if (static_cast<double>(count) * static_cast<double>(generator.shape().elements()) *
          sizeof(float) >
      kMostBytes) {
    fail(ErrorKind::config,
         {fmt::format("an export of {} samples does not fit into any file", count),
          "it would have more than 2^60 bytes", "export fewer at a time: --first and --count"});
  }
  const auto latents = static_cast<std::int64_t>(generator.info().latents.size());
  // x is by far the largest and goes to the file as it is made; the truth beside it is kept.
  std::vector<std::int32_t> label;
  std::vector<float> latent, weight;
  NpzWriter file(path);
  file.begin("x", {ElementType::f32, shape_of_x(generator, count)});
  SampleReader reader(generator, range.seed, making);
  reader.read(range.first, range.count, [&](const HostSamples& samples) {
    file.append(std::as_bytes(samples.x));
    label.insert(label.end(), samples.label.begin(), samples.label.end());
    latent.insert(latent.end(), samples.latents.begin(), samples.latents.end());
    weight.insert(weight.end(), samples.weight.begin(), samples.weight.end());
  });
  file.end();
  file.add("label", {ElementType::i32, {count}}, bytes_of(label));
  file.add("latents", {ElementType::f32, {count, latents}}, bytes_of(latent));
  file.add("weight", {ElementType::f32, {count}}, bytes_of(weight));
  file.add_file("metadata.json", bytes_of(metadata(generator, range).dump(2)));
  file.commit();
}

}  // namespace

void export_samples(const Generator& generator, const SampleRange& range,
                    const SampleMaking& making, const std::filesystem::path& path) {
  const std::string ending = path.extension().string();
  if (ending == ".npz") return write_npz(generator, range, making, path);
  fail(ErrorKind::config, {fmt::format("cannot export to '{}'", path.string()),
                           ending.empty() ? "the ending names the format, and there is none"
                                          : fmt::format("the ending names the format, and '{}' is "
                                                        "not one this version writes",
                                                        ending),
                           "give a name that ends in .npz"});
}

}  // namespace wellspring
