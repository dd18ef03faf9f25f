// safetensors files: named tensors with a JSON header, as in Hugging Face's library and our
// checkpoints. Format: u64 header length, header, data; github.com/huggingface/safetensors,
// "Format". Called by checkpoints, export and tests; host only.
#pragma once

#include "core/io/bytes.h"
#include "core/io/element_type.h"
#include "core/io/files.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace wellspring {

struct TensorInfo {
  std::string name;
  ElementType type = ElementType::f32;
  std::vector<std::int64_t> shape;  ///< {} is a scalar
  std::uint64_t offset = 0;         ///< bytes from the beginning of the data
  std::uint64_t bytes = 0;
};

/// A tensor to write.
struct TensorData {
  std::string name;
  ElementType type = ElementType::f32;
  std::vector<std::int64_t> shape;
  Bytes data;
};

using TensorMetadata = std::map<std::string, std::string>;

/// Writes a whole file; identical tensors and metadata give identical bytes. Tensors are ordered by
/// decreasing element size, then as given, so each is aligned to its element size. The data begins
/// at a multiple of 64. Adds to the metadata a "digest", the SHA-256 of names, types, shapes,
/// metadata and data; `SafetensorsFile::verify` checks it.
void write_safetensors(ByteSink& sink, std::span<const TensorData> tensors,
                       const TensorMetadata& metadata = {});

/// A file opened for reading. The whole header is validated before use.
class SafetensorsFile {
 public:
  /// Throws data errors for a missing or truncated file, an invalid header, offsets that overlap,
  /// leave gaps or do not match the shapes, or an unsupported element type.
  explicit SafetensorsFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return file_.path(); }
  const TensorMetadata& metadata() const { return metadata_; }
  /// The tensors, in data order.
  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  /// nullptr if it does not exist.
  const TensorInfo* find(const std::string& name) const;
  /// Throws a data error, with the nearest name, if it does not exist.
  const TensorInfo& tensor(const std::string& name) const;
  /// Reads a tensor; `out` has its size in bytes.
  void read(const TensorInfo& tensor, std::span<std::byte> out) const;
  /// True for files that write_safetensors wrote, unless their digest was removed.
  bool has_digest() const;
  /// Throws a data error if the digest is missing or does not match the content.
  void verify() const;

 private:
  InputFile file_;
  TensorMetadata metadata_;
  std::vector<TensorInfo> tensors_;
  std::uint64_t data_begin_ = 0;
};

}  // namespace wellspring
