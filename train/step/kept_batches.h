// Batches that a training step keeps in memory, so that measurements can repeat it as if data were free.
// Host only.
#pragma once

#include <cstddef>

namespace wellspring {

struct KeepBatches {
  /// Each is a recorded step of its own, so their number is limited.
  static constexpr std::size_t kMost = 256;

  std::size_t least = 0;  ///< 0: keeps none, and repeats the batch in memory
  /// Keeps more than `least` until the batches and the memory of the step have this many bytes, so that
  /// a step does not find its batch in a cache.
  std::size_t bytes = 0;

  /// `batch`, `step`: bytes of one batch, and of the memory that every step reads or writes.
  std::size_t count(std::size_t batch, std::size_t step) const;
};

/// Batches that are kept.
struct KeptBatches {
  std::size_t count = 0;
  std::size_t bytes = 0;  ///< batches and memory of the step
};

}  // namespace wellspring
