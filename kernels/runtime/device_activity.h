// Times of a GPU's kernels, copies and fills, by NVIDIA's CUPTI, which is opened when a recording
// begins. Called by `--trace` and by bench/gpu/kernel_trace.cpp; host only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace wellspring {

/// One piece of work of a GPU.
struct DeviceActivity {
  enum class Kind : std::uint8_t { kernel, copy, fill };
  Kind kind = Kind::kernel;
  std::string name = {};             ///< demangled name of a kernel; "copy, host to device"; "fill"
  std::uint64_t begin = 0, end = 0;  ///< nanoseconds of std::chrono::steady_clock
  std::uint32_t device = 0, stream = 0;  ///< numbers of CUDA and of CUPTI
  std::uint32_t launch = 0;              ///< shared by all records of a graph launch
  std::uint32_t graph = 0;               ///< 0: launched without a graph
  std::uint64_t node = 0;                ///< node of the graph
  std::uint64_t bytes = 0;               ///< copied or filled
  std::array<int, 3> grid = {}, block = {};
  int registers = 0;     ///< per thread of a kernel
  int shared_bytes = 0;  ///< per block of a kernel
};

/// Begins to record the GPU work of this process; it must not record already. Returns why it cannot
/// (built without CUPTI, no library, no permission), or "". `receive` is called by one thread at a
/// time, by CUPTI's own or in end_device_activity.
std::string begin_device_activity(std::function<void(const DeviceActivity&)> receive);

/// Waits for the records of all finished work, then stops; returns how many CUPTI has lost. Without
/// a recording, it does nothing.
std::size_t end_device_activity();

}  // namespace wellspring
