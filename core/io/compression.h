// Compression of the arrays in a file. Called by exports and the HDF5 writer; host only.
#pragma once

#include <cstdint>
#include <string>

namespace wellspring {

enum class Codec : std::uint8_t { none, gzip, lz4, zstd };

struct Compression {
  Codec codec = Codec::none;
  int level = 0;  ///< gzip 1 to 9, zstd 1 to 19; higher is smaller and slower; lz4 has no levels
  bool on() const { return codec != Codec::none; }
};

/// "none", "lz4", "gzip" (default level 4), "zstd" (default 3), "gzip:LEVEL" or "zstd:LEVEL".
/// Throws a config error for any other text.
Compression compression_from_text(const std::string& text);
/// The text with its level: "zstd:3".
std::string to_text(const Compression& compression);

}  // namespace wellspring
