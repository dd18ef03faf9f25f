#include "kernels/ops/sets.h"

#include "tests/ops/operation_test.h"
#include "tests/support/host_team.h"

#include <gtest/gtest.h>

#include <vector>

namespace wellspring::ops::test {
namespace {

class SetsTest : public test::OperationTest {};

TEST_P(SetsTest, SkipsItemsAfterTheCount) {
  ItemPoolSpec spec = {.rows = 3, .items = 2, .features = 2};
  const float nan = std::nanf("");
  const Buffer<float> x = buffer(
                          std::vector<float>{1, 2, 3, 6, 5, 4, nan, nan, nan, nan, nan, nan}),
                      y = buffer<float>(6), dx = buffer<float>(12);
  const Buffer<std::int32_t> count = buffer(std::vector<std::int32_t>{2, 1, 0});
  item_pool_forward(stream(), spec, count, x, y);
  EXPECT_EQ(y.values(), (std::vector<float>{2, 4, 5, 4, 0, 0}));
  item_pool_backward(stream(), spec, count, y, dx);
  EXPECT_EQ(dx.values(), (std::vector<float>{1, 2, 1, 2, 5, 4, 0, 0, 0, 0, 0, 0}));
  spec.mean = false;
  item_pool_forward(stream(), spec, count, x, y);
  EXPECT_EQ(y.values(), (std::vector<float>{4, 8, 5, 4, 0, 0}));
}

TEST_P(SetsTest, ConcatenatesAndSplits) {
  ConcatenateSpec spec = {.rows = 2, .first = 1, .second = 2};
  const Buffer<float> a = buffer(std::vector<float>{1, 2}),
                      b = buffer(std::vector<float>{3, 4, 5, 6}), y = buffer<float>(6),
                      da = buffer<float>(2), db = buffer<float>(4);
  concatenate(stream(), spec, a, b, y);
  EXPECT_EQ(y.values(), (std::vector<float>{1, 3, 4, 2, 5, 6}));
  concatenate_backward(stream(), spec, y, da, db);
  EXPECT_EQ(da.values(), a.values());
  EXPECT_EQ(db.values(), b.values());
}

WS_ON_EVERY_BACKEND(SetsTest);

TEST(SetsTeams, GiveEqualBitsForAnySize) {
  constexpr int kItems = 9, kSets = 3;
  for (const int features : {5, 8, 24}) {
    SCOPED_TRACE(std::to_string(features) + " features");
    const auto f = static_cast<std::size_t>(features);
    const auto x = random_values<float>(kSets * kItems * f, 1);
    const std::vector<std::int32_t> count = {9, 0, 4};
    std::vector<float> y(kSets * f), dx(x.size());
    using wellspring::test::bytes_of;
    using wellspring::test::expect_equal_for_all_team_sizes;
    expect_equal_for_all_team_sizes(
        ItemPoolForward<float>{x.data(), count.data(), y.data(), kItems, features, true}, kSets,
        {kChunkTeam, static_cast<std::size_t>(channel_slots(kItems, features)) * sizeof(float)},
        {bytes_of(y)});
    expect_equal_for_all_team_sizes(
        ItemPoolBackward<float>{y.data(), count.data(), dx.data(), kItems, features, true}, kSets,
        {kChunkTeam}, {bytes_of(dx)});
  }
}

}  // namespace
}  // namespace wellspring::ops::test
