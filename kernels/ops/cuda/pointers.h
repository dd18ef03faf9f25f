// The alignment that the vendor's kernels are chosen for, checked at each call. Called by the
// operations of this folder; host only.
#pragma once

#include "core/error.h"

#include <fmt/format.h>

#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string_view>

namespace wellspring::ops::cuda {

/// What kernels/ops/ops.h promises of every pointer, in bytes: one 128-bit load.
inline constexpr std::uintptr_t kPointerAlignment = 16;

/// What cuBLASLt asks of a workspace (cuBLAS documentation, cublasLtMatmul).
inline constexpr std::uintptr_t kWorkspaceAlignment = 256;

/// Throws std::logic_error when a pointer is not aligned; null is.
inline void require_aligned(std::string_view operation, std::initializer_list<const void*> pointers,
                            std::uintptr_t alignment = kPointerAlignment) {
  for (const void* pointer : pointers) {
    if (reinterpret_cast<std::uintptr_t>(pointer) % alignment == 0) continue;
    throw std::logic_error(
        fmt::format("{}: pointer {} is not aligned to {} bytes", operation, pointer, alignment));
  }
}

}  // namespace wellspring::ops::cuda
