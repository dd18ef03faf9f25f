#include "kernels/ops/tokens.h"

#include "core/error.h"
#include "kernels/ops/copy_rows.h"
#include "tests/ops/operation_test.h"
#include "tests/support/error_testing.h"
#include "tests/support/host_team.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace wellspring::ops::test {
namespace {

class TokensTest : public test::OperationTest {
 protected:
  template <class T>
  void check_prepend(std::int64_t batch, int extra, int tokens, int width) {
    SCOPED_TRACE(std::to_string(extra) + " + " + std::to_string(tokens) + " tokens of " +
                 std::to_string(width));
    const PrependSpec spec{batch, extra, tokens, width, DTypeOf<T>::value};
    const auto b = static_cast<std::size_t>(batch), w = static_cast<std::size_t>(width),
               before = static_cast<std::size_t>(extra) * w,
               after = static_cast<std::size_t>(tokens) * w, all = before + after;
    const auto learned = random_values<float>(before, 1);
    const auto x = random_values<T>(b * after, 2), dy = random_values<T>(b * all, 3);
    const Buffer<T> device_dy = buffer(dy), y = buffer<T>(b * all), dx = buffer<T>(b * after);
    const Buffer<float> dextra = buffer<float>(before),
                        partials = buffer<float>(prepend_tokens_partials(spec));
    prepend_tokens(stream(), spec, buffer(learned), buffer(x), y);
    prepend_tokens_backward(stream(), spec, device_dy, dx, dextra, partials);

    Doubles expected_y, expected_dx, expected_extra(before), magnitude(before);
    for (std::size_t s = 0; s < b; ++s) {
      for (std::size_t i = 0; i < all; ++i) {
        const double gradient = static_cast<double>(static_cast<float>(dy[s * all + i]));
        expected_y.push_back(static_cast<double>(
            static_cast<float>(i < before ? T(learned[i]) : x[s * after + i - before])));
        if (i >= before) {
          expected_dx.push_back(gradient);
        } else {
          expected_extra[i] += gradient;
          magnitude[i] += std::abs(gradient);
        }
      }
    }
    expect_within(y.values(), expected_y, 0, "y");
    expect_within(dx.values(), expected_dx, 0, "dx");
    // At most one rounding of the magnitudes per sample.
    for (double& bound : magnitude) bound *= test::rounding(DType::f32) * static_cast<double>(b);
    expect_within(dextra.values(), expected_extra, magnitude, "dextra");

    const Buffer<T> other_dx = buffer<T>(b * after);
    const Buffer<float> other_extra = buffer<float>(before);
    prepend_tokens_backward(stream(), spec, device_dy, other_dx, nullptr, nullptr);
    prepend_tokens_backward(stream(), spec, device_dy, nullptr, other_extra, partials);
    expect_within(other_dx.values(), expected_dx, 0, "dx alone");
    EXPECT_EQ(other_extra.values(), dextra.values());
  }

  template <class T>
  void check_select(int width, int from, int selected) {
    constexpr int kTokens = 5;
    SCOPED_TRACE(std::to_string(from) + " and " + std::to_string(selected) + " tokens of " +
                 std::to_string(width));
    const std::size_t b = 3, w = static_cast<std::size_t>(width), all = kTokens * w,
                      first = static_cast<std::size_t>(from) * w,
                      count = static_cast<std::size_t>(selected) * w;
    const auto x = random_values<T>(b * all, 1), dy = random_values<T>(b * count, 2);
    const Buffer<T> y = buffer<T>(b * count), dx = buffer<T>(b * all);
    select_tokens(stream(), DTypeOf<T>::value, 3, kTokens, width, from, selected, buffer(x), y);
    select_tokens_backward(stream(), DTypeOf<T>::value, 3, kTokens, width, from, selected,
                           buffer(dy), dx);
    Doubles expected_y, expected_dx(b * all);
    for (std::size_t s = 0; s < b; ++s) {
      for (std::size_t i = 0; i < count; ++i) {
        expected_y.push_back(static_cast<double>(static_cast<float>(x[s * all + first + i])));
        expected_dx[s * all + first + i] =
            static_cast<double>(static_cast<float>(dy[s * count + i]));
      }
    }
    expect_within(y.values(), expected_y, 0, "y");
    expect_within(dx.values(), expected_dx, 0, "dx");
  }
};

TEST_P(TokensTest, PrependsAndSumsTheGradientsOfTheSamples) {
  for (const int width : {1, 3, 7, 8, 65, 768}) {
    check_prepend<float>(5, 1, 9, width);
    check_prepend<bf16>(3, 2, 16, width);
  }
  check_prepend<float>(3000, 1, 2, 8);  // several chunks of column_sum
}

TEST_P(TokensTest, SelectsTokens) {
  for (const int width : {1, 3, 8, 65, 768}) {
    for (const auto& [first, count] : {std::pair{0, 1}, {1, 1}, {2, 3}, {4, 1}, {1, 4}, {0, 5}}) {
      check_select<float>(width, first, count);
      check_select<bf16>(width, first, count);
    }
  }
}

TEST_P(TokensTest, RefusesTokensOutsideTheTensor) {
  for (const auto& [first, count] : {std::pair{-1, 1}, {0, 0}, {4, 2}, {5, 1}}) {
    const auto run = [&, first = first, count = count] {
      select_tokens(stream(), DType::f32, 1, 5, 1, first, count, nullptr, nullptr);
    };
    wellspring::test::expect_parts(wellspring::test::message_of(ErrorKind::config, run),
                                   {"from token " + std::to_string(first) + " of 5"});
  }
}

WS_ON_EVERY_BACKEND(TokensTest);

TEST(CopyRowsTeams, GiveEqualBitsForAnySize) {
  for (const int columns : {3, 8, 2048, 2051, 4104}) {
    SCOPED_TRACE(std::to_string(columns) + " columns");
    constexpr int kRows = 3;
    const std::int64_t wide = columns + 8;
    const auto x = random_values<float>(static_cast<std::size_t>(kRows * wide), 1);
    std::vector<bf16> y(static_cast<std::size_t>(kRows * columns));
    const RowBlocks blocks = RowBlocks::of(kRows, columns, columns % kPack == 0);
    wellspring::test::expect_equal_for_all_team_sizes(
        CopyRows<float, bf16>{x.data() + 8, y.data(), wide, columns, blocks}, blocks.teams(),
        {kChunkTeam}, {wellspring::test::bytes_of(y)});
  }
}

}  // namespace
}  // namespace wellspring::ops::test
