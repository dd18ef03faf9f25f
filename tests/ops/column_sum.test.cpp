#include "kernels/ops/column_sum.h"

#include "tests/support/host_team.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace wellspring::ops {
namespace {

/// Values of both signs with inexact sums.
template <class T>
std::vector<T> matrix(std::int64_t rows, int columns) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<T> values(static_cast<std::size_t>(rows * columns));
  for (T& value : values) value = T(uniform(random));
  return values;
}

template <class T>
std::vector<float> sums_of(const ColumnSumSpec& spec, const std::vector<T>& values,
                           int threads = 1) {
  Stream stream(Device::cpu(), threads);
  std::vector<float> partials(column_sum_partials(spec) + 1, -7.0f);
  std::vector<float> sums(static_cast<std::size_t>(spec.columns) + 1, -7.0f);
  column_sum(stream, spec, values.data(), partials.data(), sums.data());
  EXPECT_EQ(partials.back(), -7.0f) << "wrote past the end of its scratch";
  EXPECT_EQ(sums.back(), -7.0f) << "wrote past the end of its result";
  sums.pop_back();
  return sums;
}

template <class T>
void expect_column_sums(std::int64_t rows, int columns) {
  const auto values = matrix<T>(rows, columns);
  const auto sums = sums_of({rows, columns, DTypeOf<T>::value}, values);
  for (int column = 0; column < columns; ++column) {
    double exact = 0, magnitude = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto value = static_cast<double>(
          static_cast<float>(values[static_cast<std::size_t>(row * columns + column)]));
      exact += value;
      magnitude += std::abs(value);
    }
    // A lane has at most max(4, rows / 2^18 + 1) terms, and the second pass at most 4; each pass
    // has a tree of 8 levels. Each rounding is half an epsilon (Higham 2002, section 4.2).
    const double roundings = 4 + static_cast<double>(rows) / 0x1p18 + 1 + 4 + 16;
    EXPECT_NEAR(sums[static_cast<std::size_t>(column)], exact, roundings * 0.6e-7 * magnitude)
        << rows << " rows, column " << column;
  }
}

TEST(ColumnSum, MatchesDoublePrecision) {
  for (const std::int64_t rows : {1, 63, 1000, 1024, 1025, 70001}) {
    for (const int columns : {5, 16}) {  // 16: in packs
      expect_column_sums<float>(rows, columns);
      expect_column_sums<bf16>(rows, columns);
    }
  }
  expect_column_sums<float>(300, 1);
  expect_column_sums<float>(3, 1000);
  expect_column_sums<bf16>(5, 256 * 768);  // position embeddings
}

TEST(ColumnSum, GivesEqualBitsForAnyThreadCount) {
  const ColumnSumSpec spec{5000, 37, DType::f32};
  const auto values = matrix<float>(spec.rows, spec.columns);
  EXPECT_EQ(sums_of(spec, values, 1), sums_of(spec, values, 2));
}

TEST(ColumnSum, GivesEqualBitsForAnyTeamSize) {
  constexpr std::int64_t kRows = 1000, kRowsPerChunk = 400;
  for (const int columns : {3, 24, 27}) {
    const auto values = matrix<bf16>(kRows, columns);
    std::vector<float> sums(static_cast<std::size_t>(3 * columns));
    wellspring::test::expect_equal_for_all_team_sizes(
        ColumnSum<bf16>{values.data(), sums.data(), kRows, kRowsPerChunk, columns},
        3 * ((columns + kPack - 1) / kPack), {kReduceLanes, kReduceLanes * sizeof(Pack)},
        {wellspring::test::bytes_of(sums)});
  }
}

}  // namespace
}  // namespace wellspring::ops
