// Latents that the caller gives, for samples at chosen parameters of the simulator. Used by commands
// and the Python package; host only.
#pragma once

#include "generators/sample_info.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace wellspring {

/// `values`, rows of `width` numbers, as a column of all latents of the generator for
/// EmitCall::latents. Rows have either the settable latents or all of them; the values of the others
/// have no effect. `place` names the values in errors. Errors (config): the generator cannot make
/// samples at given latents, a wrong width, a value outside the latent's range (of a latent with
/// LatentEnds::rare: not finite, or of the wrong sign).
std::vector<float> given_latents(const SampleInfo& info, std::span<const float> values,
                                 std::int64_t width, const std::string& place);

}  // namespace wellspring
