// The SHA-256 of samples, to compare machines, devices and versions. Called by the command line and
// by the golden tests; host only.
#pragma once

#include "export/sample_reader.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace wellspring {

/// SHA-256, as 64 hexadecimal digits, over each sample in order: its columns as columns_of lists
/// them, x in f32, all little-endian. Independent of the batches in which they are made.
std::string sample_digest(SampleReader& feed);
/// The same of a generator's samples, without augmentation.
std::string sample_digest(Generator& generator, const SampleRange& range,
                          const SampleMaking& making = {});

/// The same as `sha256`, that of each column alone as `columns`, where `source` (i32) and `sample`
/// (i64) say which samples these are, and all it takes to repeat it: SampleReader::identity, layout,
/// how it was made, version of the program. `progress`: with how many samples are made.
nlohmann::ordered_json digest_report(SampleReader& feed,
                                     const std::function<void(std::uint64_t)>& progress = {});

}  // namespace wellspring
