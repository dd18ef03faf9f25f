// Kernels of a compiled header on GPUs. Called through generators/own/kernel_handles.h; host only,
// in builds with CUDA.
#pragma once

#include <cstddef>
#include <string>
#include <typeinfo>

namespace wellspring::own {

/// The kernel in a cubin that takes this parameter block, as a handle of the CUDA runtime. Loads a
/// cubin once; its kernels exist on every GPU of its architecture until the process ends. Throws
/// device errors, and std::logic_error if there is no such kernel.
const void* find_kernel(const std::byte* cubin, const std::type_info& block);

/// True if the mangled name belongs to a function whose only parameter is this block.
bool takes_block(const std::string& mangled, const std::type_info& block);

}  // namespace wellspring::own
