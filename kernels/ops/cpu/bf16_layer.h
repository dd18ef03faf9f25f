// Convolutions and dense layers in bf16 on CPUs without AMX: the f32 layer between conversions. All
// sums are f32, as on a GPU. It runs on every processor, slower than f32. Called by
// kernels/ops/cpu; host only.
#pragma once

#include "kernels/ops/cpu/onednn.h"

#include <cstdint>
#include <memory>
#include <utility>

namespace wellspring::ops::cpu {

/// Element counts of a layer's tensors.
struct LinearSizes {
  std::int64_t x = 0, w = 0, y = 0;
};

template <class Layer>
class Bf16Layer final : public Layer {
 public:
  /// `wide`: the same layer in f32. `output`: type of y, f32 or bf16.
  Bf16Layer(std::unique_ptr<Layer> wide, const LinearSizes& sizes, DType output)
      : wide_(std::move(wide)), sizes_(sizes), output_(output) {
    WorkspaceLayout layout;
    const auto take = [&](std::int64_t n) {
      return layout.take(static_cast<std::size_t>(n) * sizeof(float));
    };
    x_ = take(sizes.x);
    w_ = take(sizes.w);
    y_ = take(sizes.y);
    inner_ = layout.take(wide_->workspace_bytes());
    workspace_bytes_ = layout.bytes();
  }

  std::size_t workspace_bytes() const override { return workspace_bytes_; }

  void forward(Stream& stream, const void* x, const void* w, const float* bias, void* y,
               Workspace workspace) override {
    widen(stream, sizes_.x, x, at(workspace, x_));
    widen(stream, sizes_.w, w, at(workspace, w_));
    void* const result = output_ == DType::f32 ? y : at(workspace, y_);
    wide_->forward(stream, at(workspace, x_), at(workspace, w_), bias, result, inner(workspace));
    if (output_ == DType::bf16) narrow(stream, sizes_.y, result, y);
  }
  void backward_data(Stream& stream, const void* dy, const void* w, void* dx,
                     Workspace workspace) override {
    widen(stream, sizes_.y, dy, at(workspace, y_));
    widen(stream, sizes_.w, w, at(workspace, w_));
    wide_->backward_data(stream, at(workspace, y_), at(workspace, w_), at(workspace, x_),
                         inner(workspace));
    narrow(stream, sizes_.x, at(workspace, x_), dx);
  }
  void backward_weights(Stream& stream, const void* x, const void* dy, void* dw, float* dbias,
                        Workspace workspace) override {
    widen(stream, sizes_.x, x, at(workspace, x_));
    widen(stream, sizes_.y, dy, at(workspace, y_));
    wide_->backward_weights(stream, at(workspace, x_), at(workspace, y_), at(workspace, w_), dbias,
                            inner(workspace));
    narrow(stream, sizes_.w, at(workspace, w_), dw);
  }

 private:
  static void widen(Stream& stream, std::int64_t n, const void* from, void* to) {
    convert(stream, n, DType::bf16, from, DType::f32, to);
  }
  static void narrow(Stream& stream, std::int64_t n, const void* from, void* to) {
    convert(stream, n, DType::f32, from, DType::bf16, to);
  }
  Workspace inner(Workspace workspace) const {
    return {at(workspace, inner_), wide_->workspace_bytes()};
  }

  std::unique_ptr<Layer> wide_;
  LinearSizes sizes_;
  DType output_;
  std::size_t x_ = 0, w_ = 0, y_ = 0, inner_ = 0;  ///< offsets in the workspace
  std::size_t workspace_bytes_ = 0;
};

}  // namespace wellspring::ops::cpu
