#include "core/text/plural.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace wellspring {
namespace {

TEST(Counted, UsesTheSingularForOne) {
  EXPECT_EQ(counted(0, "sample"), "0 samples");
  EXPECT_EQ(counted(1, "sample"), "1 sample");
  EXPECT_EQ(counted(2, "sample"), "2 samples");
  EXPECT_EQ(counted(-1, "item"), "-1 items");
  EXPECT_EQ(counted(1, "class", "classes"), "1 class");
  EXPECT_EQ(counted(std::uint64_t{12}, "class", "classes"), "12 classes");
  EXPECT_EQ(counted(std::uint64_t{1} << 63, "byte"), "9223372036854775808 bytes");
}

}  // namespace
}  // namespace wellspring
