// Latents that the caller gives, for samples at chosen parameters of the simulator. Used by
// commands and the Python package; host only.
#pragma once

#include "generators/sample_info.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace wellspring {

/// Converts `values`, rows of `width` numbers, to a column of all of the generator's latents, for
/// EmitCall::latents. Rows have either the settable latents or all latents; values of latents that
/// cannot be set have no effect. `place` names the values in errors. Throws config errors for a
/// generator that cannot make samples at given latents, for a wrong width, and for values outside a
/// latent's range (with LatentEnds::rare: not finite, or of the wrong sign).
std::vector<float> given_latents(const SampleInfo& info, std::span<const float> values,
                                 std::int64_t width, const std::string& place);

}  // namespace wellspring
