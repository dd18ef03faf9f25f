// One emission request to a source of samples. Used by sources and generators; host only.
#pragma once

#include "kernels/augment/augmentation.h"
#include "kernels/batch/batch.h"

#include <cstdint>

namespace wellspring {

/// Asks the source to fill every slot whose source is `source`. Slot b goes to row b of the batch.
struct EmitCall {
  const Slot* slots = nullptr;  ///< [batch.size], in memory of the stream's device
  std::uint32_t source = 0;
  std::uint64_t seed = 0;         ///< key of all random numbers
  AugmentationPlan augmentation;  ///< for images; empty for events and sets. If passes follow
                                  ///< (augmentation_passes.h), emission writes their input to x
  BatchView batch;
  /// [batch.size, batch.layout.latents] values to use instead of drawn ones, for the first
  /// SampleInfo::settable_latents latents; null: all are drawn. In memory of the stream's device.
  const float* latents = nullptr;
};

}  // namespace wellspring
