// Slots of consecutive samples, either with repeats or with the first id in device memory (the host
// need not know it). Called by the Python module; host and device.
#pragma once

#include "kernels/batch/batch.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring {

/// A sample id as two words, the low one first.
WS_INLINE constexpr std::uint64_t sample_id(const std::uint32_t* words) {
  return words[0] | std::uint64_t{words[1]} << 32;
}

struct DeviceRangeSlots {
  const std::uint32_t* first;  ///< [2]
  Slot* slots;
  WS_HD void operator()(std::int64_t row) const {
    const std::uint64_t sample = sample_id(first) + static_cast<std::uint64_t>(row);
    slots[row] = {sample, sample, 0, static_cast<std::uint32_t>(row)};
  }
};

/// Slots with `repeat` consecutive copies of each sample, ordered as SampleOrder::repeats orders
/// them. Row indices are below 2^32.
struct RepeatedSlots {
  std::uint64_t first_sample;
  std::uint32_t repeat;
  std::uint64_t first_ordinal;  ///< ordinal of row 0
  Slot* slots;
  WS_HD void operator()(std::int64_t row) const {
    const auto place = static_cast<std::uint32_t>(row);
    slots[row] = {first_sample + place / repeat, first_ordinal + place, 0, place};
  }
};

}  // namespace wellspring
