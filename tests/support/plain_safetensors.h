// safetensors files as other programs write them, without a digest. For tests; host only.
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
/// An F32 tensor converted to another float type; bits that do not fit are truncated.
PlainTensor as_type(const PlainTensor& tensor, ElementType type);
/// The batch counter that PyTorch stores with a normalisation layer.
PlainTensor batch_count(const std::string& layer);
/// The default metadata is typical of PyTorch users' files.
void write_plain_safetensors(const std::filesystem::path& path,
                             const std::vector<PlainTensor>& tensors,
                             const TensorMetadata& metadata = {{"format", "pt"}});

}  // namespace wellspring::test
