#include "kernels/ops/cpu/conv_pool2d.h"

#include "kernels/ops/ops.h"

#include <cstddef>
#include <memory>

namespace wellspring::ops {
namespace {

/// Convolution, then pooling. The workspace holds the full-size image between the two: the
/// convolution's output, later its gradient.
class ConvThenPool final : public ConvPool2d {
 public:
  ConvThenPool(const Conv2dSpec& spec, const Stream& stream)
      : convolution_(Conv2d::plan(without_activation(spec), stream)),
        input_gradient_(spec.input_gradient) {
    pool_.batch = spec.batch;
    pool_.height = spec.out_height();
    pool_.width = spec.out_width();
    pool_.channels = spec.out_channels;
    pool_.activation = spec.activation;
    pool_.compute = spec.compute;
    const auto elements = static_cast<std::size_t>(pool_.batch * pool_.height * pool_.width) *
                          static_cast<std::size_t>(pool_.channels);
    const std::size_t bytes = elements * size_of(spec.compute);
    image_bytes_ = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

  std::size_t workspace_bytes() const override {
    return image_bytes_ + convolution_->workspace_bytes();
  }
  bool sums_parts() const override { return convolution_->sums_parts(); }

  void forward(Stream& stream, const void* x, const void* w, const float* bias, void* y,
               std::uint8_t* winner, Workspace workspace) override {
    convolution_->forward(stream, x, w, bias, workspace.data, rest(workspace));
    max_pool_forward(stream, pool_, workspace.data, y, winner);
  }

  void backward(Stream& stream, const void* x, const void* w, const void* dy,
                const std::uint8_t* winner, void* dx, void* dw, float* dbias,
                Workspace workspace) override {
    max_pool_backward(stream, pool_, dy, winner, workspace.data);
    if (dw != nullptr)
      convolution_->backward_weights(stream, x, workspace.data, dw, dbias, rest(workspace));
    if (!input_gradient_) return;
    convolution_->backward_data(stream, workspace.data, w, dx, rest(workspace));
  }

 private:
  static constexpr std::size_t kAlignment = 256;

  static Conv2dSpec without_activation(Conv2dSpec spec) {
    spec.activation = Activation::none;  // the pooling applies it
    return spec;
  }
  Workspace rest(Workspace workspace) const {
    return {static_cast<std::byte*>(workspace.data) + image_bytes_, workspace.bytes - image_bytes_,
            workspace.totals};
  }

  std::unique_ptr<Conv2d> convolution_;
  PoolSpec pool_;
  bool input_gradient_;
  std::size_t image_bytes_ = 0;
};

}  // namespace

std::unique_ptr<ConvPool2d> ConvPool2d::plan(const Conv2dSpec& spec, const Stream& stream) {
  if (stream.device().is_cpu()) {
    if (auto faster = cpu::plan_conv_pool2d(spec, stream)) return faster;
  }
  return std::make_unique<ConvThenPool>(spec, stream);
}

}  // namespace wellspring::ops
