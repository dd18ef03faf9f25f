// The SHA-256 of samples, to compare machines, devices and versions. Called by the command line and
// by the golden tests; host only.
#pragma once

#include "generators/generator.h"
#include "generators/samples.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace wellspring {

/// SHA-256, as 64 hexadecimal digits, over each sample in order: its columns as columns_of lists
/// them, x in f32 through the identity view, all little-endian. Independent of `making`.
std::string sample_digest(const Generator& generator, const SampleRange& range,
                          const SampleMaking& making = {});

/// The same with all it takes to repeat it: generator, parameters, seed, first, count, shape, how
/// it was made, version.
nlohmann::ordered_json digest_report(const Generator& generator, const SampleRange& range,
                                     const SampleMaking& making = {});

}  // namespace wellspring
