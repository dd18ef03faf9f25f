#include "kernels/ops/part_totals.h"

#include "tests/ops/operation_test.h"
#include "tests/support/host_team.h"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <vector>

namespace wellspring::ops {
namespace {

using test::Buffer;
using test::Doubles;

std::size_t size_of_parts(const PartTotal& t) {
  return static_cast<std::size_t>(t.samples * t.count * t.columns);
}

/// Exact sums, in the order of the result.
Doubles totals(const PartTotal& t, const std::vector<float>& parts, bool magnitudes = false) {
  Doubles sums(static_cast<std::size_t>(t.samples * t.columns));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const int sample = static_cast<int>(i) / t.columns / t.count,
              column = static_cast<int>(i) % t.columns, outputs = t.columns / t.taps;
    const int at = sample * t.columns + column % outputs * t.taps + column / outputs;
    const auto value = static_cast<double>(parts[i]);
    sums[static_cast<std::size_t>(at)] += magnitudes ? std::abs(value) : value;
  }
  return sums;
}

class PartTotalsTest : public test::OperationTest {
 protected:
  /// Adds `entries` tables of different sizes. If there are many, one launch cannot take all.
  template <class T>
  void check(int entries) {
    PartTotals all;
    std::deque<Buffer<float>> parts;
    std::deque<Buffer<T>> sums;
    std::vector<PartTotal> added;
    for (int i = 0; i < entries; ++i) {
      PartTotal total{.count = 1 + 37 * i % 513,
                      .columns = i % 3 == 0 ? 24 : 5,
                      .samples = 1 + i % 2,
                      .taps = i % 3 == 0 ? 3 : 1,
                      .type = DTypeOf<T>::value};
      parts.push_back(buffer(test::random_values<float>(size_of_parts(total), 3)));
      sums.push_back(buffer<T>(static_cast<std::size_t>(total.samples * total.columns)));
      total.parts = parts.back();
      total.sums = sums.back().data();
      all.add(stream(), total);
      added.push_back(total);
    }
    all.launch(stream());
    for (std::size_t i = 0; i < added.size(); ++i) {
      // Up to three terms per lane and 30 rounding errors of the fold (channel_sums.h).
      Doubles bounds = totals(added[i], parts[i].values(), true);
      for (double& bound : bounds) bound *= 33 * test::kU + test::rounding(DTypeOf<T>::value);
      test::expect_within(sums[i].values(), totals(added[i], parts[i].values()), bounds,
                          "total " + std::to_string(i));
    }
  }
};

TEST_P(PartTotalsTest, AddsEveryEntryOfTheTable) {
  check<float>(1);
  check<float>(70);  // more than one launch can take
  check<bf16>(7);
}

TEST_P(PartTotalsTest, GivesEqualBitsNowAndLater) {
  const PartTotal shape{.count = 200, .columns = 24};
  const Buffer<float> parts = buffer(test::random_values<float>(size_of_parts(shape), 5));
  const Buffer<float> now = buffer<float>(24), after = buffer<float>(24), other = buffer<float>(24);
  PartTotals later;
  sum_parts(stream(), nullptr, {{parts, now, shape.count, shape.columns}});
  sum_parts(stream(), &later,
            {{parts, other, shape.count, shape.columns}, {parts, after, 200, shape.columns}});
  later.launch(stream());
  EXPECT_EQ(after.values(), now.values());
  EXPECT_EQ(other.values(), now.values());
}

WS_ON_EVERY_BACKEND(PartTotalsTest);

TEST(AddParts, GivesEqualBitsForAnySize) {
  const auto parts = test::random_values<float>(2 * 300 * 24, 7);
  std::vector<float> sums(2 * 24 + 24);
  AddParts<kTotals> all;
  all.table[0] = {parts.data(), sums.data(), 300, 24, 2};
  all.table[1] = {parts.data(), sums.data() + 48, 600, 24, 1, 3, 6};
  all.entries = 2;
  wellspring::test::expect_equal_for_all_team_sizes(
      all, 9, {256, static_cast<std::size_t>(channel_slots(600, kPack)) * sizeof(float)},
      {wellspring::test::bytes_of(sums)});
}

}  // namespace
}  // namespace wellspring::ops
