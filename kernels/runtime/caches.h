// Size of the caches of a device. Called by measurements that must read from memory; host only.
#pragma once

#include "kernels/runtime/device.h"

#include <cstddef>

namespace wellspring {

/// Bytes meant to exceed a device's caches: 256 MiB on a GPU; on a CPU, twice the last-level cache
/// that the system reports, and at least 64 MiB. A virtual machine reports the whole cache of its
/// host.
std::size_t beyond_caches(Device device);

}  // namespace wellspring
