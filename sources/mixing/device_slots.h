// Slots of consecutive samples with repeats, also with their first id and pass in device memory, so that
// the host need not know them. Called by the Python module; host and device.
#pragma once

#include "kernels/batch/batch.h"
#include "kernels/runtime/macros.h"
#include "sources/mixing/assignment.h"

#include <cstdint>

namespace wellspring {

/// A sample id as two words, the low one first.
WS_INLINE constexpr std::uint64_t sample_id(const std::uint32_t* words) {
  return words[0] | std::uint64_t{words[1]} << 32;
}

/// Slots of `repeat` copies of each sample in a row, as SampleOrder::repeats orders them, in a pass over
/// the samples. Their augmentation is that of view `pass` in training. The row is below 2^32.
struct RepeatedSlots {
  std::uint64_t first_sample;
  std::uint64_t pass;
  std::uint32_t repeat;
  Slot* slots;
  WS_HD void operator()(std::int64_t row) const {
    const auto place = static_cast<std::uint32_t>(row);
    const std::uint64_t first_ordinal = pass * kViewOrdinals + first_sample * repeat;
    slots[row] = {first_sample + place / repeat, first_ordinal + place, 0, place};
  }
};

/// The same with `first`, [3], in the device's memory: the words of the first id, and the pass.
struct DeviceRepeatedSlots {
  const std::uint32_t* first;
  std::uint32_t repeat;
  Slot* slots;
  WS_HD void operator()(std::int64_t row) const {
    RepeatedSlots{sample_id(first), first[2], repeat, slots}(row);
  }
};

}  // namespace wellspring
