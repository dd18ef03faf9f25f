// Tensors in files as values, and their text in messages. Used by checkpoints and weight transfer;
// host only.
#pragma once

#include "core/io/safetensors.h"

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring {

/// The values of an f32 tensor.
std::vector<float> read_floats(const SafetensorsFile& file, const TensorInfo& info);
/// A shape as text: "[3, 3, 64]".
std::string shape_text(const std::vector<std::int64_t>& shape);
/// The first lines, to keep messages short: "a; b; and 7 more".
std::string listed(std::vector<std::string> lines);

}  // namespace wellspring
