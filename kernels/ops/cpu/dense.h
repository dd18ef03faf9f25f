// Plans Dense on oneDNN; the caller (kernels/ops/dense.cpp) has checked the spec's shapes. Called
// only by Dense::plan; host only.
#pragma once

#include "kernels/ops/ops.h"

#include <memory>

namespace wellspring::ops::cpu {

/// Throws a device error if the back end does not support the spec.
std::unique_ptr<Dense> plan_dense(const DenseSpec& spec, const Stream& stream);

}  // namespace wellspring::ops::cpu
