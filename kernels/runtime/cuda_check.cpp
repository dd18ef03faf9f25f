#include "kernels/runtime/cuda_check.h"

#if WELLSPRING_CUDA

#include "core/error.h"

#include <fmt/format.h>

#include <cstdio>
#include <string>

namespace wellspring::cuda {
namespace {

const char* advice_for(cudaError_t status) {
  switch (status) {
    case cudaErrorMemoryAllocation:
      return "use a smaller batch, or free memory on the device (nvidia-smi shows the processes "
             "that use it)";
    case cudaErrorInsufficientDriver:
    case cudaErrorNoDevice:
      return "install or load the NVIDIA driver, or set device=cpu";
    case cudaErrorNoKernelImageForDevice:
      return "build for this GPU's architecture: CMAKE_CUDA_ARCHITECTURES";
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorIllegalInstruction:
    case cudaErrorAssert:
      return "this process can no longer use the device, and the error may come from earlier "
             "work; run again with CUDA_LAUNCH_BLOCKING=1, or under compute-sanitizer, to find the "
             "kernel";
    default:
      return "the error may come from earlier asynchronous work; CUDA_LAUNCH_BLOCKING=1 finds it";
  }
}

std::string place_of(const char* expression, const char* file, int line) {
  int device = -1;
  if (cudaGetDevice(&device) != cudaSuccess) device = -1;
  const std::string where = device < 0 ? "no device" : fmt::format("cuda:{}", device);
  return fmt::format("{}:{}: {} failed on {}", file, line, expression, where);
}

}  // namespace

void raise(cudaError_t status, const char* expression, const char* file, int line) {
  const std::string problem = place_of(expression, file, line);
  static_cast<void>(cudaGetLastError());
  fail(ErrorKind::device,
       {problem, fmt::format("{}: {}", cudaGetErrorName(status), cudaGetErrorString(status)),
        advice_for(status)});
}

void report(cudaError_t status, const char* expression, const char* file, int line) noexcept {
  if (status == cudaSuccess || status == cudaErrorCudartUnloading) return;
  static_cast<void>(cudaGetLastError());
  std::fprintf(stderr, "%s:%d: %s failed (%s)\n", file, line, expression,
               cudaGetErrorString(status));
}

DeviceScope::DeviceScope(int index) : index_(index) {
  WS_CUDA_CHECK(cudaGetDevice(&previous_));
  if (previous_ != index_) WS_CUDA_CHECK(cudaSetDevice(index_));
}

DeviceScope::~DeviceScope() {
  if (previous_ != index_) WS_CUDA_REPORT(cudaSetDevice(previous_));
}

}  // namespace wellspring::cuda

#endif  // WELLSPRING_CUDA
