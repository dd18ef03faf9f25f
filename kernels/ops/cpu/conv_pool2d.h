// Plans a fused ConvPool2d on the CPU if it is faster than two operations. Called only by
// ConvPool2d::plan; host only.
#pragma once

#include "kernels/ops/ops.h"

#include <memory>

namespace wellspring::ops::cpu {

/// Returns null unless the convolution is 3x3 with stride 1 and padding 1, the channels fill
/// vectors, and AVX-512 is in use.
std::unique_ptr<ConvPool2d> plan_conv_pool2d(const Conv2dSpec& spec, const Stream& stream);

}  // namespace wellspring::ops::cpu
