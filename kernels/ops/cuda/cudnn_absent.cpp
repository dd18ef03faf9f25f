// Convolutions on a GPU in a build without cuDNN (WELLSPRING_CUDNN=OFF): planning one fails with an
// error. Host only.
#include "core/error.h"
#include "kernels/ops/cuda/conv2d.h"
#include "kernels/ops/cuda/versions.h"

namespace wellspring::ops::cuda {

std::unique_ptr<Conv2d> plan_conv2d(const Conv2dSpec& /*spec*/, const Stream& stream) {
  fail(ErrorKind::device,
       {"convolutions on " + stream.device().to_string() + " need cuDNN",
        "this program was built with WELLSPRING_CUDNN=OFF",
        "train a model without convolutions, use device=cpu, or build with WELLSPRING_CUDNN=ON"});
}

std::string cudnn_version() {
  return "none: built with WELLSPRING_CUDNN=OFF";
}

}  // namespace wellspring::ops::cuda
