// Order of a source's samples: a pure function of the number of samples drawn before. Called by
// sources/mixing/assignment.h; host and device.
#pragma once

#include "kernels/runtime/macros.h"
#include "sources/mixing/permutation.h"

#include <cstdint>

namespace wellspring {

/// Plain data, so that samples can be assigned to rows on the device.
struct SampleOrder {
  std::uint64_t size = 0;          ///< samples per epoch; 0: endless (generators)
  std::uint64_t first_sample = 0;  ///< added when size is 0
  std::uint64_t seed = 0;          ///< key of the permutation of every epoch
  bool shuffle = true;             ///< false: file order
  std::uint32_t repeats = 1;       ///< consecutive ordinals that give the same sample

  /// The id of the source's `ordinal`-th sample. With a finite size, each epoch has its own
  /// permutation, keyed by (seed, epoch).
  WS_HD std::uint64_t sample(std::uint64_t ordinal) const {
    const std::uint64_t turn = ordinal / repeats;
    if (size == 0) return first_sample + turn;
    const std::uint64_t epoch = turn / size;
    const std::uint64_t position = turn % size;
    return shuffle ? Permutation(size, seed, epoch, PermutationUse::epoch)(position) : position;
  }
};

}  // namespace wellspring
