// The pipes of a multiprocessor that accept an instruction less often than every cycle. Called by the
// machine, which counts instructions by pipe; host only.
#pragma once

#include "tests/cuda_stand_in/sass/listing.h"

#include <cstdint>

namespace wellspring::sass {

/// With the results per cycle of a multiprocessor of compute capability 9.0 (CUDA C++ Programming
/// Guide, "Throughput of Native Arithmetic Instructions"). The pipe of instructions that the guide
/// does not list, such as moves and selections, is `other`, so the counts are lower bounds.
enum class Pipe : std::uint8_t {
  integer,  ///< 64: integer sums, comparisons, minima, logic and shifts, but no products
  special,  ///< 16: approximations and counts of bits; not conversions, of which some are faster
  other
};
inline constexpr int kPipes = 3;

/// Instructions that run once per warp have a pipe of their own, and are `other`.
Pipe pipe_of(const Line& line);

}  // namespace wellspring::sass
