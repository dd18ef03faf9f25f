// The instruction set of matrix products and convolutions. Called by kernels/ops/cpu and tests;
// host only.
#pragma once

namespace wellspring::ops::cpu {

/// True if the processor has AVX-512 and oneDNN may use it. Our own AVX-512 kernels follow oneDNN,
/// so that ONEDNN_MAX_CPU_ISA limits both and this processor computes as an older one.
bool avx512_in_use();

}  // namespace wellspring::ops::cpu
