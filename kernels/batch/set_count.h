// Writes the number of items of a row's set, for generated and stored sets. Host and device.
#pragma once

#include "kernels/batch/batch.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring::detail {

/// Adds to a counter shared by all rows of the batch.
WS_INLINE void count_up(unsigned long long* counter, unsigned long long n) {
#if WS_DEVICE_CODE
  atomicAdd(counter, n);
#else
  __atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
#endif
}

/// `count`: number of items of the set. The row keeps as many as fit; the rest count as overflow, and
/// so do `missing` items, which were never made.
WS_INLINE void write_count(const BatchView& batch, std::int64_t b, int count, int missing = 0) {
  const int kept = count < batch.layout.items ? count : batch.layout.items;
  if (batch.count != nullptr) batch.count[b] = kept;
  const int dropped = count - kept + missing;
  if (dropped > 0 && batch.overflow != nullptr) {
    count_up(&batch.overflow->samples, 1);
    count_up(&batch.overflow->items, static_cast<unsigned long long>(dropped));
  }
}

}  // namespace wellspring::detail
