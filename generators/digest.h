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
std::string sample_digest(Generator& generator, const SampleRange& range,
                          const SampleMaking& making = {});

/// The same with all it takes to repeat it: generator and its version, parameters, seed, first,
/// count, shape, how it was made, version of the program.
nlohmann::ordered_json digest_report(Generator& generator, const SampleRange& range,
                                     const SampleMaking& making = {});

}  // namespace wellspring
