// The weight gradient of a layer in bf16 as one matrix product, for processors with AMX. Called by
// kernels/ops/cpu; host only.
#pragma once

#include "kernels/ops/cpu/onednn.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace wellspring::ops::cpu {

/// dw [K, RSC] = dy^T [K, rows] patches [rows, RSC]. A row has the input values of one output pixel;
/// for 1x1 kernels with stride 1, and dense layers, that is x itself. dw has the caller's layout.
class WeightProduct {
 public:
  /// A dense layer is a 1x1 convolution of images with one pixel.
  WeightProduct(const Conv2dSpec& spec, const std::shared_ptr<OneDnn>& library);

  /// True if this is faster than oneDNN's gradient of a convolution. That one takes 5 to 20 times
  /// as long for few pixels and many channels, and half as long for many pixels.
  static bool is_faster(const Conv2dSpec& spec);

  std::size_t workspace_bytes() const { return workspace_bytes_; }
  /// See LinearLayer::backward_weights.
  void run(Stream& stream, const void* x, const void* dy, void* dw, float* dbias,
           Workspace workspace);

 private:
  static bool is_pointwise(const Conv2dSpec& spec) {
    return spec.kernel == 1 && spec.stride == 1 && spec.padding == 0;
  }
  std::int64_t rows() const { return spec_.batch * spec_.out_height() * spec_.out_width(); }
  void write_patches(const bf16* x, bf16* patches, int threads) const;

  Conv2dSpec spec_;
  MatrixProduct product_;
  // Offsets in the workspace.
  std::size_t patches_ = 0, scratch_ = 0, partials_ = 0;
  std::size_t workspace_bytes_ = 0;
};

}  // namespace wellspring::ops::cpu
