#include "generators/digest.h"

#include "core/bytes.h"
#include "core/sha256.h"
#include "core/version.h"

#include <nlohmann/json.hpp>

#include <cstddef>

namespace wellspring {
namespace {

Bytes row_of(const BatchColumn& column, std::int64_t row) {
  const std::size_t bytes = column.row_bytes();
  return {static_cast<const std::byte*>(column.data) + static_cast<std::size_t>(row) * bytes,
          bytes};
}

}  // namespace

std::string sample_digest(Generator& generator, const SampleRange& range,
                          const SampleMaking& making) {
  Sha256 hash;
  SampleMaker maker(generator, making, range.count);
  // Sample by sample, so that the batch leaves no mark.
  maker.make(range, [&](const HostSamples& samples) {
    const auto columns = columns_of(samples.rows);
    for (std::int64_t row = 0; row < samples.count(); ++row) {
      for (const BatchColumn& column : columns) hash.update(row_of(column, row));
    }
  });
  return hash.hex();
}

nlohmann::ordered_json digest_report(Generator& generator, const SampleRange& range,
                                     const SampleMaking& making) {
  const SampleShape shape = generator.layout().shape();
  std::string digest = sample_digest(generator, range, making);
  return {{"generator", generator.info().name},
          {"generator_version", generator.info().version},
          {"parameters", generator.parameters_yaml()},
          {"seed", range.seed},
          {"first", range.first},
          {"count", range.count},
          {"shape", {shape.height, shape.width, shape.channels}},
          {"device", making.device.to_string()},
          {"batch", making.batch},
          {"version", kVersion},
          {"sha256", std::move(digest)}};
}

}  // namespace wellspring
