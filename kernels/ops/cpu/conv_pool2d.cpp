#include "kernels/ops/cpu/conv_pool2d.h"

#include "kernels/ops/cpu/onednn.h"
#include "kernels/ops/cpu/vector_kernels.h"

#include <algorithm>
#include <cstring>
#include <omp.h>

namespace wellspring::ops::cpu {
namespace {

/// For the weight gradient, the samples are divided into ranges. Each range has its own sums, which
/// are added in order at the end. The number of ranges depends only on the shape, so the bits do
/// not depend on the threads. With 16 samples per range, clearing and adding its sums costs little
/// compared with filling them.
std::int64_t sample_ranges(const Conv2dSpec& spec) {
  return std::clamp<std::int64_t>(spec.batch / 16, 1, 64);
}

class WinnerConvPool2d final : public ConvPool2d {
 public:
  WinnerConvPool2d(const Conv2dSpec& spec, const WinnerShape& shape, const Stream& stream)
      : spec_(spec),
        shape_(shape),
        kernels_(vector_kernels()->winner),
        threads_(stream.threads()),
        ranges_(sample_ranges(spec)),
        convolution_(Conv2d::plan(forward_spec(spec), stream)) {
    pool_.batch = spec.batch;
    pool_.height = shape.height;
    pool_.width = shape.width;
    pool_.channels = shape.out_channels;
    pool_.activation = spec.activation;

    WorkspaceLayout forward;
    image_ = forward.take(static_cast<std::size_t>(spec.batch * shape.height * shape.width) *
                          static_cast<std::size_t>(shape.out_channels) * sizeof(float));
    convolution_workspace_ = forward.take(convolution_->workspace_bytes());

    WorkspaceLayout backward;
    scratch_stride_ = (kernels_.scratch(shape) + 63) / 64 * 64;
    scratch_ = backward.take(scratch_stride_ * static_cast<std::size_t>(threads_));
    const auto ranges = static_cast<std::size_t>(ranges_);
    weight_partials_ = backward.take(ranges * weight_floats() * sizeof(float));
    bias_partials_ =
        backward.take(ranges * static_cast<std::size_t>(shape.out_channels) * sizeof(float));
    workspace_bytes_ = std::max(forward.bytes(), backward.bytes());
  }

  std::size_t workspace_bytes() const override { return workspace_bytes_; }

  void forward(Stream& stream, const void* x, const void* w, const float* bias, void* y,
               std::uint8_t* winner, Workspace workspace) override {
    WS_EXPECT(workspace.bytes >= workspace_bytes_);
    void* image = at(workspace, image_);
    convolution_->forward(stream, x, w, bias, image,
                          {at(workspace, convolution_workspace_), convolution_->workspace_bytes()});
    max_pool_forward(stream, pool_, image, y, winner);
  }

  void backward(Stream& stream, const void* x, const void* w, const void* dy,
                const std::uint8_t* winner, void* dx, void* dw, float* dbias,
                Workspace workspace) override {
    WS_EXPECT(workspace.bytes >= workspace_bytes_);
    const auto* image = static_cast<const float*>(x);
    const auto* weights = static_cast<const float*>(w);
    const auto* gradient = static_cast<const float*>(dy);
    if (dw != nullptr)
      stream.run(NodeKind::kernel, "conv_pool2d_backward_weights", [=, this] {
        sum_ranges(image, gradient, winner, workspace);
        add_ranges(static_cast<float*>(dw), dbias, workspace);
      });
    if (!spec_.input_gradient) return;
    stream.run(NodeKind::kernel, "conv_pool2d_backward_data", [=, this] {
      data_gradient(weights, gradient, winner, static_cast<float*>(dx), workspace);
    });
  }

 private:
  static Conv2dSpec forward_spec(Conv2dSpec spec) {
    spec.activation = Activation::none;  // the pooling applies it
    spec.input_gradient = false;
    return spec;
  }

