// Convolutions and attention on a GPU in a build without cuDNN (WELLSPRING_CUDNN=OFF): planning a
// convolution fails with an error, and attention uses its own kernels. Host only.
#include "core/error.h"
#include "kernels/ops/cuda/attention.h"
#include "kernels/ops/cuda/conv2d.h"
#include "kernels/ops/cuda/versions.h"

namespace wellspring::ops::cuda {

std::unique_ptr<Conv2d> plan_conv2d(const Conv2dSpec& /*spec*/, const Stream& stream) {
  fail(ErrorKind::device,
       {"convolutions on " + stream.device().to_string() + " need cuDNN",
        "this program was built with WELLSPRING_CUDNN=OFF",
        "train a model without convolutions, use device=cpu, or build with WELLSPRING_CUDNN=ON"});
}

std::unique_ptr<Attention> plan_attention(const AttentionSpec& /*spec*/, const Stream& /*stream*/) {
  return nullptr;
}

std::string cudnn_version() {
  return "none: built with WELLSPRING_CUDNN=OFF";
}

}  // namespace wellspring::ops::cuda
