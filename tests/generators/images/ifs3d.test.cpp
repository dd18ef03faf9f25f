#include "generators/images/ifs3d.h"

#include <gtest/gtest.h>

namespace wellspring {
namespace {

// ---- systems and categories ---------------------------------------------------------------------

TEST(Ifs3d, RequiresSpreadAlongEveryAxis) {
  ifs3d::Survey wide;
  wide.high = 1;
  wide.variance[0] = wide.variance[1] = 0.3;
  wide.variance[2] = 0.05;
  EXPECT_FALSE(wide.spreads(0.05)) << "the bound must be exclusive";
  EXPECT_TRUE(wide.spreads(0.04999));
  wide.diverged = true;
  EXPECT_FALSE(wide.spreads(0.01));
  EXPECT_FALSE(ifs3d::Survey{}.spreads(0));
}

// ---- pictures -----------------------------------------------------------------------------------

TEST(Ifs3d, OrdersCellsByDepth) {
  EXPECT_GT(ifs3d::nearness(1.5f), ifs3d::nearness(1.5000001f));
  EXPECT_GT(ifs3d::nearness(1e30f), 0u);
  EXPECT_EQ(ifs3d::depth_of(ifs3d::nearness(3.25f)), 3.25f);
}

}  // namespace
}  // namespace wellspring
