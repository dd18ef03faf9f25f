// Reads the values of stored tensors, and describes tensors in messages. Used by checkpoints and
// weight transfer; host only.
#pragma once

#include "core/io/safetensors.h"

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring {

/// True for F16, BF16, F32 and F64, which read_floats converts to f32.
bool holds_floats(const TensorInfo& info);
/// True for the batch counter of PyTorch's normalisation layers; our networks have no such tensor.
bool is_batch_count(const TensorInfo& info);
/// The values of a tensor, converted to f32; holds_floats(info) must be true.
std::vector<float> read_floats(const SafetensorsFile& file, const TensorInfo& info);
/// A shape as text: "[3, 3, 64]".
std::string shape_text(const std::vector<std::int64_t>& shape);
/// Joins the first lines and counts the rest, to keep messages short: "a; b; and 7 more".
std::string listed(std::vector<std::string> lines);

}  // namespace wellspring
