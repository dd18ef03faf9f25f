#include "kernels/runtime/caches.h"

#include <algorithm>
#include <unistd.h>

namespace wellspring {

std::size_t beyond_caches(Device device) {
  // The largest second-level cache of a GPU has 126 MB (NVIDIA B200).
  if (device.is_cuda()) return std::size_t{256} << 20;
  return std::max(2 * static_cast<std::size_t>(std::max(0L, ::sysconf(_SC_LEVEL3_CACHE_SIZE))),
                  std::size_t{64} << 20);
}

}  // namespace wellspring
