// Rates of the machine that bound every run on it: memory, matrix products, bus. Called by
// `diagnose`; host only.
#pragma once

#include "kernels/runtime/device.h"
#include "measure/diagnosis_report.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace wellspring::bench {

/// Sizes of the measured work; more is slower, but closer to the machine's limits.
struct MachineWork {
  std::size_t copied = std::size_t{256} << 20;  ///< bytes per copy, more than the caches hold
  std::int64_t side = 0;  ///< side of the matrices; 0: LargeProduct::usual_side
};

/// A copy in the device's memory, products in f32 and bf16 by the library that trains dense layers, and a
/// copy of host memory to the device, page-locked and pageable. A rate whose memory is not free has the reason.
std::vector<MachineRate> machine_rates(Device device, const MachineWork& work = {});

}  // namespace wellspring::bench
