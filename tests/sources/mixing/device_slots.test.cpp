#include "sources/mixing/device_slots.h"

#include "kernels/runtime/launch.h"
#include "kernels/runtime/stream.h"
#include "sources/mixing/assignment.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace wellspring {
namespace {

TEST(DeviceRepeatedSlots, EqualRangeSlotsAcrossTheLowWord) {
  constexpr std::int64_t kRows = 8;
  const std::uint64_t first = (std::uint64_t{3} << 32) - 4;
  const std::uint32_t words[] = {static_cast<std::uint32_t>(first),
                                 static_cast<std::uint32_t>(first >> 32), 0};
  std::vector<Slot> slots(kRows), wanted(kRows);
  Stream stream(Device::cpu());
  map(stream, "slots", kRows, DeviceRepeatedSlots{words, 1, slots.data()});
  map(stream, "wanted", kRows, RangeSlots{first, 0, kRows, wanted.data()});
  for (std::size_t row = 0; row < slots.size(); ++row) {
    EXPECT_EQ(slots[row].sample, wanted[row].sample);
    EXPECT_EQ(slots[row].ordinal, wanted[row].ordinal);
    EXPECT_EQ(slots[row].source, wanted[row].source);
    EXPECT_EQ(slots[row].row, wanted[row].row);
  }
}

TEST(RepeatedSlots, EqualTheOrderOfTrainingWithRepeats) {
  constexpr std::int64_t kRows = 12;
  constexpr std::uint64_t kFirst = (std::uint64_t{3} << 32) - 2;
  for (const std::uint32_t repeats : {1U, 3U}) {
    std::vector<Slot> slots(kRows);
    Stream stream(Device::cpu());
    map(stream, "slots", kRows, RepeatedSlots{kFirst, 0, repeats, slots.data()});
    const SampleOrder order{.repeats = repeats};
    for (std::size_t row = 0; row < slots.size(); ++row) {
      EXPECT_EQ(slots[row].ordinal, kFirst * repeats + row);
      EXPECT_EQ(slots[row].sample, order.sample(slots[row].ordinal));
      EXPECT_EQ(slots[row].row, row);
    }
  }
}

TEST(RepeatedSlots, HaveTheOrdinalsOfAViewInALaterPass) {
  constexpr std::int64_t kRows = 6;
  const std::uint32_t words[] = {10, 1, 5};
  constexpr std::uint64_t kFirst = (std::uint64_t{1} << 32) + 10;
  std::vector<Slot> slots(kRows), wanted(kRows);
  Stream stream(Device::cpu());
  map(stream, "slots", kRows, DeviceRepeatedSlots{words, 2, slots.data()});
  map(stream, "wanted", kRows, RepeatedSlots{kFirst, 5, 2, wanted.data()});
  for (std::size_t row = 0; row < slots.size(); ++row) {
    EXPECT_EQ(slots[row].ordinal, 5 * kViewOrdinals + kFirst * 2 + row);
    EXPECT_EQ(slots[row].sample, kFirst + row / 2);
    EXPECT_EQ(slots[row].ordinal, wanted[row].ordinal);
    EXPECT_EQ(slots[row].sample, wanted[row].sample);
  }
}

}  // namespace
}  // namespace wellspring
