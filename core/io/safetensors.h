// safetensors: named tensors with a JSON header, as Hugging Face's library and our checkpoints
// write them. Format: u64 header length, header, data; github.com/huggingface/safetensors,
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
  std::uint64_t offset = 0;         ///< of its bytes from the beginning of the data
  std::uint64_t bytes = 0;
};

/// A tensor to be written.
struct TensorData {
  std::string name;
  ElementType type = ElementType::f32;
  std::vector<std::int64_t> shape;
  Bytes data;
};

using TensorMetadata = std::map<std::string, std::string>;

/// Writes a whole file; equal tensors and metadata make equal bytes. Wider elements come first,
/// then the given order, so that every tensor is aligned to its element, and the data begins at a
/// multiple of 64. The metadata gain "digest", a SHA-256 over names, types, shapes, metadata and
/// data, which `SafetensorsFile::verify` checks.
void write_safetensors(ByteSink& sink, std::span<const TensorData> tensors,
                       const TensorMetadata& metadata = {});

/// A file opened for reading. Everything the header says is checked before anything is believed.
class SafetensorsFile {
 public:
  /// Errors (data): missing, truncated, a header that is no such header, offsets that overlap,
  /// leave gaps or do not fit the shapes, an element type we do not have.
  explicit SafetensorsFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return file_.path(); }
  const TensorMetadata& metadata() const { return metadata_; }
  /// In the order of their data.
  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  /// nullptr if there is none.
  const TensorInfo* find(const std::string& name) const;
  /// Error (data) with the nearest name if there is none.
  const TensorInfo& tensor(const std::string& name) const;
  /// Reads one; `out` has its size in bytes.
  void read(const TensorInfo& tensor, std::span<std::byte> out) const;
  /// Error (data) if the file has no digest or its digest is not that of its content.
  void verify() const;

 private:
  InputFile file_;
  TensorMetadata metadata_;
  std::vector<TensorInfo> tensors_;
  std::uint64_t data_begin_ = 0;
};

}  // namespace wellspring
