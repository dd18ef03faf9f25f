// Plans Dense on oneDNN; the dispatch is in kernels/ops/dense.cpp, which has checked the spec's
// shapes. Called by Dense::plan only; host only.
#pragma once

#include "kernels/ops/ops.h"

#include <memory>

namespace wellspring::ops::cpu {

/// Errors: device when the back end does not support the spec.
std::unique_ptr<Dense> plan_dense(const DenseSpec& spec, const Stream& stream);

}  // namespace wellspring::ops::cpu
