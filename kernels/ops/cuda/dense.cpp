#include "kernels/ops/cuda/dense.h"

#include "core/error.h"

namespace wellspring::ops::cuda {

std::unique_ptr<Dense> plan_dense(const DenseSpec& spec, const Stream& stream) {
  fail(ErrorKind::device, {spec.to_string() + ": not available on " + stream.device().to_string()});
}

}  // namespace wellspring::ops::cuda
