#include "kernels/ops/broadcast.h"

#include "core/error.h"
#include "tests/ops/operation_test.h"
#include "tests/support/error_testing.h"
#include "tests/support/host_team.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace wellspring::ops::test {
namespace {

class BroadcastTest : public test::OperationTest {
 protected:
  template <class T>
  void check(std::int64_t rows, int columns) {
    SCOPED_TRACE(std::to_string(rows) + " rows of " + std::to_string(columns));
    const DType dtype = DTypeOf<T>::value;
    const auto c = static_cast<std::size_t>(columns), n = static_cast<std::size_t>(rows) * c;
    const auto x = random_values<T>(n, 1), dy = random_values<T>(n, 2);
    const auto factors = random_values<float>(c, 3);
    const Buffer<T> device_x = buffer(x), device_dy = buffer(dy), sum = buffer<T>(n),
                    scaled = buffer<T>(n), dx = buffer<T>(n);
    const Buffer<float> device_factors = buffer(factors), dfactors = buffer<float>(c),
                        partials = buffer<float>(scale_columns_partials(rows, columns));
    add_to_rows(stream(), dtype, rows, columns, device_x, device_factors, sum);
    scale_columns(stream(), dtype, rows, columns, device_x, device_factors, scaled);
    scale_columns_backward(stream(), dtype, rows, columns, device_x, device_dy, device_factors, dx,
                           dfactors, partials);

    const Doubles xs = in_double(x), dys = in_double(dy), fs = in_double(factors);
    Doubles expected_sum, expected_scaled, expected_dx, expected_factors(c), bound(c);
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t k = i % c;
      expected_sum.push_back(xs[i] + fs[k]);
      expected_scaled.push_back(xs[i] * fs[k]);
      expected_dx.push_back(dys[i] * fs[k]);
      expected_factors[k] += xs[i] * dys[i];
      bound[k] += std::abs(xs[i] * dys[i]);
    }
    // Sums up to 2 and products up to 1 are rounded once to f32 and once to T.
    const double once = kU + test::rounding(dtype);
    expect_within(sum.values(), expected_sum, 2 * once, "sum");
    expect_within(scaled.values(), expected_scaled, once, "scaled");
    expect_within(dx.values(), expected_dx, once, "dx");
    // A product and at most `rows` additions each round by at most the sum of the magnitudes.
    for (double& of : bound) of *= static_cast<double>(rows + 1) * kU;
    expect_within(dfactors.values(), expected_factors, bound, "dfactors");

    // Each gradient alone, and in place.
    const Buffer<float> again = buffer<float>(c);
    scale_columns_backward(stream(), dtype, rows, columns, device_x, device_dy, device_factors,
                           nullptr, again, partials);
    EXPECT_EQ(again.values(), dfactors.values());
    scale_columns_backward(stream(), dtype, rows, columns, device_x, device_dy, device_factors,
                           device_dy, again, partials);
    EXPECT_EQ(again.values(), dfactors.values());
    EXPECT_EQ(in_double(device_dy.values()), in_double(dx.values()));
    add_to_rows(stream(), dtype, rows, columns, device_x, device_factors, device_x);
    EXPECT_EQ(in_double(device_x.values()), in_double(sum.values()));
  }
};

// Chunks of rows have 2048 elements, and chunks of sums have 16384.
TEST_P(BroadcastTest, AgreesWithDoublePrecision) {
  for (const int columns : {1, 3, 7, 8, 65, 768, 2049, 5000}) {
    for (const std::int64_t rows : {1, 5, 60}) {
      check<float>(rows, columns);
      check<bf16>(rows, columns);
    }
  }
  check<float>(3000, 7);
  check<bf16>(9000, 8);
}

TEST_P(BroadcastTest, AddsPositionsToWholeImages) {
  constexpr int kColumns = 256 * 768;
  const auto x = random_values<bf16>(3 * kColumns, 1);
  const auto values = random_values<float>(kColumns, 2);
  const Buffer<bf16> device_x = buffer(x), y = buffer<bf16>(x.size());
  add_to_rows(stream(), DType::bf16, 3, kColumns, device_x, buffer(values), y);
  const auto sums = y.values();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bf16 expected(static_cast<float>(x[i]) + values[i % kColumns]);
    ASSERT_EQ(static_cast<float>(sums[i]), static_cast<float>(expected)) << i;
  }
}

TEST_P(BroadcastTest, RefusesTooManyFactors) {
  float unused = 0;
  const auto run = [&] {
    scale_columns_backward(stream(), DType::f32, 1, kMaxScaledColumns + 1, nullptr, nullptr,
                           nullptr, nullptr, &unused, nullptr);
  };
  wellspring::test::expect_parts(wellspring::test::message_of(ErrorKind::config, run),
                                 {"16385 columns", "16384"});
}

WS_ON_EVERY_BACKEND(BroadcastTest);

TEST(BroadcastTeams, GiveEqualBitsForAnySize) {
  using wellspring::test::bytes_of;
  using wellspring::test::expect_equal_for_all_team_sizes;
  for (const int columns : {1, 7, 8, 65, 2056, 4099}) {
    SCOPED_TRACE(std::to_string(columns) + " columns");
    constexpr int kRows = 5;
    const auto c = static_cast<std::size_t>(columns), n = kRows * c;
    const auto x = random_values<bf16>(n, 1), dy = random_values<bf16>(n, 2);
    const auto factors = random_values<float>(c, 3);
    std::vector<bf16> y(n);
    std::vector<float> parts(2 * c);
    const RowBlocks blocks = RowBlocks::of(kRows, columns, columns % kPack == 0);
    expect_equal_for_all_team_sizes(
        BroadcastToRows<bf16, Broadcast::scale>{x.data(), factors.data(), y.data(), blocks},
        blocks.teams(), {kChunkTeam}, {bytes_of(y)});
    const NormShape shape{kRows, 3, 2, columns, 1};
    expect_equal_for_all_team_sizes(ColumnProducts<bf16>{x.data(), dy.data(), parts.data(), shape},
                                    2, {kChunkTeam, norm_scratch(3, columns, 1, 0) * sizeof(float)},
                                    {bytes_of(parts)});
  }
}

}  // namespace
}  // namespace wellspring::ops::test
