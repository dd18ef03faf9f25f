// The number of CPU threads that the program uses, and what determined it. Called by streams, file
// sources and `doctor`; host only.
#pragma once

#include "kernels/runtime/device.h"
#include "kernels/runtime/host_limits.h"

#include <climits>

#include <cstdint>
#include <optional>
#include <string>

namespace wellspring {

/// The number of threads is set by, in order of precedence:
///   1. `threads` of the configuration (--threads of a command), unless it is 0;
///   2. OMP_NUM_THREADS, the first entry of its list;
///   3. the smaller of the affinity mask and the control group's processor quota, rounded up.
/// OMP_THREAD_LIMIT caps the result.
struct ThreadLimits {
  std::int64_t configured = 0;             ///< 0: not set
  std::optional<std::string> environment;  ///< OMP_NUM_THREADS
  int processors = 1;                      ///< in the affinity mask
  std::optional<ProcessorQuota> quota;
  int most = INT_MAX;  ///< OMP_THREAD_LIMIT
};

struct ThreadChoice {
  int count = 1;
  std::string decided_by;  ///< "OMP_NUM_THREADS=4", "the affinity mask"
  /// For example, "4 threads set by OMP_NUM_THREADS=4".
  std::string to_string() const;
};

/// Throws a config error for a configured number below 0 or above most_sensible_threads(). A larger
/// number from the environment is capped instead, because it is not meant for this program alone.
ThreadChoice choose_threads(const ThreadLimits& limits);
/// Four per processor, at least 64, so that a configuration for a larger machine still runs.
int most_sensible_threads(int processors);

/// Number of threads for OpenMP loops of this process at this moment.
ThreadChoice compute_threads(std::int64_t configured);
/// "cpu (AMD EPYC 9555, 4 threads set by OMP_NUM_THREADS=4)" or "cuda:0 (NVIDIA H200)".
std::string summarise_device(Device device, std::int64_t configured_threads);
/// Number of the program's own threads that read files; OMP_THREAD_LIMIT does not apply to them.
int reading_threads(std::int64_t configured);

}  // namespace wellspring
