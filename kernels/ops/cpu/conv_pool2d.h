// Plans ConvPool2d on the CPU where it can do better than one operation after the other. Called by
// ConvPool2d::plan only; host only.
#pragma once

#include "kernels/ops/ops.h"

#include <memory>

namespace wellspring::ops::cpu {

/// Null where there is no faster way than convolution and pooling one after the other: other than
/// 3x3 with stride 1 and padding 1, channel counts that do not fill vectors, no AVX-512.
std::unique_ptr<ConvPool2d> plan_conv_pool2d(const Conv2dSpec& spec, const Stream& stream);

}  // namespace wellspring::ops::cpu
