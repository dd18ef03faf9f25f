// Memory that is handed on: tensors whose lives do not overlap share a block. Host only.
#pragma once

#include <cstddef>
#include <vector>

namespace wellspring {

/// A tensor and the first and last moment, both inclusive, at which it must be there.
struct Lifetime {
  std::size_t bytes = 0;
  int first = 0, last = 0;
};

struct BlockAssignment {
  std::vector<std::size_t> block_bytes;
  std::vector<std::size_t> block_of;  ///< by tensor; tensors of 0 bytes are given block 0
};

/// Largest tensor first, each into the smallest block that is free throughout its life, or a new
/// one ("greedy by size" with shared objects; Pisarchyk & Lee 2020, section 4.3). A function of the
/// list alone, so equal networks lie equally.
BlockAssignment assign_blocks(const std::vector<Lifetime>& tensors);

}  // namespace wellspring
