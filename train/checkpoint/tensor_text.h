// Tensors of files as values and as words in messages. Used by checkpoints and by the transfer of
// weights; host only.
#pragma once

#include "core/io/safetensors.h"

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring {

/// The values of an f32 tensor.
std::vector<float> read_floats(const SafetensorsFile& file, const TensorInfo& info);
/// "[3, 3, 64]".
std::string shape_text(const std::vector<std::int64_t>& shape);
/// The first few, so that a message stays readable: "a; b; and 7 more".
std::string listed(std::vector<std::string> lines);

}  // namespace wellspring
