#include "kernels/runtime/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#if WELLSPRING_CUDA && !WELLSPRING_CUDA_STAND_IN
#include <cuda_bf16.h>
#endif

namespace wellspring {
namespace {

float from_bits(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}

TEST(Bf16, RoundTripsEveryValue) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    bf16 value;
    value.bits = static_cast<std::uint16_t>(bits);
    const float wide = static_cast<float>(value);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(bf16(wide))));
    } else {
      ASSERT_EQ(bf16(wide).bits, bits);
    }
  }
}

TEST(Bf16, RoundsToNearestTiesToEven) {
  for (std::uint32_t high = 0; high < 65536; ++high) {
    const std::uint32_t base = high << 16;
    if (std::isnan(from_bits(base)) || std::isinf(from_bits(base))) continue;
    const auto even = static_cast<std::uint16_t>(high + (high & 1));
    ASSERT_EQ(bf16(from_bits(base | 0x7fff)).bits, high);
    ASSERT_EQ(bf16(from_bits(base | 0x8000)).bits, even);
    ASSERT_EQ(bf16(from_bits(base | 0x8001)).bits, high + 1);
  }
}

TEST(Bf16, ConvertsSpecialValues) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(bf16(kInfinity).bits, 0x7f80);
  EXPECT_EQ(bf16(-kInfinity).bits, 0xff80);
  EXPECT_EQ(bf16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(bf16(-0.0f).bits, 0x8000);
  EXPECT_EQ(bf16(0x1p-133f).bits, 0x0001);  // the smallest subnormal
  EXPECT_EQ(bf16(0x1p-134f).bits, 0x0000);  // a tie: rounds to the even zero
  EXPECT_EQ(bf16(0x1.8p-134f).bits, 0x0001);
  for (const std::uint32_t nan : {0x7f800001u, 0x7fc00000u, 0xff800001u, 0xffffffffu}) {
    EXPECT_EQ(bf16(from_bits(nan)).bits, 0x7fff) << std::hex << nan;
  }
}

#if WELLSPRING_CUDA && !WELLSPRING_CUDA_STAND_IN
TEST(Bf16, MatchesCudasConversion) {
  const auto cudas = [](float value) {
    return static_cast<__nv_bfloat16_raw>(__float2bfloat16_rn(value)).x;
  };
  // All upper halves, with lower halves on both sides of every rounding decision.
  for (std::uint32_t high = 0; high < 65536; ++high) {
    for (const std::uint32_t low : {0x0000u, 0x0001u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      const float value = from_bits(high << 16 | low);
      ASSERT_EQ(bf16(value).bits, cudas(value)) << std::hex << (high << 16 | low);
    }
  }
}
#endif

TEST(DType, HasSizesAndNames) {
  EXPECT_EQ(size_of(DTypeOf<float>::value), sizeof(float));
  EXPECT_EQ(size_of(DTypeOf<bf16>::value), sizeof(bf16));
  EXPECT_EQ(size_of(DTypeOf<std::uint8_t>::value), 1u);
  EXPECT_EQ(size_of(DTypeOf<std::int32_t>::value), 4u);
  EXPECT_EQ(size_of(DTypeOf<std::int64_t>::value), 8u);
  EXPECT_EQ(to_string(DType::bf16), "bf16");
}

}  // namespace
}  // namespace wellspring
