// safetensors files as other programs write them: without a digest. Called by tests; host only.
#pragma once

#include "core/io/safetensors.h"

#include <filesystem>
#include <string>
#include <vector>

namespace wellspring::test {

/// A tensor with its data.
struct PlainTensor {
  std::string name;
  ElementType type = ElementType::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> data;
};

/// All tensors of a file.
std::vector<PlainTensor> read_tensors(const SafetensorsFile& file);
/// An F32 tensor in another type of floats; truncates what does not fit.
PlainTensor as_type(const PlainTensor& tensor, ElementType type);
/// PyTorch's counter of batches in a normalisation.
PlainTensor batch_count(const std::string& layer);
/// Default metadata: as from PyTorch.
void write_plain_safetensors(const std::filesystem::path& path,
                             const std::vector<PlainTensor>& tensors,
                             const TensorMetadata& metadata = {{"format", "pt"}});

}  // namespace wellspring::test
