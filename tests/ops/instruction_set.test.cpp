#include "kernels/ops/cpu/instruction_set.h"

#include "kernels/ops/cpu/vector_kernels.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace wellspring::ops::cpu {
namespace {

// The tests run again with this variable, which limits oneDNN and our own kernels.
TEST(InstructionSet, FollowsTheLimitOfTheLibrary) {
  const char* const most = std::getenv("ONEDNN_MAX_CPU_ISA");
  const std::string set = instruction_set();
  if (most != nullptr && !std::string(most).starts_with("AVX512")) {
    EXPECT_NE(set, "avx512");
    EXPECT_EQ(set == "avx2", std::string(most).starts_with("AVX2"));
  }
  if (most != nullptr) {
    EXPECT_FALSE(has_amx() && !std::string(most).ends_with("AMX"));
  }
  EXPECT_EQ(vector_kernels() == nullptr, set == "older");
}

}  // namespace
}  // namespace wellspring::ops::cpu
