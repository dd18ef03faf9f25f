// The augmentation of every row of a batch. It is drawn once for the passes after emission, with
// the same random words as during emission. Host and device.
#pragma once

#include "kernels/augment/augmentation.h"
#include "kernels/augment/augmentation_draw.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/launch_bound.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring {

/// Map functor: draws a row's augmentation.
struct DrawAugmentations {
  AugmentationPlan plan;
  const Slot* slots;
  std::uint32_t source;
  std::uint64_t seed;
  Augmentation* drawn;

  static constexpr LaunchBound kLaunchBound = kSampleThread;

  WS_HD void operator()(std::int64_t b) const {
    const Slot slot = slots[b];
    if (slot.source == source) drawn[b] = draw_augmentation(plan, {seed, slot.ordinal});
  }
};

}  // namespace wellspring
