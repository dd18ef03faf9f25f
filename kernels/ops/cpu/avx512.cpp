// Kernels for AVX-512. Unlike the rest of the program, this file is compiled for AVX-512.
#include "kernels/ops/cpu/vector_kernels.h"

#if defined(__AVX512F__)

#include "kernels/ops/cpu/winner_kernels.h"
#include "kernels/ops/cpu/winograd_kernels.h"

namespace wellspring::ops::cpu::avx512 {

const VectorKernels kKernels{kWinograd, kWinner};

}  // namespace wellspring::ops::cpu::avx512

#endif
