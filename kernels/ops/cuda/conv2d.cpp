#include "kernels/ops/cuda/conv2d.h"

#include "core/error.h"

namespace wellspring::ops::cuda {

std::unique_ptr<Conv2d> plan_conv2d(const Conv2dSpec& spec, const Stream& stream) {
  fail(ErrorKind::device, {spec.to_string() + ": not available on " + stream.device().to_string()});
}

}  // namespace wellspring::ops::cuda
