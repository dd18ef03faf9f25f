#include "kernels/random/philox.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <set>
#include <tuple>
#include <vector>

namespace wellspring {
namespace {

/// The chi-square of equally likely `cells`, as a number of standard deviations from its mean, by
/// the nearly normal cube-root transform (E. Wilson, M. Hilferty, PNAS 17, 1931).
double chi_square_sigmas(const std::vector<std::int64_t>& cells) {
  double total = 0;
  for (const std::int64_t count : cells) total += static_cast<double>(count);
  const double expected = total / static_cast<double>(cells.size());
  double chi_square = 0;
  for (const std::int64_t count : cells) {
    chi_square += (static_cast<double>(count) - expected) * (static_cast<double>(count) - expected);
  }
  chi_square /= expected;
  const double k = static_cast<double>(cells.size()) - 1;
  return (std::cbrt(chi_square / k) - (1 - 2 / (9 * k))) / std::sqrt(2 / (9 * k));
}

// 5 standard deviations, two-sided: one false alarm in 1.7 million runs; the seeds are fixed.
constexpr double kGate = 5;

TEST(RngStream, DrawsUniformFloats) {
  RngStream random({2024, 7}, Purpose::texture);
  std::vector<std::int64_t> cells(1024);
  for (int i = 0; i < 2'000'000; ++i) {
    const float u = random.uniform();
    ASSERT_GE(u, 0.0f);
    ASSERT_LT(u, 1.0f);
    ++cells[static_cast<std::size_t>(u * 1024)];
  }
  EXPECT_LT(std::abs(chi_square_sigmas(cells)), kGate);
}

/// Tests that neighbours along one coordinate of the counter are jointly uniform over 64 x 64
/// cells.
void expect_independent_neighbours(const char* what,
                                   const std::function<std::uint32_t(std::uint32_t)>& word) {
  std::vector<std::int64_t> cells(64 * 64);
  for (std::uint32_t i = 0; i < 1'000'000; i += 2) {
    const float a = unit_float(word(i)), b = unit_float(word(i + 1));
    ++cells[static_cast<std::size_t>(a * 64) * 64 + static_cast<std::size_t>(b * 64)];
  }
  EXPECT_LT(std::abs(chi_square_sigmas(cells)), kGate) << what;
}

TEST(Philox, GivesIndependentNeighbours) {
  const auto word = [](std::uint64_t seed, std::uint64_t sample, Purpose purpose,
                       std::uint32_t draw) {
    return SampleRng{seed, sample}.block(purpose, draw).word[0];
  };
  expect_independent_neighbours("samples",
                                [&](std::uint32_t i) { return word(1, i, Purpose::scene, 0); });
  expect_independent_neighbours("high words of samples", [&](std::uint32_t i) {
    return word(1, std::uint64_t{i} << 32, Purpose::scene, 0);
  });
  expect_independent_neighbours("draws",
                                [&](std::uint32_t i) { return word(1, 0, Purpose::scene, i); });
  expect_independent_neighbours("seeds",
                                [&](std::uint32_t i) { return word(i, 0, Purpose::scene, 0); });
  expect_independent_neighbours("purposes", [&](std::uint32_t i) {
    return word(1, i / 2, i % 2 == 0 ? Purpose::scene : Purpose::texture, 0);
  });
  expect_independent_neighbours("lanes", [](std::uint32_t i) {
    return SampleRng{1, i / 4}.block(Purpose::scene, 0).word[i % 4];
  });
}

TEST(Philox, UsesEveryPartOfTheCounter) {
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>> seen;
  int blocks = 0;
  for (const std::uint64_t seed : {0ull, 1ull, 1ull << 32}) {
    for (const std::uint64_t sample : {0ull, 1ull, 1ull << 32, ~0ull}) {
      for (const Purpose purpose : {Purpose::scene, Purpose::dropout}) {
        for (const std::uint32_t draw : {0u, 1u, ~0u}) {
          const Philox4 b = SampleRng{seed, sample}.block(purpose, draw);
          seen.emplace(b.word[0], b.word[1], b.word[2], b.word[3]);
          ++blocks;
        }
      }
    }
  }
  EXPECT_EQ(static_cast<int>(seen.size()), blocks);
}

TEST(RngStream, ReadsBlocksInOrder) {
  const SampleRng rng{3, 4};
  RngStream stream(rng, Purpose::label);
  for (std::uint32_t i = 0; i < 13; ++i) {
    EXPECT_EQ(stream.next(), rng.block(Purpose::label, i / 4).word[i % 4]);
  }
}

// The values come from independent code: FNV-1a of the name (checked with its published vectors,
// "a" -> af63dc4c8601ec8c and "foobar" -> 85944171f73967e8), then ten rounds of Philox.
TEST(NamedKey, HasPinnedValues) {
  EXPECT_EQ(named_key(0, ""), 0xb5c3f648e1b04609u);
  EXPECT_EQ(named_key(7, "shapes"), 0x40dc03e9f6d3ee91u);
  EXPECT_EQ(named_key((std::uint64_t{1} << 63) + 5, "noise"), 0xe7d82b023acdc286u);
  EXPECT_NE(named_key(8, "shapes"), named_key(7, "shapes"));
  EXPECT_NE(named_key(7, "shape"), named_key(7, "shapes"));
}

TEST(Philox, ConversionsStayWithinTheirRanges) {
  EXPECT_EQ(unit_float(0), 0.0f);
  EXPECT_EQ(unit_float(0xffffffffu), 1.0f - 0x1p-24f);
  EXPECT_EQ(unit_float_open(0), 0x1p-24f);
  EXPECT_EQ(unit_float_open(0xffffffffu), 1.0f);
  for (const std::uint32_t n : {1u, 2u, 3u, 1000u, 0xffffffffu}) {
    EXPECT_EQ(below(0, n), 0u);
    EXPECT_EQ(below(0xffffffffu, n), n - 1);
  }
}

TEST(RngStream, DrawsUniformIntegers) {
  RngStream random({77, 0}, Purpose::order);
  std::vector<std::int64_t> cells(37);
  for (int i = 0; i < 1'000'000; ++i) ++cells[random.integer(37)];
  EXPECT_LT(std::abs(chi_square_sigmas(cells)), kGate);
}

}  // namespace
}  // namespace wellspring
