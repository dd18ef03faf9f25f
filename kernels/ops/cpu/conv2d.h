// Plans Conv2d on oneDNN; the caller (kernels/ops/conv2d.cpp) has checked the spec's shapes. Called
// only by Conv2d::plan; host only.
#pragma once

#include "kernels/ops/ops.h"

#include <memory>

namespace wellspring::ops::cpu {

/// Throws a device error if the back end does not support the spec.
std::unique_ptr<Conv2d> plan_conv2d(const Conv2dSpec& spec, const Stream& stream);

}  // namespace wellspring::ops::cpu
