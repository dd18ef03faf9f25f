// f32 values as f16 or as 8-bit pixels, for programs that read batches. Called by the Python module
// and by exports. The functor runs on host and device.
#pragma once

#include "core/io/element_type.h"
#include "kernels/ops/team_loop.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/stream.h"
#include "kernels/runtime/team.h"

#include <bit>
#include <cstdint>

namespace wellspring::ops {

/// IEEE 754 binary16, rounded to nearest, ties to even; NaN keeps only its sign.
///
/// Adding 1/2 puts the bits of a subnormal result at the end of the sum's fraction, where the
/// addition rounds them. (F. Giesen, float_to_half_fast3_rtne, public domain.)
struct f16 {
  std::uint16_t bits = 0;

  WS_INLINE explicit f16(float value) {
    const auto all = std::bit_cast<std::uint32_t>(value), u = all & 0x7fffffffu;
    const std::uint32_t infinite = u > 0x7f800000u ? 0x7e00u : 0x7c00u;
    const std::uint32_t subnormal =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(u) + 0.5f) - 0x3f000000u;
    const std::uint32_t normal = (u - (112u << 23) + 0xfffu + (u >> 13 & 1u)) >> 13;
    const std::uint32_t magnitude = u >= 143u << 23  ? infinite
                                    : u < 113u << 23 ? subnormal
                                                     : normal;
    bits = static_cast<std::uint16_t>(all >> 31 << 15 | magnitude);
  }
};

/// Maps [0, 1] to 0 ... 255, rounded to nearest, ties up. Clamps values outside this range.
struct Pixel8 {
  std::uint8_t bits = 0;

  WS_INLINE explicit Pixel8(float value) {
    const float scaled = 255 * value;
    const float inside = scaled > 0 ? (scaled < 255 ? scaled : 255.f) : 0.f;  // NaN: 0
    bits = static_cast<std::uint8_t>(static_cast<std::int32_t>(inside + 0.5f));
  }
};

template <class To>
struct Narrow {
  const float* from;
  To* to;
  std::int64_t n;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t chunk) const {
    const ChunkRange range(chunk, n);
    const float* const in = from;
    To* const out = to;
    team_for(team, range.begin, range.end, [=](std::int64_t i) { out[i] = To(in[i]); });
  }
};

/// Converts n values to f16 or u8 (Pixel8).
void narrow(Stream& stream, std::int64_t n, const float* from, ElementType type, void* to);

}  // namespace wellspring::ops
