#include "kernels/runtime/cuda_check.h"
#include "kernels/runtime/launch.h"

#include <cuda_runtime_api.h>

namespace wellspring::cuda {
namespace {

/// Shared memory that a launch can use without opting in.
constexpr std::size_t kPlainScratchBytes = 48 * 1024;

/// Lets the kernel use all shared memory of the current device, except its static shared memory.
void grant_scratch(KernelHandle& kernel, Device device) {
  if (kernel.granted(device.index)) return;
  cudaFuncAttributes attributes{};
  WS_CUDA_CHECK(cudaFuncGetAttributes(&attributes, kernel.function()));
  const std::size_t bytes = scratch_limit(device) - attributes.sharedSizeBytes;
  WS_CUDA_CHECK(cudaFuncSetAttribute(kernel.function(), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(bytes)));
  kernel.mark_granted(device.index);
}

}  // namespace

void launch_kernel(const Stream& stream, KernelHandle& kernel, const LaunchShape& shape,
                   const void* parameters, std::size_t) {
  const DeviceScope scope(stream.device().index);
  if (shape.scratch_bytes > kPlainScratchBytes) grant_scratch(kernel, stream.device());
  void* arguments[] = {const_cast<void*>(parameters)};  // the runtime only reads them
  check(cudaLaunchKernel(
            kernel.function(), dim3(static_cast<unsigned>(shape.blocks)),
            dim3(static_cast<unsigned>(shape.threads), static_cast<unsigned>(shape.teams)),
            arguments, shape.scratch_bytes, static_cast<cudaStream_t>(stream.native())),
        kernel.name(), __FILE__, __LINE__);
}

}  // namespace wellspring::cuda
