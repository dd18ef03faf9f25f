#include "kernels/ops/item_targets.h"

#include "tests/ops/loss_test.h"
#include "tests/support/host_team.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace wellspring::ops::test {
namespace {

/// Six sets of up to `items` items with four features. The first source predicts features 3 and 1, the third source
/// features 0 and 2. One set is empty, one is full, and one claims more items than it can have.
struct Sets {
  static constexpr std::int64_t kFeatures = 4, kTargets = 2;
  Rows rows;
  std::int64_t items;
  std::vector<float> x;
  std::vector<std::int32_t> count, column;

  Sets(std::int64_t most, DType gradient)
      : rows(six_rows(static_cast<std::int32_t>(most * kTargets), gradient)),
        items(most),
        x(random_values<float>(static_cast<std::size_t>(6 * most * kFeatures), 3, -2, 2)),
        count({static_cast<std::int32_t>(most), 1, 2, 1, 0, static_cast<std::int32_t>(most + 9)}),
        column(kMaxSources * kTargets, 0) {
    rows.scores = item_scores(kTargets);
    column[0] = 3;
    column[1] = 1;
    column[4] = 0;
    column[5] = 2;
    for (float& value : x)  // exact in both types
      value = std::round(value * 16) / 16;
  }
  std::int64_t existing(std::size_t row) const { return std::min<std::int64_t>(count[row], items); }
  double error(const double* z, std::size_t row, std::int64_t item, std::int64_t k) const {
    const auto source = static_cast<std::int64_t>(rows.slots[row].source);
    const auto at = (static_cast<std::int64_t>(row) * items + item) * kFeatures +
                    column[static_cast<std::size_t>(source * kTargets + k)];
    return z[item * kTargets + k] - static_cast<double>(x[static_cast<std::size_t>(at)]);
  }
  double loss(const double* z, std::size_t row) const {
    double sum = 0;
    for (std::int64_t item = 0; item < existing(row); ++item)
      for (std::int64_t k = 0; k < kTargets; ++k) sum += std::pow(error(z, row, item, k), 2);
    return existing(row) == 0 ? 0 : sum / static_cast<double>(existing(row) * kTargets);
  }
};

class ItemTargetsTest : public test::LossFixture {
 protected:
  Result run_items(const Sets& sets) {
    const Buffer<std::int32_t> count = buffer(sets.count), column = buffer(sets.column);
    return visit_float(sets.rows.head.gradient, [&]<class T>(T) {
      const Buffer<T> x = buffer(std::vector<T>(sets.x.begin(), sets.x.end()));
      return run(sets.rows, [&](const LossInput& in, const LossResult& out) {
        item_regression_loss(stream(), sets.rows.head, in,
                             {x, count, sets.items, Sets::kFeatures, Sets::kTargets, column}, out);
      });
    });
  }
};

TEST_P(ItemTargetsTest, MatchDoublePrecisionAndFiniteDifferences) {
  for (const std::int64_t items : {1, 3, 40}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      SCOPED_TRACE(items);
      const Sets sets(items, dtype);
      const Result result = run_items(sets);
      expect_agrees(
          sets.rows, result, [&](const double* z, std::size_t row) { return sets.loss(z, row); },
          static_cast<int>(Sets::kTargets));
      const Doubles z = in_double(sets.rows.outputs);
      for (std::size_t row = 0; row < 6; ++row) {
        if (!sets.rows.holds(row)) continue;
        EXPECT_EQ(result.scores[4 * 6 + row], static_cast<float>(sets.existing(row)));
        for (std::int64_t k = 0; k < Sets::kTargets; ++k) {
          double squared = 0, absolute = 0;
          for (std::int64_t item = 0; item < sets.existing(row); ++item) {
            const double e = sets.error(z.data() + sets.rows.own(row), row, item, k);
            squared += e * e;
            absolute += std::abs(e);
          }
          // An error is rounded once, its square again, and a tree adds up to 40 squares.
          const double bound = 16 * kU;
          const auto at = static_cast<std::size_t>(2 * k) * 6 + row;
          EXPECT_NEAR(result.scores[at], squared, bound * squared);
          EXPECT_NEAR(result.scores[at + 6], absolute, bound * absolute);
        }
      }
    }
  }
}

TEST_P(ItemTargetsTest, HideTheFeaturesOfTheMask) {
  for (const int features : {4, 70}) {  // 64 can be hidden
    const auto values = random_values<float>(static_cast<std::size_t>(3 * 5 * features), 1);
    const Buffer<float> x = buffer(values), visible = buffer<float>(values.size());
    BatchView batch;
    batch.size = 3;
    batch.layout = SampleLayout::set(5, features);
    batch.x = x.data();
    hide_features(stream(), batch, 0b1010, visible.data());
    const std::vector<float> seen = visible.values();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t feature = i % static_cast<std::size_t>(features);
      EXPECT_EQ(seen[i], feature == 1 || feature == 3 ? 0 : values[i]) << i;
    }
  }
}

WS_ON_EVERY_BACKEND(ItemTargetsTest);

}  // namespace
}  // namespace wellspring::ops::test
