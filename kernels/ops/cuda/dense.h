// Plans Dense on cuDNN / cuBLASLt; the caller (kernels/ops/dense.cpp) has checked the spec's
// shapes. Called only by Dense::plan; host only.
#pragma once

#include "kernels/ops/ops.h"

#include <memory>

namespace wellspring::ops::cuda {

/// True if cuBLASLt can add the bias and apply the activation inside the forward product. Its bias
/// has the type of the result (cublasLt.h at CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE); ours is f32.
bool epilogue_fits(const DenseSpec& spec);

/// Throws a device error if the back end does not support the spec.
std::unique_ptr<Dense> plan_dense(const DenseSpec& spec, const Stream& stream);

}  // namespace wellspring::ops::cuda
