// Size of the caches of a device. Called by measurements that must read from memory; host only.
#pragma once

#include "kernels/runtime/device.h"

#include <cstddef>

namespace wellspring {

/// Bytes that are certainly more than the caches of a device hold: on the CPU, twice the last-level cache
/// that the processor reports. A virtual machine reports the cache of its host, of which it has a part.
std::size_t beyond_caches(Device device);

}  // namespace wellspring
