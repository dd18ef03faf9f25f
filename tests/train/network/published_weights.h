// Weights and images from a formula (the same as in scripts/torch-weights), and the rounding errors
// of a network. For comparisons with published models; host only.
#pragma once

#include "kernels/runtime/dtype.h"
#include "tests/ops/operation_test.h"
#include "tests/support/plain_safetensors.h"
#include "tests/support/torch_formula.h"
#include "train/network/parameters.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace wellspring::test {

/// In the memory order of PyTorch's files.
inline std::vector<float> formula_tensor(const ParameterTensor& tensor) {
  const bool matrix = tensor.shape.size() > 1;
  const bool about_one = tensor.name.ends_with("weight") || tensor.name.ends_with("running_var");
  const double offset = !matrix && about_one ? 1 : 0;
  const double spread = matrix ? std::sqrt(6 / static_cast<double>(tensor.fan_in())) : 0.25;
  std::vector<float> values;
  for (const double value : formula(tensor.name, static_cast<std::size_t>(tensor.elements())))
    values.push_back(static_cast<float>(offset + spread * value));
  return values;
}

/// Writes a file in the way users of torchvision and timm do.
inline void write_weights(const ParameterArena& arena, const std::filesystem::path& path) {
  std::vector<PlainTensor> tensors;
  for (const ParameterTensor& tensor : arena.tensors()) {
    const std::vector<float> values = formula_tensor(tensor);
    const Bytes bytes = bytes_of(values);
    if (tensor.name == "bn1.running_mean") tensors.push_back(batch_count("bn1"));
    tensors.push_back(
        {tensor.name, ElementType::f32, tensor.file_shape(), {bytes.begin(), bytes.end()}});
  }
  write_plain_safetensors(path, tensors);
}

/// The rounding error of a sum of n terms with random signs grows as sqrt(n) u, and the errors of
/// the layers add in quadrature. The tolerance is eight times that, relative to the largest logit.
/// Rounding does not exceed it, but a wrong constant does: an epsilon of 1e-3 instead of 1e-5 moves
/// the logits by at least 1e-3.
inline double bound_of(const ParameterArena& arena) {
  double longest = 1, layers = 0;
  for (const ParameterTensor& tensor : arena.tensors()) {
    if (tensor.shape.size() < 2) continue;
    longest = std::max(longest, static_cast<double>(tensor.fan_in()));
    ++layers;
  }
  return 8 * std::sqrt(longest * layers) * ops::test::rounding(DType::f32);
}

}  // namespace wellspring::test
