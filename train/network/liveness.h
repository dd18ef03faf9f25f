// Memory reuse: tensors whose lifetimes do not overlap share a block. Called by
// train/network/network.cpp; host only.
#pragma once

#include <cstddef>
#include <vector>

namespace wellspring {

/// Size of a tensor, and the first and last times at which it is needed (both inclusive).
struct Lifetime {
  std::size_t bytes = 0;
  int first = 0, last = 0;
};

struct BlockAssignment {
  std::vector<std::size_t> block_bytes;
  std::vector<std::size_t> block_of;  ///< by tensor; 0 for tensors of 0 bytes
};

/// Assigns tensors from the largest to the smallest. Each goes into the smallest block that is free
/// during its lifetime, or into a new one ("greedy by size" with shared objects; Pisarchyk & Lee
/// 2020, section 4.3). The result depends only on the list, so identical networks get identical
/// layouts.
BlockAssignment assign_blocks(const std::vector<Lifetime>& tensors);

}  // namespace wellspring
