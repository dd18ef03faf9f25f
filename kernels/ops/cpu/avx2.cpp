// Kernels for AVX2. Unlike the rest of the program, this file is compiled for AVX2.
#include "kernels/ops/cpu/vector_kernels.h"

#if defined(__AVX2__)

#include "kernels/ops/cpu/winner_kernels.h"
#include "kernels/ops/cpu/winograd_kernels.h"

namespace wellspring::ops::cpu::avx2 {

const VectorKernels kKernels{kWinograd, kWinner};

}  // namespace wellspring::ops::cpu::avx2

#endif
