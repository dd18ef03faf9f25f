#include "train/optimizer/gradient_clipping.h"

#include "kernels/ops/part_totals.h"
#include "tests/ops/operation_test.h"
#include "tests/support/host_team.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace wellspring::ops::test {
namespace {

constexpr std::int64_t kMatrixLength = kChunk + 104, kVectorLength = kChunk + 7;

class WaitingTotalsTest : public test::OperationTest {
 protected:
  /// Gradients of a matrix and of a vector are totals that still wait. Their old values are NaN,
  /// so the norm is finite only if it takes the totals instead. `columns`: of the matrix.
  template <class T>
  void check_totals(int columns) {
    constexpr int kCount = 300, kBegin = 64;
    const float poison = std::numeric_limits<float>::quiet_NaN();
    auto of_matrices = random_values<T>(kMatrixLength, 1);
    std::fill_n(of_matrices.begin() + kBegin, columns, T(poison));
    const int end = kBegin + columns, pack_end = (end + kPack - 1) / kPack * kPack;
    std::fill(of_matrices.begin() + end, of_matrices.begin() + pack_end, T(0));  // a gap
    auto of_vectors = random_values<float>(kVectorLength, 2);
    std::fill_n(of_vectors.begin(), 16 + 24, poison);  // two tensors
    const auto size = static_cast<std::size_t>(kCount * columns);
    const Buffer<float> parts = buffer(random_values<float>(size, 3)),
                        partials = buffer<float>(gradient_norm_partials());
    // The totals in a launch of their own, and in the launch of the squares.
    std::vector<std::vector<T>> matrices_after;
    std::vector<std::vector<float>> vectors_after;
    for (const bool together : {false, true}) {
      const Buffer<T> matrices = buffer(of_matrices);
      const Buffer<float> vectors = buffer(of_vectors);
      PartTotals totals;
      totals.add(stream(), {parts, vectors.data() + 16, kCount, 24});
      totals.add(stream(), {.parts = parts,
                            .sums = matrices.data() + kBegin,
                            .count = kCount,
                            .columns = columns,
                            .type = DTypeOf<T>::value});
      totals.add(stream(), {parts, vectors.data(), 2 * kCount, 8, 2});
      if (!together) totals.launch(stream());
      const Buffer<StepState> state = buffer(std::vector<StepState>{{.step = 7}});
      ParameterView view;
      view.matrices = kMatrixLength;
      view.vectors = kVectorLength;
      view.matrix_gradient = matrices.data();
      view.vector_gradient = vectors;
      view.compute = DTypeOf<T>::value;
      gradient_norm(stream(), view, {}, 1, partials, state, {}, &totals);
      EXPECT_EQ(totals.teams(), 0);
      matrices_after.push_back(matrices.values());
      vectors_after.push_back(vectors.values());
      double square = 0;
      for (const double g : in_double(matrices_after.back())) square += g * g;
      for (const double g : in_double(vectors_after.back())) square += g * g;
      // Counts the roundings of a square, 3 packs per lane, two trees of 8, the 8 lanes of a pack,
      // 4 partial sums per lane, and a root, which halves the error.
      EXPECT_NEAR(state.values()[0].gradient_norm, std::sqrt(square),
                  32 * 0x1p-24 * std::sqrt(square));
    }
    EXPECT_EQ(in_double(matrices_after[0]), in_double(matrices_after[1]));
    EXPECT_EQ(vectors_after[0], vectors_after[1]);
  }
};

TEST_P(WaitingTotalsTest, AreAddedInTheLaunchOfTheSquares) {
  check_totals<float>(1000);  // ends with a pack
  check_totals<float>(77);    // each column has its own team, and the last pack is not full
  check_totals<float>(1001);  // more teams than the launch takes
  check_totals<bf16>(1000);
}

WS_ON_EVERY_BACKEND(WaitingTotalsTest);

TEST(TotalsAndSquares, GivesEqualBitsForAnySize) {
  std::vector<float> gradient = random_values<float>(kMatrixLength + kVectorLength, 2),
                     partials(kNormParts + 6);
  const auto parts = random_values<float>(300 * 24, 3);
  TotalsAndSquares<float> both{.ranges = 2,
                               .total_teams = 6,
                               .squares = {gradient.data(), gradient.data() + kMatrixLength,
                                           kMatrixLength, kVectorLength, partials.data()}};
  both.totals.table[0] = {parts.data(), gradient.data() + 64, 300, 24};
  both.totals.table[1] = {parts.data(), gradient.data() + kMatrixLength, 300, 24, 1, 3, 3};
  both.totals.entries = 2;
  both.summed[0] = {8, 11};
  both.summed[1] = {packs(kMatrixLength), packs(kMatrixLength) + 3};
  using wellspring::test::bytes_of;
  wellspring::test::expect_equal_for_all_team_sizes(both, kNormParts + both.total_teams,
                                                    {kReduceLanes, kReduceLanes * sizeof(Pack)},
                                                    {bytes_of(gradient), bytes_of(partials)});
}

}  // namespace
}  // namespace wellspring::ops::test
