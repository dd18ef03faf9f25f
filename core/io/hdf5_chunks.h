// Chunks of HDF5 arrays: LZ4 and Zstandard compression in the registered formats that h5py reads
// with the package hdf5plugin, and detection of damaged chunks, which would make the library read
// out of bounds. Called by core/io/hdf5.cpp, which holds the library's lock; host only.
#pragma once

#include "core/io/compression.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace wellspring {

/// Adds LZ4 and Zstandard to the library. False on failure.
bool register_hdf5_codecs();

/// Adds the byte shuffle and the codec to the filters of a new array. The array's chunks have at
/// most 2^31 bytes.
void compress_chunks(std::int64_t creation, const Compression& compression);

/// Division of an array into chunks.
class Hdf5Chunks {
 public:
  /// An array without chunks.
  Hdf5Chunks() = default;
  /// `creation`: the array's properties.
  Hdf5Chunks(std::int64_t creation, int rank, std::size_t element_bytes);

  /// False if a chunk exceeds the array's largest extents; the library refuses to write those.
  bool fit(const std::vector<std::uint64_t>& largest) const;
  /// Uncompressed size of a chunk in bytes; 0: no chunks.
  std::size_t bytes() const { return bytes_; }
  /// Cache size in bytes for sequential reading: twice the size of the chunks that contain one row.
  std::size_t cache_bytes(const std::vector<std::int64_t>& shape) const;
  /// Maximum number of bytes that one byte of the file can expand to.
  double most_expansion() const;
  /// False if a chunk of rows [first, first + count) is stored uncompressed but does not have its
  /// full size.
  bool check(std::int64_t dataset, const std::vector<std::int64_t>& shape, std::int64_t first,
             std::int64_t count);

 private:
  bool check_row_of_chunks(std::int64_t dataset, const std::vector<std::int64_t>& shape,
                           std::uint64_t chunk) const;

  std::vector<std::uint64_t> extents_;
  std::size_t bytes_ = 0;
  std::uint32_t codecs_ = 0;  ///< bit i: filter i changes the size
  bool zstd_ = false;
  std::vector<bool> checked_;  ///< per chunk along the rows
};

/// During its lifetime, sets the size in bytes of chunks read or written. LZ4 and Zstandard chunks
/// of any other size are damaged; deflate, the library's own filter, checks only its checksum.
class ExpectedChunk {
 public:
  explicit ExpectedChunk(std::size_t bytes) : before_(expected()) { expected() = bytes; }
  ~ExpectedChunk() { expected() = before_; }
  ExpectedChunk(const ExpectedChunk&) = delete;
  ExpectedChunk& operator=(const ExpectedChunk&) = delete;

  static std::size_t& expected();

 private:
  std::size_t before_;
};

}  // namespace wellspring
