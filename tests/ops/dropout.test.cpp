#include "kernels/ops/dropout.h"

#include "tests/ops/operation_test.h"
#include "tests/support/host_team.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace wellspring::ops::test {
namespace {

constexpr std::int64_t kRows = 3, kColumns = 5000;

class DropoutTest : public test::OperationTest {
 protected:
  std::vector<float> dropped(std::uint64_t step, std::vector<Slot> slots, float rate = 0.25f,
                             std::uint64_t seed = 1, const std::string& layer = "a") {
    DropoutSpec spec;
    spec.rows = static_cast<std::int64_t>(slots.size());
    spec.columns = kColumns;
    spec.rate = rate;
    spec.key = named_key(seed, layer);
    const std::vector<float> ones(slots.size() * kColumns, 1);
    const Buffer<float> x = buffer(ones), y = buffer<float>(ones.size());
    const Buffer<Slot> device_slots = buffer(slots);
    const Buffer<StepState> state = buffer(std::vector<StepState>{{.step = step}});
    dropout(stream(), spec, device_slots, state, x, y);
    return y.values();
  }
  /// Samples 7 and 8 of source 0 (ordinals 0 and 1), and sample 7 of source 1 (ordinal 0).
  static std::vector<Slot> slots() { return {{7, 0, 0, 0}, {8, 1, 0, 1}, {7, 0, 1, 2}}; }
  static std::vector<float> row(const std::vector<float>& all, int r) {
    return {all.begin() + r * kColumns, all.begin() + (r + 1) * kColumns};
  }
};

// The number of dropped values is binomial. The limit is five standard deviations: one false alarm
// in 1.7 million per rate; the seed is fixed.
TEST_P(DropoutTest, DropsAtItsRateAndScalesTheRest) {
  for (const float rate : {0.25f, 0.9f}) {
    const std::vector<float> y = dropped(0, slots(), rate);
    const double n = kRows * kColumns, p = double{rate};
    const auto zeros = static_cast<double>(std::count(y.begin(), y.end(), 0.0f));
    EXPECT_NEAR(zeros, n * p, 5 * std::sqrt(n * p * (1 - p)));
    for (const float value : y) EXPECT_TRUE(value == 0 || value == 1 / (1 - rate));
  }
}

TEST_P(DropoutTest, DependsOnlyOnSeedLayerStepSourceAndOrdinal) {
  const std::vector<float> all = dropped(5, slots());
  EXPECT_EQ(row(dropped(5, {slots()[1]}), 0), row(all, 1));  // the same in any row of any batch
  EXPECT_NE(row(all, 0), row(all, 1));                       // another ordinal
  EXPECT_NE(row(all, 0), row(all, 2));                       // another source
  EXPECT_NE(dropped(6, slots()), all);
  EXPECT_NE(dropped(5 + (std::uint64_t{1} << 32), slots()), all);
  EXPECT_NE(dropped(5, slots(), 0.25f, 2), all);
  EXPECT_NE(dropped(5, slots(), 0.25f, 1, "b"), all);
}

// Repeated augmentation puts copies of a sample into one batch, with different ordinals.
TEST_P(DropoutTest, GivesCopiesOfASampleDifferentMasks) {
  const std::vector<float> copies = dropped(5, {{7, 21, 0, 0}, {7, 22, 0, 1}, {7, 23, 0, 2}});
  EXPECT_NE(row(copies, 0), row(copies, 1));
  EXPECT_NE(row(copies, 1), row(copies, 2));
  EXPECT_NE(row(copies, 0), row(copies, 2));
}

WS_ON_EVERY_BACKEND(DropoutTest);

class DropPathTest : public test::OperationTest {
 protected:
  /// Rows of samples 0, 1, ... of source 2.
  template <class T>
  std::vector<T> dropped(std::int64_t rows, std::int64_t columns, float rate,
                         const std::vector<T>& x, std::uint64_t first = 0) {
    std::vector<Slot> slots;
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::uint64_t sample = first + static_cast<std::uint64_t>(r);
      slots.push_back({sample, sample, 2, static_cast<std::uint32_t>(r)});
    }
    const DropoutSpec spec{rows, columns, rate, named_key(1, "a"), DTypeOf<T>::value};
    const Buffer<T> from = buffer(x), to = buffer<T>(x.size());
    const Buffer<Slot> device_slots = buffer(slots);
    const Buffer<StepState> state = buffer(std::vector<StepState>{{.step = 3}});
    drop_path(stream(), spec, device_slots, state, from, to);
    const auto result = to.values();
    drop_path(stream(), spec, device_slots, state, from, from);
    EXPECT_EQ(in_double(from.values()), in_double(result)) << "in place";
    return result;
  }

