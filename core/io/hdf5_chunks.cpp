#include "core/io/hdf5_chunks.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <hdf5.h>
#include <limits>
#include <lz4.h>
#include <numeric>
#include <zstd.h>

namespace wellspring {
namespace {

// Numbers in the HDF Group's list of registered filters.
constexpr H5Z_filter_t kLz4 = 32004, kZstd = 32015;
constexpr std::size_t kChecksumBytes = 4;  ///< fletcher32 may be between a codec and the values
constexpr std::size_t kMostBytes = std::numeric_limits<std::int32_t>::max();  ///< LZ4 takes no more

/// True if `bytes` is the size of a chunk of `chunk` bytes, with or without a checksum.
bool is_size_of(std::size_t chunk, std::uint64_t bytes) {
  return bytes >= chunk && bytes - chunk <= kChecksumBytes;
}

bool expected(std::uint64_t bytes) {
  return is_size_of(ExpectedChunk::expected(), bytes);
}

/// Replaces the library's buffer with a new one of `capacity` bytes. `fill(out)` writes it and
/// returns the number of bytes written, or 0 on failure.
template <class Fill>
std::size_t replace(void** buffer, std::size_t* size, std::size_t capacity, Fill fill) {
  auto* const out = static_cast<char*>(H5allocate_memory(capacity, false));
  if (out == nullptr) return 0;
  const std::size_t bytes = fill(out);
  if (bytes == 0) {
    H5free_memory(out);
    return 0;
  }
  H5free_memory(*buffer);
  *buffer = out;
  *size = capacity;
  return bytes;
}

std::size_t zstd(unsigned flags, std::size_t count, const unsigned* values, std::size_t bytes,
                 std::size_t* size, void** buffer) {
  const auto* const in = static_cast<const char*>(*buffer);
  if ((flags & H5Z_FLAG_REVERSE) == 0) {
    const std::size_t most = ZSTD_compressBound(bytes);
    return replace(buffer, size, most, [&](char* out) {
      const int level = count > 0 ? static_cast<int>(values[0]) : ZSTD_CLEVEL_DEFAULT;
      const std::size_t written = ZSTD_compress(out, most, in, bytes, level);
      return ZSTD_isError(written) != 0 ? 0 : written;
    });
  }
  const unsigned long long stated = ZSTD_getFrameContentSize(in, bytes);
  if (!expected(stated)) return 0;  // "unknown" and "damaged" are large numbers
  return replace(buffer, size, stated, [&](char* out) {
    return ZSTD_decompress(out, stated, in, bytes) == stated ? stated : 0;
  });
}

/// Big-endian integers of the LZ4 filter.
void put(char* out, std::uint64_t value, int bytes) {
  for (int i = bytes; i-- > 0; value >>= 8) out[i] = static_cast<char>(value & 0xff);
}
std::uint64_t get(const char* in, int bytes) {
  std::uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) value = value << 8 | static_cast<unsigned char>(in[i]);
  return value;
}

/// A chunk contains its size (8 bytes) and the size of its blocks (4), then the stored size (4) and
/// the bytes of each block. A block is uncompressed if its stored size equals its own size.
constexpr std::size_t kLz4Header = 12, kLz4Size = 4;

std::size_t lz4_packed(char* out, const char* in, std::size_t bytes) {
  put(out, bytes, 8);
  put(out + 8, bytes, 4);
  char* const block = out + kLz4Header + kLz4Size;
  const int length = static_cast<int>(bytes);
  const int packed = LZ4_compress_default(in, block, length, length - 1);  // 0: not smaller
  if (packed <= 0) std::memcpy(block, in, bytes);
  const std::size_t stored = packed > 0 ? static_cast<std::size_t>(packed) : bytes;
  put(out + kLz4Header, stored, kLz4Size);
  return kLz4Header + kLz4Size + stored;
}

/// False for a damaged chunk.
bool lz4_unpacked(char* out, std::size_t size, const char* in, std::size_t bytes) {
  const std::size_t block = get(in + 8, 4);
  if (block == 0) return false;
  std::size_t at = kLz4Header;
  for (std::size_t done = 0; done < size; done += std::min(block, size - done)) {
    const std::size_t part = std::min(block, size - done);
    if (bytes - at < kLz4Size) return false;
    const std::size_t stored = get(in + at, kLz4Size);
    at += kLz4Size;
    if (stored > bytes - at || stored > kMostBytes) return false;
    if (stored == part)
      std::memcpy(out + done, in + at, part);
    else if (LZ4_decompress_safe(in + at, out + done, static_cast<int>(stored),
                                 static_cast<int>(part)) != static_cast<int>(part))
      return false;
    at += stored;
  }
  return true;
}

std::size_t lz4(unsigned flags, std::size_t, const unsigned*, std::size_t bytes, std::size_t* size,
                void** buffer) {
  const auto* const in = static_cast<const char*>(*buffer);
  if ((flags & H5Z_FLAG_REVERSE) == 0) {
    if (bytes == 0 || bytes > kMostBytes) return 0;
    return replace(buffer, size, kLz4Header + kLz4Size + bytes,
                   [&](char* out) { return lz4_packed(out, in, bytes); });
  }
  if (bytes < kLz4Header) return 0;
  const std::uint64_t stated = get(in, 8);
  if (!expected(stated)) return 0;
  return replace(buffer, size, stated, [&](char* out) -> std::size_t {
    return lz4_unpacked(out, stated, in, bytes) ? stated : 0;
  });
}

}  // namespace

