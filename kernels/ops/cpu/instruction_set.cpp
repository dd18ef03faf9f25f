#include "kernels/ops/cpu/instruction_set.h"

#include "kernels/ops/cpu/vector_kernels.h"

#include <dnnl.hpp>
#include <string_view>

namespace wellspring::ops::cpu {
namespace {

/// An instruction set is a mask that includes the masks of the sets it extends.
bool library_uses(dnnl::cpu_isa set) {
  const auto needed = static_cast<unsigned>(set);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & needed) == needed;
}

}  // namespace

const char* instruction_set() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") != 0 && library_uses(dnnl::cpu_isa::avx512_core))
    return "avx512";
  if (__builtin_cpu_supports("fma") != 0 && library_uses(dnnl::cpu_isa::avx2)) return "avx2";
#endif
  return "older";
}

bool has_amx() {
#if defined(__x86_64__)
  return library_uses(dnnl::cpu_isa::avx512_core_amx);
#else
  return false;
#endif
}

const VectorKernels* vector_kernels() {
#if defined(__x86_64__)
  const std::string_view set = instruction_set();
  if (set == "avx512") return &avx512::kKernels;
  if (set == "avx2") return &avx2::kKernels;
#endif
  return nullptr;
}

}  // namespace wellspring::ops::cpu
