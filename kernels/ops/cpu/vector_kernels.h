// Our kernels that are compiled for several instruction sets. Called by kernels/ops/cpu and tests;
// host only.
#pragma once

#include "kernels/ops/cpu/winner_gradient.h"
#include "kernels/ops/cpu/winograd.h"

namespace wellspring::ops::cpu {

struct VectorKernels {
  WinogradKernels winograd;
  WinnerKernels winner;
};

namespace avx512 {
extern const VectorKernels kKernels;
}
namespace avx2 {
extern const VectorKernels kKernels;
}

/// The kernels for instruction_set(); null for "older".
const VectorKernels* vector_kernels();

}  // namespace wellspring::ops::cpu
