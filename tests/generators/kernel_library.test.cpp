#include "generators/own/kernel_library.h"

#include "generators/images/noise.h"
#include "kernels/emission/pixels.h"
#include "kernels/runtime/kernel_handle.h"

#include <gtest/gtest.h>

namespace wellspring::own {
namespace {

// nvcc 13.0 generates these names.
TEST(KernelLibrary, FindsAKernelByItsParameter) {
  const char* const draw =
      "_ZN10wellspring4cuda7run_mapINS_10DrawImagesINS_5NoiseEEEEEvNS_8MapBlockIT_EE";
  const char* const paint =
      "_ZN10wellspring4cuda10run_leagueINS_11PaintImagesINS_5NoiseEfEEEEvNS_11LeagueBlockIT_EE";
  const char* const paint_bf16 =
      "_ZN10wellspring4cuda10run_leagueINS_11PaintImagesINS_5NoiseENS_4bf16EEEEEv"
      "NS_11LeagueBlockIT_EE";
  const auto& draws = typeid(MapBlock<DrawImages<Noise>>);
  const auto& paints = typeid(LeagueBlock<PaintImages<Noise, float>>);
  const auto& paints_bf16 = typeid(LeagueBlock<PaintImages<Noise, bf16>>);
  EXPECT_TRUE(takes_block(draw, draws));
  EXPECT_TRUE(takes_block(paint, paints));
  EXPECT_TRUE(takes_block(paint_bf16, paints_bf16));
  EXPECT_FALSE(takes_block(paint, paints_bf16));
  EXPECT_FALSE(takes_block(paint_bf16, paints));
  EXPECT_FALSE(takes_block(draw, typeid(LeagueBlock<DrawImages<Noise>>)));
  EXPECT_FALSE(takes_block("draw", draws));
}

}  // namespace
}  // namespace wellspring::own
