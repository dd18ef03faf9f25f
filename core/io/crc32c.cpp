#include "core/io/crc32c.h"

#include <array>

namespace wellspring {
namespace {

/// tables[k][b]: the CRC of byte b followed by k zeros. Processes eight bytes at a time (slicing by
/// 8): M. Kounavis, F. Berry, "A Systematic Approach to Building High Performance, Software-based,
/// CRC Generators", ISCC 2005.
constexpr std::size_t kAtOnce = 8;
using Tables = std::array<std::array<std::uint32_t, 256>, kAtOnce>;

constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78u : 0u);
    tables[0][byte] = crc;
  }
  for (std::size_t k = 1; k < kAtOnce; ++k)
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t crc = tables[k - 1][byte];
      tables[k][byte] = (crc >> 8) ^ tables[0][crc & 0xFF];
    }
  return tables;
}

constexpr Tables kTables = make_tables();

}  // namespace

std::uint32_t crc32c(Bytes bytes) {
  std::uint32_t crc = 0xFFFFFFFFu;
  for (; bytes.size() >= kAtOnce; bytes = bytes.subspan(kAtOnce)) {
    const std::uint64_t word = number_at<std::uint64_t>(bytes, 0) ^ crc;
    crc = 0;
    for (std::size_t k = 0; k < kAtOnce; ++k)
      crc ^= kTables[kAtOnce - 1 - k][(word >> (8 * k)) & 0xFF];
  }
  for (const std::byte byte : bytes)
    crc = kTables[0][(crc ^ static_cast<std::uint32_t>(byte)) & 0xFF] ^ (crc >> 8);
  return crc ^ 0xFFFFFFFFu;
}

}  // namespace wellspring
