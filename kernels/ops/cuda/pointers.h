// Checks on each call that pointers have the alignment for which the vendor's kernels were chosen.
// Called by the operations of this folder; host only.
#pragma once

#include "core/error.h"

#include <fmt/format.h>

#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string_view>

namespace wellspring::ops::cuda {

/// Alignment in bytes that kernels/ops/ops.h guarantees for every pointer: one 128-bit load.
inline constexpr std::uintptr_t kPointerAlignment = 16;

/// Alignment of a workspace for cuBLASLt, in bytes (cuBLAS documentation, cublasLtMatmul).
inline constexpr std::uintptr_t kWorkspaceAlignment = 256;

/// Throws std::logic_error if a pointer is not aligned. Null is allowed.
inline void require_aligned(std::string_view operation, std::initializer_list<const void*> pointers,
                            std::uintptr_t alignment = kPointerAlignment) {
  for (const void* pointer : pointers) {
    if (reinterpret_cast<std::uintptr_t>(pointer) % alignment == 0) continue;
    throw std::logic_error(
        fmt::format("{}: pointer {} is not aligned to {} bytes", operation, pointer, alignment));
  }
}

}  // namespace wellspring::ops::cuda
