// Checks of CUDA runtime calls, and the current-device guard. Called by the CUDA parts of kernels/;
// host only, empty in a build without CUDA.
#pragma once

#if WELLSPRING_CUDA

#include <cuda_runtime_api.h>

namespace wellspring::cuda {

/// Throws a device error with the expression, its source location, the current device, CUDA's error
/// text and advice. Clears the runtime's last error, so that it is reported once.
[[noreturn]] void raise(cudaError_t status, const char* expression, const char* file, int line);
/// Writes the same message to stderr on one line, for destructors, which must not throw. Silent
/// while the process shuts down the runtime.
void report(cudaError_t status, const char* expression, const char* file, int line) noexcept;

inline void check(cudaError_t status, const char* expression, const char* file, int line) {
  if (status != cudaSuccess) raise(status, expression, file, line);
}

/// Makes `index` the calling thread's current device. The destructor makes the previous device
/// current again.
class DeviceScope {
 public:
  explicit DeviceScope(int index);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  int previous_ = 0;
  int index_ = 0;
};

}  // namespace wellspring::cuda

#define WS_CUDA_CHECK(expression) \
  ::wellspring::cuda::check((expression), #expression, __FILE__, __LINE__)
#define WS_CUDA_REPORT(expression) \
  ::wellspring::cuda::report((expression), #expression, __FILE__, __LINE__)

#endif  // WELLSPRING_CUDA
