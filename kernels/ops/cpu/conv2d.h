// Plans Conv2d on oneDNN; the dispatch is in kernels/ops/conv2d.cpp, which has checked the spec's
// shapes. Called by Conv2d::plan only; host only.
#pragma once

#include "kernels/ops/ops.h"

#include <memory>

namespace wellspring::ops::cpu {

/// Errors: device when the back end does not support the spec.
std::unique_ptr<Conv2d> plan_conv2d(const Conv2dSpec& spec, const Stream& stream);

}  // namespace wellspring::ops::cpu
