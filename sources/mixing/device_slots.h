// Slots of consecutive samples whose first id is in device memory, so that the host need not know it.
// Called by the Python module; host and device.
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

}  // namespace wellspring
