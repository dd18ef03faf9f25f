#include "sources/mixing/permutation.h"

#include "sources/mixing/order.h"
#include "tests/support/chi_square.h"
#include "tests/support/draw_counter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <set>
#include <vector>

namespace wellspring::test {
namespace {

std::vector<std::uint64_t> whole(std::uint64_t size, std::uint64_t seed, std::uint64_t epoch) {
  const Permutation permutation(size, seed, epoch, PermutationUse::epoch);
  std::vector<std::uint64_t> result(size);
  for (std::uint64_t i = 0; i < size; ++i) result[i] = permutation(i);
  return result;
}

TEST(Permutation, IsOneToOne) {
  std::vector<std::uint64_t> sizes = {1, 2, 3, 5, 6, 7, 10, 100, 20'000, 50'000, 100'003};
  for (int bits = 2; bits <= 17; ++bits) {
    const std::uint64_t power = std::uint64_t{1} << bits;
    sizes.insert(sizes.end(), {power - 1, power, power + 1});
  }
  for (const std::uint64_t size : sizes) {
    for (const std::uint64_t epoch : {0, 1, 7}) {
      std::vector<std::uint64_t> values = whole(size, 42, epoch);
      std::sort(values.begin(), values.end());
      for (std::uint64_t i = 0; i < size; ++i) ASSERT_EQ(values[i], i) << size << " " << epoch;
    }
  }
}

TEST(Permutation, StaysInRangeAndDistinctForHugeSizes) {
  for (const int bits : {32, 33, 40, 48}) {
    for (const std::int64_t offset : {-1, 0}) {
      const std::uint64_t size = (std::uint64_t{1} << bits) + static_cast<std::uint64_t>(offset);
      const Permutation permutation(size, 1, 2, PermutationUse::epoch);
      std::set<std::uint64_t> seen;
      for (std::uint64_t i = 0; i < 1000; ++i) {
        const std::uint64_t position = i % 2 == 0 ? i : size - 1 - i;
        const std::uint64_t value = permutation(position);
        ASSERT_LT(value, size);
        ASSERT_TRUE(seen.insert(value).second);
      }
    }
  }
}

// Pins the order, because runs resumed by later versions must see the same samples.
TEST(Permutation, HasPinnedValues) {
  const std::vector<std::uint64_t> ten = whole(10, 1234, 0);
  EXPECT_EQ(ten, (std::vector<std::uint64_t>{2, 1, 3, 6, 5, 8, 4, 7, 9, 0}));
  EXPECT_EQ(Permutation(20'000, 1234, 5, PermutationUse::epoch)(0), std::uint64_t{6812});
}

// A step on a GPU waits for the longest walk in its batch. The domain is the smallest square number
// that is at least the size. A look-up encrypts each element of the domain at most once.
TEST(Permutation, WalksNoFurtherThanTheNextSquare) {
  SKIP_UNLESS_DRAWS_ARE_COUNTED();
  for (const std::uint64_t side : {2, 3, 10, 141, 316}) {
    for (const std::uint64_t size :
         {side * side, side * side - side, (side - 1) * (side - 1) + 1}) {
      constexpr std::uint64_t kExchanges = 2;  // for exchanging the first two positions
      EXPECT_LE(test::blocks_drawn_by([&] { whole(size, 1, 0); }),
                Permutation::kRounds * side * side + kExchanges)
          << size;
    }
  }
}

TEST(Permutation, DiffersBySeedEpochAndUse) {
  const Permutation a(1000, 1, 0, PermutationUse::epoch), b(1000, 2, 0, PermutationUse::epoch),
      c(1000, 1, 1, PermutationUse::epoch), d(1000, 1, 0, PermutationUse::batch);
  int equal_b = 0, equal_c = 0, equal_d = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    equal_b += a(i) == b(i);
    equal_c += a(i) == c(i);
    equal_d += a(i) == d(i);
  }
  // The number of fixed points of a random permutation is Poisson distributed with mean 1, and is
  // above 12 with probability < 1e-9.
  EXPECT_LT(equal_b, 12);
  EXPECT_LT(equal_c, 12);
  EXPECT_LT(equal_d, 12);
}

// Tiny domains are the hardest case for a Feistel network. All orders of n elements must be equally
// likely.
TEST(Permutation, GivesAllOrdersOfFewElementsEqually) {
  for (const std::uint64_t size : {2, 3, 4, 5}) {
    std::vector<std::uint64_t> order(size);
    std::iota(order.begin(), order.end(), std::uint64_t{0});
    std::vector<std::vector<std::uint64_t>> orders;
    do {
      orders.push_back(order);
    } while (std::next_permutation(order.begin(), order.end()));
    const int draws = 2000 * static_cast<int>(orders.size());
    std::vector<double> counts(orders.size(), 0);
    for (int epoch = 0; epoch < draws; ++epoch) {
      const auto drawn = whole(size, 9, static_cast<std::uint64_t>(epoch));
      const auto found = std::lower_bound(orders.begin(), orders.end(), drawn);
      ++counts[static_cast<std::size_t>(found - orders.begin())];
    }
    EXPECT_LT(chi_square_score(counts, 2000), 5) << size;
  }
}

// Over many epochs, each sample must appear at each position equally often.
TEST(Permutation, IsUniformOverEpochs) {
  constexpr std::uint64_t kSize = 50;
  constexpr int kEpochs = 20'000;
  std::vector<double> counts(kSize * kSize, 0);
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    const auto drawn = whole(kSize, 3, static_cast<std::uint64_t>(epoch));
    for (std::uint64_t i = 0; i < kSize; ++i) ++counts[i * kSize + drawn[i]];
  }
  // Rows and columns of the table sum to the number of epochs, which is 2 n - 1 constraints.
  const double score = chi_square_score(counts, kEpochs / double{kSize}, 2 * kSize - 1);
  EXPECT_LT(score, 5);
  EXPECT_GT(score, -5);
}

TEST(Permutation, HasUncorrelatedNeighbours) {
  for (const std::uint64_t size : {1000, 1024, 20'000}) {
    const auto drawn = whole(size, 11, 0);
    const double n = static_cast<double>(size);
    for (const std::uint64_t lag : {1, 2, 32}) {
      double sum = 0;
      for (std::uint64_t i = 0; i < size; ++i) {
        sum += (static_cast<double>(drawn[i]) - (n - 1) / 2) *
               (static_cast<double>(drawn[(i + lag) % size]) - (n - 1) / 2);
      }
      const double correlation = sum / (n * (n * n - 1) / 12);
      // Random permutations: mean -1 / (n - 1), standard deviation 1 / sqrt(n) (to order 1/n).
      EXPECT_LT(std::abs(correlation + 1 / (n - 1)) * std::sqrt(n), 5) << size << " lag " << lag;
    }
  }
}

// A folder is sorted by class, but the first batch must contain nearly all classes. A sequential
// reader with a shuffle buffer would not achieve this.
TEST(Permutation, MixesDataSortedByClass) {
  constexpr std::uint64_t kClasses = 10, kSize = 20'000, kBatch = 128;
  const SampleOrder order{.size = kSize, .seed = 5};
  for (std::uint64_t batch = 0; batch < 20; ++batch) {
    std::vector<double> counts(kClasses, 0);
    for (std::uint64_t i = 0; i < kBatch; ++i) {
      ++counts[order.sample(batch * kBatch + i) / (kSize / kClasses)];
    }
    EXPECT_GT(*std::min_element(counts.begin(), counts.end()), 0);  // p(miss) < 10 * 0.9^128 = 1e-5
    EXPECT_LT(chi_square_score(counts, kBatch / double{kClasses}), 5);
  }
}

TEST(SampleOrder, GivesEverySampleOncePerEpoch) {
  const SampleOrder order{.size = 37, .seed = 5};
  std::vector<std::uint64_t> first;
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<std::uint64_t> epoch_samples;
    for (std::uint64_t i = 0; i < 37; ++i) epoch_samples.push_back(order.sample(epoch * 37 + i));
    if (epoch == 0) first = epoch_samples;
    EXPECT_EQ(epoch_samples == first, epoch == 0);
    std::sort(epoch_samples.begin(), epoch_samples.end());
    for (std::uint64_t i = 0; i < 37; ++i) EXPECT_EQ(epoch_samples[i], i);
  }
}

TEST(SampleOrder, RepeatsEachSample) {
  const SampleOrder once{.size = 37, .seed = 5}, thrice{.size = 37, .seed = 5, .repeats = 3};
  for (std::uint64_t i = 0; i < 4 * 37; ++i) {
    for (std::uint64_t k = 0; k < 3; ++k) EXPECT_EQ(thrice.sample(3 * i + k), once.sample(i));
  }
  const SampleOrder generator{.repeats = 2};
  EXPECT_EQ(generator.sample(0), 0u);
  EXPECT_EQ(generator.sample(7), 3u);
}

TEST(SampleOrder, KeepsTheOrderWithoutShuffling) {
  const SampleOrder plain{.size = 4, .shuffle = false};
  EXPECT_EQ(plain.sample(3), 3u);
  EXPECT_EQ(plain.sample(9), 1u);
  const SampleOrder generator{.first_sample = 1000};
  EXPECT_EQ(generator.sample(std::uint64_t{1} << 40), (std::uint64_t{1} << 40) + 1000);
}

}  // namespace
}  // namespace wellspring::test
