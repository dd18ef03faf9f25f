// The launcher for GPUs, which the stand-in replaces, compiled against functions that fail on
// demand: a kernel whose shared memory was not granted must not count as granted.
#include "core/error.h"
#include "kernels/runtime/cuda_check.h"
#include "kernels/runtime/launch.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace {

int refusals = 0, grants = 0;
int granted_bytes = 0;                      // in the last grant
std::vector<std::size_t> launched_scratch;  // bytes, by launch

enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };

cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute attribute, int bytes) {
  EXPECT_EQ(attribute, cudaFuncAttributeMaxDynamicSharedMemorySize);
  if (refusals > 0) {
    --refusals;
    return cudaErrorInvalidValue;
  }
  ++grants;
  granted_bytes = bytes;
  return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, std::size_t scratch, cudaStream_t) {
  launched_scratch.push_back(scratch);
  return cudaSuccess;
}

}  // namespace

#define launch_kernel launch_kernel_on_gpu  // the stand-in has a function of that name
#include "kernels/runtime/launch_cuda.cpp"
#undef launch_kernel

namespace wellspring {
namespace {

TEST(GrantScratch, TriesAgainAfterAFailure) {
  static const stand_in::HostKernel target = {[](const void*) {}, "kernel"};
  KernelHandle kernel(&target, "kernel");
  Stream stream(Device::cuda(0));
  const auto launch = [&](std::size_t scratch_bytes) {
    cuda::launch_kernel_on_gpu(stream, kernel, {1, 32, scratch_bytes}, nullptr, 0);
  };
  grants = 0;
  launched_scratch.clear();
  launch(48 * 1024);
  EXPECT_EQ(grants, 0) << "every kernel may use 48 KiB";
  refusals = 1;
  EXPECT_THROW(launch(64 * 1024), Error);
  launch(64 * 1024);
  EXPECT_EQ(grants, 1) << "the launch after the failure must ask again";
  launch(64 * 1024);
  EXPECT_EQ(grants, 1);
  EXPECT_GE(granted_bytes, 64 * 1024);
  EXPECT_EQ(launched_scratch, (std::vector<std::size_t>{48 * 1024, 64 * 1024, 64 * 1024}));
}

}  // namespace
}  // namespace wellspring
