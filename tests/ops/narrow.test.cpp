#include "kernels/ops/narrow.h"

#include "core/io/half.h"
#include "tests/ops/operation_test.h"
#include "tests/support/host_team.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace wellspring::ops::test {
namespace {

// Half decodes every f16 exactly. In f64 the midpoint of two neighbours is exact, and the next f32
// on either side of the midpoint rounds to the nearer neighbour.
TEST(F16, RoundsToNearestTiesToEven) {
  for (int bits = 0; bits < 0x7bff; ++bits) {
    const float low(Half{static_cast<std::uint16_t>(bits)}),
        high(Half{static_cast<std::uint16_t>(bits + 1)}), middle = low + (high - low) / 2;
    ASSERT_EQ(f16(low).bits, bits);
    ASSERT_EQ(f16(-low).bits, 0x8000 | bits);
    ASSERT_EQ(f16(middle).bits, bits + bits % 2);
    ASSERT_EQ(f16(std::nextafter(middle, 0.f)).bits, bits);
    ASSERT_EQ(f16(std::nextafter(middle, 1e9f)).bits, bits + 1);
  }
}

TEST(F16, ConvertsSpecialValues) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(f16(65519.f).bits, 0x7bff) << "the largest value is 65504";
  for (const float large : {65520.f, 65536.f, 1e30f, kInfinity}) EXPECT_EQ(f16(large).bits, 0x7c00);
  EXPECT_EQ(f16(-kInfinity).bits, 0xfc00);
  EXPECT_EQ(f16(1e-30f).bits, 0);
  EXPECT_EQ(f16(std::numeric_limits<float>::quiet_NaN()).bits & 0x7fff, 0x7e00);
}

TEST(Pixel8, RoundsAndStaysInRange) {
  for (int pixel = 0; pixel < 256; ++pixel)
    EXPECT_EQ(Pixel8(static_cast<float>(pixel) / 255).bits, pixel);
  EXPECT_EQ(Pixel8(0.5f).bits, 128) << "127.5 is rounded up";
  EXPECT_EQ(Pixel8(-1).bits, 0);
  EXPECT_EQ(Pixel8(1e30f).bits, 255);
}

TEST(NarrowTeams, GiveEqualBitsForAnySize) {
  const auto x = random_values<float>(5000, 1);
  std::vector<f16> y(x.size(), f16(0));
  const auto n = static_cast<std::int64_t>(x.size());
  wellspring::test::expect_equal_for_all_team_sizes(Narrow<f16>{x.data(), y.data(), n}, chunks(n),
                                                    {kChunkTeam}, {wellspring::test::bytes_of(y)});
}

}  // namespace
}  // namespace wellspring::ops::test
