// The instruction set that matrix products and convolutions use. Called by kernels/ops/cpu and
// tests; host only.
#pragma once

namespace wellspring::ops::cpu {

/// The instruction set of this process: "avx512", "avx2" (with fused multiply-add), or "older". It
/// is the newest one that the processor has and oneDNN may use, so ONEDNN_MAX_CPU_ISA also limits
/// our kernels. Each set sums in a different order, so weights differ in their last bits.
const char* instruction_set();

/// True if this process may use AMX, whose tiles multiply bf16 and add in f32. Then layers in bf16
/// use it. Products of bf16 with AVX-512 are slower than products of f32 on the same processor.
bool has_amx();

}  // namespace wellspring::ops::cpu
