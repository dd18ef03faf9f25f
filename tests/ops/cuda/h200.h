// Plans convolutions for an H200 on machines without one. The device description holds NVIDIA's
// published figures in cuDNN's serialised form; the planning code is the same as for a real device.
// For the tests of cuDNN graphs; host only.
#pragma once

#include "core/error.h"
#include "kernels/ops/cuda/cudnn.h"

#include <gtest/gtest.h>

#include <dlfcn.h>
#include <fstream>
#include <iterator>
#include <string>

namespace wellspring::ops::cuda {

inline constexpr ConvPass kPasses[] = {ConvPass::forward, ConvPass::backward_data,
                                       ConvPass::backward_weights};

inline std::string h200_json() {
  std::ifstream file(WELLSPRING_SOURCE_DIR "/tests/data/h200-cudnn-device-properties.json");
  return {std::istreambuf_iterator<char>(file), {}};
}

inline ConvGraphSpec graph(Conv2dSpec conv, ConvPass pass, DType compute) {
  ConvGraphSpec spec;
  conv.compute = compute;
  spec.conv = conv;
  spec.pass = pass;
  spec.result = compute;
  // cuDNN has no engine that adds the bias to an embedding of patches of 224x224 images in bf16, so
  // Conv2d adds it afterwards.
  if (conv.kernel > 1 && conv.kernel == conv.stride) spec.epilogue = Epilogue::separate;
  return spec;
}

class CudnnOnH200 : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    // cuDNN offers its run-time compiled engines only if this library loads.
    ASSERT_NE(dlopen("libcuda.so.1", RTLD_NOW), nullptr)
        << dlerror() << ": run this with ctest, which puts the CUDA toolkit's driver stub "
        << "on LD_LIBRARY_PATH";
  }

  /// Plans a pass; if cuDNN refuses, the test fails and reports cuDNN's reasons.
  void expect_planned(const ConvGraphSpec& spec) {
    try {
      const ConvGraph planned(spec, target_);
      EXPECT_EQ(planned.workspace_bytes(), 0u) << "cuDNN must build nothing without a device";
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }

  /// Plans all passes of a convolution in both compute types.
  void expect_planned(const Conv2dSpec& spec) {
    for (const DType compute : {DType::f32, DType::bf16}) {
      for (const ConvPass pass : kPasses) {
        if (pass == ConvPass::backward_data && !spec.input_gradient) continue;
        expect_planned(graph(spec, pass, compute));
      }
    }
  }

  CudnnTarget target_ = CudnnTarget::described_by(h200_json());
};

}  // namespace wellspring::ops::cuda
