// CRC-32C (Castagnoli), for record files of TensorFlow and for cached rows. Host only.
#pragma once

#include "core/io/bytes.h"

#include <cstdint>

namespace wellspring {

/// Reflected polynomial 0x82F63B78, initial value and final XOR 0xFFFFFFFF (RFC 3720, appendix
/// B.4).
std::uint32_t crc32c(Bytes bytes);

/// The masked form in TensorFlow's record format: a rotation and an offset, needed because the data
/// may itself contain checksums.
constexpr std::uint32_t masked_crc(std::uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

}  // namespace wellspring
