#include "kernels/ops/cpu/instruction_set.h"

#include <dnnl.hpp>

namespace wellspring::ops::cpu {

bool avx512_in_use() {
#if defined(__x86_64__)
  // An instruction set is a mask that includes the masks of the sets it extends.
  constexpr auto kNeeded = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
  const auto in_use = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  return __builtin_cpu_supports("avx512f") != 0 && (in_use & kNeeded) == kNeeded;
#else
  return false;
#endif
}

const char* instruction_set() {
  if (avx512_in_use()) return "avx512";
  constexpr auto kAvx2 = static_cast<unsigned>(dnnl::cpu_isa::avx2);
  const auto in_use = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  return (in_use & kAvx2) == kAvx2 ? "avx2" : "older";
}

}  // namespace wellspring::ops::cpu
