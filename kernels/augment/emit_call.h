// One emission: what is asked of a source of samples. Host only.
#pragma once

#include "kernels/augment/augmentation.h"
#include "kernels/batch/batch.h"

#include <cstdint>

namespace wellspring {

/// Every slot whose source is `source` is filled: slot b goes to row b of the batch.
struct EmitCall {
  const Slot* slots = nullptr;  ///< [batch.size], in memory of the stream's device
  std::uint32_t source = 0;
  std::uint64_t seed = 0;         ///< keys all random numbers
  AugmentationPlan augmentation;  ///< of images; the default for events and sets. Where passes
                                  ///< follow, x gets what they begin with: augmentation_passes.h
  BatchView batch;
};

}  // namespace wellspring
