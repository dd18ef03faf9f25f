// Chunks of HDF5 arrays: compression by LZ4 and Zstandard, in the registered formats that
// h5py reads (with the package hdf5plugin), and checks of damaged chunks, beyond whose ends the
// library would read. Called by core/io/hdf5.cpp, which holds the library's lock; host only.
#pragma once

#include "core/io/compression.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace wellspring {

/// Adds LZ4 and Zstandard to the library. False on failure.
bool register_hdf5_codecs();

/// Adds the shuffle of bytes and the codec to the filters of a new array, which has chunks of at
/// most 2^31 bytes.
void compress_chunks(std::int64_t creation, const Compression& compression);

/// How an array is divided.
class Hdf5Chunks {
 public:
  /// Not in chunks.
  Hdf5Chunks() = default;
  /// `creation`: the array's properties.
  Hdf5Chunks(std::int64_t creation, int rank, std::size_t element_bytes);

  /// False if chunks exceed the largest extents of the array, which the library refuses to write.
  bool fit(const std::vector<std::uint64_t>& largest) const;
  /// Size of a chunk as values, bytes; 0: not in chunks.
  std::size_t bytes() const { return bytes_; }
  /// The cache that sequential reading needs, bytes: all chunks that contain a row, twice.
  std::size_t cache_bytes(const std::vector<std::int64_t>& shape) const;
  /// The most bytes that one byte of the file can become.
  double most_expansion() const;
  /// False if a chunk of rows [first, first + count) is stored without compression, but not with
  /// its full size.
  bool check(std::int64_t dataset, const std::vector<std::int64_t>& shape, std::int64_t first,
             std::int64_t count);

 private:
  bool check_row_of_chunks(std::int64_t dataset, const std::vector<std::int64_t>& shape,
                           std::uint64_t chunk) const;

  std::vector<std::uint64_t> extents_;
  std::size_t bytes_ = 0;
  std::uint32_t codecs_ = 0;  ///< bit i: filter i changes the size
  bool zstd_ = false;
  std::vector<bool> checked_;  ///< by chunk along the rows
};

/// Size of the chunks that are read or written while an object of this class exists, bytes. One that
/// has another size after LZ4 or Zstandard is damaged. The library's own deflate has only its checksum.
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
