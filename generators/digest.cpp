#include "generators/digest.h"

#include "core/sha256.h"
#include "core/version.h"

#include <nlohmann/json.hpp>

#include <cstddef>

namespace wellspring {

std::string sample_digest(const Generator& generator, const SampleRange& range,
                          const SampleMaking& making) {
  const auto elements = static_cast<std::size_t>(generator.shape().elements());
  const std::size_t latents = generator.info().latents.size();
  Sha256 hash;
  SampleReader reader(generator, range.seed, making);
  // Sample by sample, so that the batch leaves no mark.
  reader.read(range.first, range.count, [&](const HostSamples& samples) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(samples.count); ++i) {
      hash.update(std::as_bytes(samples.x.subspan(i * elements, elements)));
      hash.update(std::as_bytes(samples.label.subspan(i, 1)));
      hash.update(std::as_bytes(samples.latents.subspan(i * latents, latents)));
      hash.update(std::as_bytes(samples.weight.subspan(i, 1)));
    }
  });
  return hash.hex();
}

nlohmann::ordered_json digest_report(const Generator& generator, const SampleRange& range,
                                     const SampleMaking& making) {
  const SampleShape shape = generator.shape();
  return {{"generator", generator.info().name},
          {"parameters", generator.parameters_yaml()},
          {"seed", range.seed},
          {"first", range.first},
          {"count", range.count},
          {"shape", {shape.height, shape.width, shape.channels}},
          {"device", making.device.to_string()},
          {"batch", making.batch},
          {"version", kVersion},
          {"sha256", sample_digest(generator, range, making)}};
}

}  // namespace wellspring
