// Times of a GPU's kernels, copies and fills, measured by NVIDIA's CUPTI, which is opened when a
// recording begins. Called by `--trace` and by bench/gpu/kernel_trace.cpp; host only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace wellspring {

/// One piece of GPU work.
struct DeviceActivity {
  enum class Kind : std::uint8_t { kernel, copy, fill };
  Kind kind = Kind::kernel;
  std::string name = {};             ///< demangled name of a kernel; "copy, host to device"; "fill"
  std::uint64_t begin = 0, end = 0;  ///< nanoseconds of std::chrono::steady_clock
  std::uint32_t device = 0, stream = 0;  ///< device by CUDA's number, stream by CUPTI's
  std::uint32_t launch = 0;              ///< shared by all records of a graph launch
  std::uint32_t graph = 0;               ///< 0: launched without a graph
  std::uint64_t node = 0;                ///< node of the graph
  std::uint64_t bytes = 0;               ///< copied or filled
  std::array<int, 3> grid = {}, block = {};
  int registers = 0;     ///< per thread of a kernel
  int shared_bytes = 0;  ///< per block of a kernel
};

/// Begins to record this process's GPU work; no recording may be active. Returns why it cannot
/// record (built without CUPTI, no library, no permission), or "". Only one thread calls `receive`
/// at a time: CUPTI's own thread, or the caller of end_device_activity.
std::string begin_device_activity(std::function<void(const DeviceActivity&)> receive);

/// Waits for the records of all finished work, then stops. Returns the number of records that CUPTI
/// has lost. Does nothing without a recording.
std::size_t end_device_activity();

}  // namespace wellspring