  /// Expects whole rows to be 0 or scaled; returns the number of dropped ones.
  template <class T>
  int check(std::int64_t rows, std::int64_t columns, float rate) {
    SCOPED_TRACE(std::to_string(rows) + " rows of " + std::to_string(columns));
    const auto n = static_cast<std::size_t>(rows * columns);
    const auto x = random_values<T>(n, 1, 1, 2);
    const auto y = dropped(rows, columns, rate, x);
    int zeros = 0;
    for (std::size_t first = 0; first < n; first += static_cast<std::size_t>(columns)) {
      const bool zero = static_cast<float>(y[first]) == 0;
      zeros += zero;
      for (std::size_t i = first; i < first + static_cast<std::size_t>(columns); ++i) {
        const float factor = zero ? 0 : 1 / (1 - rate);
        EXPECT_EQ(static_cast<float>(y[i]),
                  static_cast<float>(T(static_cast<float>(x[i]) * factor)))
            << i;
      }
    }
    return zeros;
  }
};

TEST_P(DropPathTest, DropsOrScalesWholeRows) {
  for (const int columns : {1, 3, 7, 8, 65, 768, 2049, 6000}) {
    check<float>(9, columns, 0.5f);
    check<bf16>(9, columns, 0.5f);
  }
}

// Five standard deviations, as for dropout.
TEST_P(DropPathTest, DropsAtItsRate) {
  for (const float rate : {0.0f, 0.1f, 0.5f}) {
    const double n = 20000, p = static_cast<double>(rate);
    EXPECT_NEAR(check<float>(20000, 2, rate), n * p, 5 * std::sqrt(n * p * (1 - p)));
  }
}

TEST_P(DropPathTest, DropsTheRowsWhoseFirstValueDropoutDrops) {
  constexpr int kMany = 200;
  const std::vector<float> ones(kMany, 1);
  const auto all = dropped(kMany, 1, 0.5f, ones), later = dropped(kMany, 1, 0.5f, ones, 5);
  EXPECT_EQ(std::vector<float>(all.begin() + 5, all.end()),
            std::vector<float>(later.begin(), later.end() - 5));
  for (std::uint32_t r = 0; r < kMany; ++r) {
    const SampleRng rng = dropout_rng(named_key(1, "a"), 3, Slot{r, r, 2, 0});
    EXPECT_EQ(all[r] == 0, rng.block(Purpose::dropout, 0).word[0] < 1u << 31) << r;
  }
}

WS_ON_EVERY_BACKEND(DropPathTest);

TEST(DropoutTeams, GiveEqualBitsForAnySize) {
  for (const std::int64_t columns : {5000, 4999}) {  // in packs, and not
    const std::vector<float> x(10000, 1);
    std::vector<float> y(x.size());
    const std::vector<Slot> slots = {{1, 0, 0, 0}, {2, 1, 0, 1}};
    const StepState state{.step = 3};
    wellspring::test::expect_equal_for_all_team_sizes(
        DropoutApply<float>{x.data(), y.data(), slots.data(), &state, 9, columns, chunks(columns),
                            1u << 30, 4.0f / 3},
        2 * chunks(columns), {kChunkTeam}, {wellspring::test::bytes_of(y)});
  }
}

TEST(DropPathTeams, GiveEqualBitsForAnySize) {
  for (const std::int64_t columns : {5, 8, 5000, 4999}) {
    const std::vector<float> x(static_cast<std::size_t>(3 * columns), 1);
    std::vector<float> y(x.size());
    const std::vector<Slot> slots = {{1, 0, 0, 0}, {2, 1, 0, 1}, {3, 2, 0, 2}};
    const StepState state{.step = 3};
    const RowBlocks blocks = RowBlocks::of(3, columns, columns % kPack == 0);
    wellspring::test::expect_equal_for_all_team_sizes(
        DropPathApply<float>{x.data(), y.data(), slots.data(), &state, 9, 1u << 31, 2.0f, blocks},
        blocks.teams(), {kChunkTeam}, {wellspring::test::bytes_of(y)});
  }
}

}  // namespace
}  // namespace wellspring::ops::test
