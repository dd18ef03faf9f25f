// Zip archives, for example NumPy's .npz files: constants of the format, and the directory. Called
// by core/io/npy.cpp, core/io/stored_array.cpp and image sets; host only.
#pragma once

#include "core/io/files.h"

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring {

/// PKWARE's APPNOTE 6.3, sections 4.3 and 4.5.3.
namespace zip {

inline constexpr std::uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50,
                               kEnd = 0x06054b50, kEnd64 = 0x06064b50, kEnd64Locator = 0x07064b50;
inline constexpr std::uint64_t kLocalHeaderSize = 30, kCentralHeaderSize = 46, kEndSize = 22;
inline constexpr std::uint32_t kIn64 = 0xFFFFFFFF;        ///< "see the 64-bit field"
inline constexpr std::uint16_t kPlain = 20, kZip64 = 45;  ///< version needed, times ten
inline constexpr std::uint16_t kFirstDate = 0x0021;       ///< 1 January 1980, the earliest possible
inline constexpr std::uint32_t kFileMode = 0100644u << 16;
inline constexpr std::uint16_t kStored = 0, kDeflated = 8;  ///< methods

}  // namespace zip

struct ZipEntry {
  std::string name;
  std::uint16_t method = zip::kStored;
  std::uint32_t crc = 0;
  std::uint64_t size = 0, compressed = 0;  ///< bytes
  std::uint64_t offset = 0;                ///< bytes before the local header
};

/// Throws a data error if the file is not an archive, truncated or damaged.
std::vector<ZipEntry> read_zip_directory(const InputFile& file);
/// Offset of a member's content; throws a data error unless all of it is in the file.
std::uint64_t zip_content(const InputFile& file, const ZipEntry& entry);
/// The checksum of a member, continued from `crc`.
std::uint32_t zip_crc(Bytes bytes, std::uint32_t crc = 0);

}  // namespace wellspring