bool register_hdf5_codecs() {
  const H5Z_class2_t filters[] = {
      {H5Z_CLASS_T_VERS, kLz4, 1, 1, "lz4", nullptr, nullptr, lz4},
      {H5Z_CLASS_T_VERS, kZstd, 1, 1, "zstd", nullptr, nullptr, zstd},
  };
  return std::ranges::all_of(filters, [](const auto& filter) { return H5Zregister(&filter) >= 0; });
}

void compress_chunks(std::int64_t creation, const Compression& compression) {
  H5Pset_shuffle(creation);
  const auto level = static_cast<unsigned>(compression.level);
  switch (compression.codec) {
    case Codec::none:
      break;
    case Codec::gzip:
      H5Pset_deflate(creation, level);
      break;
    case Codec::lz4:
      H5Pset_filter(creation, kLz4, H5Z_FLAG_MANDATORY, 0, nullptr);
      break;
    case Codec::zstd:
      H5Pset_filter(creation, kZstd, H5Z_FLAG_MANDATORY, 1, &level);
      break;
  }
}

Hdf5Chunks::Hdf5Chunks(std::int64_t creation, int rank, std::size_t element_bytes) {
  std::vector<hsize_t> extents(static_cast<std::size_t>(rank));
  if (H5Pget_chunk(creation, rank, extents.data()) != rank) return;
  extents_.assign(extents.begin(), extents.end());
  bytes_ = std::accumulate(extents_.begin(), extents_.end(), element_bytes,
                           std::multiplies<std::size_t>());
  for (int i = 0; i < H5Pget_nfilters(creation); ++i) {
    unsigned flags = 0, config = 0;
    std::size_t values = 0;
    const H5Z_filter_t filter = H5Pget_filter2(creation, static_cast<unsigned>(i), &flags, &values,
                                               nullptr, 0, nullptr, &config);
    if (filter != H5Z_FILTER_SHUFFLE && filter != H5Z_FILTER_FLETCHER32)
      codecs_ |= std::uint32_t{1} << i;
    zstd_ |= filter == kZstd;
  }
}

bool Hdf5Chunks::fit(const std::vector<std::uint64_t>& largest) const {
  for (std::size_t i = 0; i < extents_.size(); ++i)
    if (largest[i] != H5S_UNLIMITED && extents_[i] > std::max<std::uint64_t>(1, largest[i]))
      return false;
  return true;
}

std::size_t Hdf5Chunks::cache_bytes(const std::vector<std::int64_t>& shape) const {
  constexpr double kLeast = 0x1p20, kMost = 0x1p29;
  double bytes = 2.0 * static_cast<double>(bytes_);
  for (std::size_t i = 1; i < extents_.size(); ++i)
    bytes *= std::ceil(static_cast<double>(shape[i]) / static_cast<double>(extents_[i]));
  return static_cast<std::size_t>(std::clamp(bytes, kLeast, kMost));
}

double Hdf5Chunks::most_expansion() const {
  // A Zstandard block has at least 4 bytes and expands to at most 128 KiB (RFC 8878, 3.1.1.2).
  // Deflate expands a byte to at most 1032 bytes (zlib's technical details), LZ4 to fewer.
  return zstd_ ? 32768 : 1100;
}

bool Hdf5Chunks::check(std::int64_t dataset, const std::vector<std::int64_t>& shape,
                       std::int64_t first, std::int64_t count) {
  if (bytes_ == 0 || count == 0) return true;
  const auto chunk_of = [this](std::int64_t row) {
    return static_cast<std::uint64_t>(row) / extents_[0];
  };
  checked_.resize(std::max<std::size_t>(checked_.size(), chunk_of(shape[0] - 1) + 1));
  for (std::uint64_t chunk = chunk_of(first); chunk <= chunk_of(first + count - 1); ++chunk) {
    if (!checked_[chunk] && !check_row_of_chunks(dataset, shape, chunk)) return false;
    checked_[chunk] = true;
  }
  return true;
}

bool Hdf5Chunks::check_row_of_chunks(std::int64_t dataset, const std::vector<std::int64_t>& shape,
                                     std::uint64_t chunk) const {
  std::vector<hsize_t> at(extents_.size(), 0);
  at[0] = chunk * extents_[0];
  for (std::size_t axis = 0; axis < at.size();) {
    unsigned skipped = 0;  // bit i: filter i was not applied
    haddr_t address = HADDR_UNDEF;
    hsize_t bytes = 0;
    if (H5Dget_chunk_info_by_coord(dataset, at.data(), &skipped, &address, &bytes) < 0)
      return false;
    if (address != HADDR_UNDEF && (codecs_ & ~skipped) == 0 && !is_size_of(bytes_, bytes))
      return false;
    for (axis = 1; axis < at.size(); ++axis) {
      at[axis] += extents_[axis];
      if (at[axis] < static_cast<hsize_t>(shape[axis])) break;
      at[axis] = 0;
    }
  }
  return true;
}

std::size_t& ExpectedChunk::expected() {
  static std::size_t bytes = 0;  // guarded by the library's lock
  return bytes;
}

}  // namespace wellspring