  std::size_t weight_floats() const {
    return static_cast<std::size_t>(shape_.out_channels) *
           static_cast<std::size_t>(shape_.weight_stride());
  }
  std::int64_t x_elements() const {
    return std::int64_t{shape_.height} * shape_.width * shape_.in_channels;
  }
  std::int64_t y_elements() const { return std::int64_t{shape_.windows()} * shape_.out_channels; }
  void* my_scratch(Workspace workspace) const {
    return at(workspace,
              scratch_ + scratch_stride_ * static_cast<std::size_t>(omp_get_thread_num()));
  }
  float* weight_partial(Workspace workspace, std::int64_t range) const {
    return static_cast<float*>(at(workspace, weight_partials_)) +
           static_cast<std::size_t>(range) * weight_floats();
  }
  float* bias_partial(Workspace workspace, std::int64_t range) const {
    return static_cast<float*>(at(workspace, bias_partials_)) + range * shape_.out_channels;
  }

  /// Computes the partial sums for every range of samples and block of output channels.
  void sum_ranges(const float* x, const float* dy, const std::uint8_t* winner,
                  Workspace workspace) const {
    const std::int64_t blocks = shape_.out_channels / kWinnerBlock;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads_)
    for (std::int64_t task = 0; task < ranges_ * blocks; ++task) {
      const std::int64_t range = task / blocks;
      const int first = static_cast<int>(task % blocks) * kWinnerBlock;
      float* weights = weight_partial(workspace, range) + first * shape_.weight_stride();
      float* biases = bias_partial(workspace, range) + first;
      std::memset(weights, 0,
                  sizeof(float) * kWinnerBlock * static_cast<std::size_t>(shape_.weight_stride()));
      std::memset(biases, 0, sizeof(float) * kWinnerBlock);
      const std::int64_t end = spec_.batch * (range + 1) / ranges_;
      for (std::int64_t n = spec_.batch * range / ranges_; n < end; ++n) {
        kernels_.add_weight_gradient(shape_, x + n * x_elements(), dy + n * y_elements(),
                                     winner + n * y_elements(), first, weights, biases,
                                     my_scratch(workspace));
      }
    }
  }

  /// Computes dw and dbias from the partial sums, in the order of the ranges.
  void add_ranges(float* dw, float* dbias, Workspace workspace) const {
    const int values = 9 * shape_.in_channels;
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (int k = 0; k < shape_.out_channels; ++k) {
      float* sum = dw + std::int64_t{k} * values;
      std::memset(sum, 0, sizeof(float) * static_cast<std::size_t>(values));
      float bias = 0;
      for (std::int64_t range = 0; range < ranges_; ++range) {
        const float* part = weight_partial(workspace, range) + k * shape_.weight_stride();
#pragma omp simd
        for (int i = 0; i < values; ++i) sum[i] += part[i];
        bias += bias_partial(workspace, range)[k];
      }
      if (spec_.bias && dbias != nullptr) dbias[k] = bias;
    }
  }

  void data_gradient(const float* w, const float* dy, const std::uint8_t* winner, float* dx,
                     Workspace workspace) const {
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads_)
    for (std::int64_t n = 0; n < spec_.batch; ++n) {
      kernels_.write_data_gradient(shape_, w, dy + n * y_elements(), winner + n * y_elements(),
                                   dx + n * x_elements(), my_scratch(workspace));
    }
  }

  Conv2dSpec spec_;
  WinnerShape shape_;
  const WinnerKernels& kernels_;
  PoolSpec pool_;
  int threads_;
  std::int64_t ranges_;
  std::unique_ptr<Conv2d> convolution_;
  // Offsets in the workspace for the forward pass,
  std::size_t image_ = 0, convolution_workspace_ = 0;
  // and for the backward pass.
  std::size_t scratch_ = 0, scratch_stride_ = 0, weight_partials_ = 0, bias_partials_ = 0;
  std::size_t workspace_bytes_ = 0;
};

}  // namespace

std::unique_ptr<ConvPool2d> plan_conv_pool2d(const Conv2dSpec& spec, const Stream& stream) {
  const WinnerShape shape{spec.in_height, spec.in_width, spec.in_channels, spec.out_channels};
  const bool fits = spec.compute == DType::f32 && spec.kernel == 3 && spec.stride == 1 &&
                    spec.padding == 1 && spec.out_channels % kWinnerBlock == 0 &&
                    (spec.in_channels % 16 == 0 || (shape.narrow() && !spec.input_gradient));
  if (!fits || vector_kernels() == nullptr) return nullptr;
  return std::make_unique<WinnerConvPool2d>(spec, shape, stream);
}

}  // namespace wellspring::ops::cpu
