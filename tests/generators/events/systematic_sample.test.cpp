#include "generators/events/systematic_sample.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace wellspring {
namespace {

// Tries every start once, with the word in the middle of the interval that below() maps to it.
TEST(SystematicSample, KeepsEachItemWithTheSameProbability) {
  for (const auto& [all, most] : {std::pair{7u, 3u}, {1000u, 512u}, {513u, 512u}, {90u, 1u}}) {
    std::vector<std::uint32_t> times(all);
    for (std::uint32_t start = 0; start < all; ++start) {
      const auto word = static_cast<std::uint32_t>(((2 * std::uint64_t{start} + 1) << 31) / all);
      const SystematicSample sample(all, most, word);
      std::int32_t kept = 0;
      for (std::uint32_t item = 0; item < all; ++item) {
        const std::int32_t place = sample.place(item);
        if (place < 0) continue;
        ASSERT_EQ(place, kept++);
        ++times[item];
      }
      ASSERT_EQ(kept, static_cast<std::int32_t>(most));
    }
    for (const std::uint32_t count : times) EXPECT_EQ(count, most);
  }
}

TEST(SystematicSample, KeepsAllItemsThatFit) {
  for (const std::uint32_t all : {0u, 1u, 5u}) {
    const SystematicSample sample(all, 5, 0x87654321u);
    for (std::uint32_t item = 0; item < all; ++item)
      EXPECT_EQ(sample.place(item), static_cast<std::int32_t>(item));
  }
}

// Any run of consecutive items keeps its share of the sample to within one item.
TEST(SystematicSample, KeepsSharesOfRuns) {
  constexpr std::uint32_t kAll = 131071, kMost = 50000;
  const SystematicSample sample(kAll, kMost, 0xdeadbeefu);
  double most = 0, least = 0, excess = 0;
  for (std::uint32_t item = 0; item < kAll; ++item) {
    excess += (sample.place(item) < 0 ? 0 : 1) - double{kMost} / kAll;
    most = excess > most ? excess : most;
    least = excess < least ? excess : least;
  }
  EXPECT_LE(most - least, 1 + 1e-6);
}

}  // namespace
}  // namespace wellspring
