// The instruction set of matrix products and convolutions. Called by kernels/ops/cpu and tests;
// host only.
#pragma once

namespace wellspring::ops::cpu {

/// True if the processor has AVX-512 and oneDNN may use it. Our own AVX-512 kernels follow oneDNN,
/// so that ONEDNN_MAX_CPU_ISA limits both and this processor computes as an older one.
bool avx512_in_use();

/// The instruction set of this process: "avx512", "avx2", or "older". Each sums in another order, so
/// that weights differ in their last bits.
const char* instruction_set();

}  // namespace wellspring::ops::cpu
