// Asks cuDNN to plan every kind of convolution in the program for an H200, on a machine without a
// GPU. h200.h explains how.
#include "kernels/ops/cuda/cudnn.h"

#include "core/error.h"
#include "kernels/ops/cuda/versions.h"
#include "tests/ops/cuda/h200.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

#include <string>

namespace wellspring::ops::cuda {
namespace {

Conv2dSpec conv(std::int64_t batch, int size, int in_channels, int out_channels, int kernel = 3,
                int stride = 1, int padding = 1) {
  Conv2dSpec spec;
  spec.batch = batch;
  spec.in_height = spec.in_width = size;
  spec.in_channels = in_channels;
  spec.out_channels = out_channels;
  spec.kernel = kernel;
  spec.stride = stride;
  spec.padding = padding;
  return spec;
}

TEST_F(CudnnOnH200, PlansEveryKindOfConvolution) {
  const Conv2dSpec shapes[] = {
      conv(128, 32, 3, 32),           // first layer on colour images
      conv(128, 32, 1, 16),           // on grey images
      conv(128, 16, 32, 64),          //
      conv(128, 8, 64, 128),          //
      conv(128, 4, 256, 256),         //
      conv(64, 224, 3, 64, 7, 2, 3),  // the stem of He et al. 2016
      conv(64, 56, 64, 64, 1, 1, 0),  // pointwise convolution
      conv(64, 56, 64, 128, 1, 2, 0), conv(64, 56, 64, 128, 3, 2, 1),
      conv(1, 9, 5, 7, 3, 2, 1),    // all sizes odd
      conv(1, 1, 1, 1, 1, 1, 0),    // all sizes 1
      conv(7, 1, 64, 10, 1, 1, 0),  // a dense layer written as a convolution
  };
  for (Conv2dSpec spec : shapes) {
    for (const bool bias : {false, true}) {
      for (const Activation activation : {Activation::none, Activation::relu}) {
        spec.bias = bias;
        spec.activation = activation;
        expect_planned(spec);
      }
    }
  }
}

// Devices that cannot fuse bias and ReLU use this fallback.
TEST_F(CudnnOnH200, PlansForwardWithoutEpilogue) {
  ConvGraphSpec spec = graph(conv(128, 32, 3, 32), ConvPass::forward, DType::bf16);
  spec.conv.activation = Activation::relu;
  spec.epilogue = Epilogue::separate;
  expect_planned(spec);
}

// Shows that a missing plan is detected: cuDNN 9.19 has no plan for this graph.
TEST_F(CudnnOnH200, RefusesF32WeightGradientsOfBf16) {
  ConvGraphSpec spec = graph(conv(128, 32, 32, 64), ConvPass::backward_weights, DType::bf16);
  spec.result = DType::f32;
  SCOPED_TRACE("if cuDNN now has a plan, the weight gradients of bf16 networks could be f32");
  const std::string message = wellspring::test::message_of(
      ErrorKind::device, [&] { const ConvGraph planned(spec, target_); });
  wellspring::test::expect_parts(message,
                                 {"backward weights of conv2d 128x32x32x32 -> 64", "NVIDIA H200"});
}

TEST(CudnnTarget, RefusesUnreadableDescriptions) {
  EXPECT_THROW(CudnnTarget::described_by("{"), Error);
  EXPECT_THROW(CudnnTarget::described_by("{}"), Error);
  EXPECT_THROW(CudnnTarget::described_by(R"({"deviceName": "x", "deviceVer": 900})"), Error);
}

TEST(Cudnn, ReportsItsVersion) {
  EXPECT_TRUE(cudnn_version().starts_with("9.")) << cudnn_version();
}

}  // namespace
}  // namespace wellspring::ops::cuda
