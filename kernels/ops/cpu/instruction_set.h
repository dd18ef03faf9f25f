// The instruction set that matrix products and convolutions use. Called by kernels/ops/cpu and
// tests; host only.
#pragma once

namespace wellspring::ops::cpu {

/// True if the processor has AVX-512 and oneDNN may use it. Our own AVX-512 kernels follow oneDNN,
/// so ONEDNN_MAX_CPU_ISA limits both, and this processor can compute like an older one.
bool avx512_in_use();

/// The instruction set of this process: "avx512", "avx2", or "older". Each sums in a different
/// order, so weights differ in their last bits.
const char* instruction_set();

}  // namespace wellspring::ops::cpu
