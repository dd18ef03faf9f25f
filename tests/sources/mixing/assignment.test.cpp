#include "sources/mixing/assignment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace wellspring {
namespace {

constexpr std::int64_t kBatch = 128;
constexpr std::uint64_t kSteps = 200;

SlotAssignment one_source(std::uint32_t repeats, const Share& share) {
  SlotAssignment assignment;
  assignment.steps = kSteps;
  assignment.share = share;
  assignment.seed = 5;
  assignment.order[0].repeats = repeats;
  return assignment;
}

std::vector<Slot> slots_of(std::uint32_t repeats, std::uint64_t step, int ranks) {
  std::vector<Slot> slots;
  for (int rank = 0; rank < ranks; ++rank) {
    const Share share{kBatch, kBatch / ranks * rank, kBatch / ranks};
    const SlotAssignment assignment = one_source(repeats, share);
    for (std::int64_t row = 0; row < share.rows; ++row) slots.push_back(assignment.slot(step, row));
  }
  return slots;
}

// Mixup and cutmix pair rows 2k and 2k + 1. In a randomly ordered batch of B rows, a row's partner
// is one of its r - 1 copies with a probability of at most (r - 1) / (B - 1). The number of such
// pairs in a run is close to a Poisson variable with mean m = pairs (r - 1) / (B - 1), where m >=
// 100. Each count exceeds m + 6 sqrt(m) by chance with a probability below 1e-7.
TEST(SlotAssignment, PairsCopiesOfASampleNoMoreOftenThanChance) {
  for (std::uint32_t repeats = 1; repeats <= 4; ++repeats) {
    for (const int ranks : {1, 2, 4}) {
      int pairs = 0, copies = 0;
      for (std::uint64_t step = 0; step < kSteps; ++step) {
        const std::vector<Slot> slots = slots_of(repeats, step, ranks);
        for (std::size_t row = 0; row < slots.size(); row += 2, ++pairs)
          copies += slots[row].sample == slots[row + 1].sample;
      }
      const double mean = pairs * (repeats - 1.0) / (kBatch - 1.0);
      EXPECT_LE(copies, mean + 6 * std::sqrt(mean)) << repeats << " repeats, " << ranks << " ranks";
    }
  }
}

TEST(SlotAssignment, ReordersRowsOnlyForRepeats) {
  for (std::uint32_t repeats = 1; repeats <= 4; ++repeats) {
    for (std::uint64_t step = 0; step < kSteps; step += 7) {
      const std::vector<Slot> slots = slots_of(repeats, step, 1),
                              shared = slots_of(repeats, step, 4);
      std::set<std::uint64_t> ordinals;
      for (std::size_t row = 0; row < slots.size(); ++row) {
        ordinals.insert(slots[row].ordinal);
        ASSERT_EQ(slots[row].sample, slots[row].ordinal / repeats);
        ASSERT_EQ(slots[row].row, row);
        ASSERT_EQ(shared[row].ordinal, slots[row].ordinal);
        if (repeats == 1) {
          ASSERT_EQ(slots[row].ordinal, step * kBatch + row);
        }
      }
      ASSERT_EQ(ordinals.size(), static_cast<std::size_t>(kBatch));
      ASSERT_EQ(*ordinals.begin(), step * kBatch);
      ASSERT_EQ(*ordinals.rbegin(), (step + 1) * kBatch - 1);
    }
  }
}

}  // namespace
}  // namespace wellspring
