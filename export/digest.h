// SHA-256 of samples, to compare machines, devices and versions. Called by the command line and by
// the golden tests; host only.
#pragma once

#include "export/sample_reader.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace wellspring {

/// SHA-256 of the samples in order, as 64 hexadecimal digits. Columns are in the order of
/// columns_of; x is little-endian f32. Independent of the batch size.
std::string sample_digest(SampleReader& feed);
/// The digest of a generator's samples, without augmentation.
std::string sample_digest(Generator& generator, const SampleRange& range,
                          const SampleMaking& making = {});

/// A report with this digest (`sha256`), the digest of each column (`columns`, including `source`,
/// i32, and `sample`, i64), and everything needed to compute them again: SampleReader::identity,
/// layout, making and program version. `progress` receives the number of finished samples.
nlohmann::ordered_json digest_report(SampleReader& feed,
                                     const std::function<void(std::uint64_t)>& progress = {});

}  // namespace wellspring
