#include "kernels/ops/cpu/instruction_set.h"

#include "kernels/ops/cpu/winner_gradient.h"
#include "kernels/ops/cpu/winograd.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace wellspring::ops::cpu {
namespace {

TEST(InstructionSet, MatchesTheLibrarys) {
  const char* const most = std::getenv("ONEDNN_MAX_CPU_ISA");
  if (most == nullptr || std::string(most).starts_with("AVX512")) {
    EXPECT_LE(winograd_available(), avx512_in_use());
    EXPECT_LE(winner_gradient_available(), avx512_in_use());
    return;
  }
  EXPECT_FALSE(avx512_in_use());
  EXPECT_FALSE(winograd_available());
  EXPECT_FALSE(winner_gradient_available());
}

}  // namespace
}  // namespace wellspring::ops::cpu
