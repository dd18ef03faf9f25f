// Asks cuDNN, on a machine without a GPU, to plan attention for an H200. h200.h explains how.
#include "kernels/ops/attention.h"

#include "kernels/ops/cuda/cudnn.h"
#include "tests/ops/cuda/h200.h"
#include "tests/support/error_testing.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <string>

// cudnn-frontend also asks the CUDA runtime for the version of the current GPU. The linker
// redirects its calls to these functions, which answer for the H200 (compute capability 9.0). In
// CUDA 12, the second one has another name.
extern "C" cudaError_t __wrap_cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
extern "C" cudaError_t __wrap_cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  properties->major = 9;
  return cudaSuccess;
}
extern "C" cudaError_t __wrap_cudaGetDeviceProperties_v2(cudaDeviceProp* properties, int device) {
  return __wrap_cudaGetDeviceProperties(properties, device);
}

namespace wellspring::ops::cuda {
namespace {

class AttentionOnH200 : public CudnnOnH200 {
 protected:
  /// Plans both passes; if cuDNN refuses, the test fails and reports cuDNN's reasons.
  void expect_planned(AttentionSpec spec) {
    spec.compute = DType::bf16;
    for (const AttentionPass pass : {AttentionPass::forward, AttentionPass::backward}) {
      try {
        const AttentionGraph planned(spec, pass, target_);
        EXPECT_EQ(planned.workspace_bytes(), 0u) << "cuDNN must build nothing without a device";
      } catch (const Error& error) {
        ADD_FAILURE() << error.what();
      }
    }
  }
};

TEST_F(AttentionOnH200, PlansVisionTransformers) {
  for (const int tokens : {64, 65, 196, 197, 198, 257}) {
    expect_planned({.batch = 128, .tokens = tokens, .heads = 3, .head_width = 64});
    expect_planned({.batch = 32, .tokens = tokens, .heads = 12, .head_width = 64});
  }
}

TEST_F(AttentionOnH200, PlansMaskedSets) {
  for (const int width : {16, 32}) {
    expect_planned({.batch = 256, .tokens = 64, .heads = 4, .head_width = width, .masked = true});
  }
}

TEST_F(AttentionOnH200, RefusesWhatTheTeamFunctorsMustDo) {
  AttentionSpec spec{.batch = 2, .tokens = 64, .heads = 4, .head_width = 12};
  const auto plan = [&] { const AttentionGraph planned(spec, AttentionPass::forward, target_); };
  spec.compute = DType::bf16;
  wellspring::test::expect_parts(
      wellspring::test::message_of(ErrorKind::device, plan),
      {"forward of attention 2x64 tokens, 4 heads of 12, bf16", "NVIDIA H200", "multiple of 8"});
}

}  // namespace
}  // namespace wellspring::ops::cuda
