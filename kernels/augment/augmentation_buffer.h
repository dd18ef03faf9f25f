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

/// Map functor: draws a row's augmentation, and writes its mask of patches.
struct DrawAugmentations {
  AugmentationPlan plan;
  const Slot* slots;
  std::uint32_t source;
  std::uint64_t seed;
  Augmentation* drawn;
  SampleShape shape;
  std::uint8_t* masks;   ///< [rows, patches]; null: not requested
  std::int32_t patches;  ///< per row of `masks`

  static constexpr LaunchBound kLaunchBound = kSampleThread;

  WS_HD void operator()(std::int64_t b) const {
    const Slot slot = slots[b];
    if (slot.source != source) return;
    drawn[b] = draw_augmentation(plan, {seed, slot.ordinal});
    if (masks == nullptr) return;
    augment::PatchMask mask;
    mask.draw(drawn[b], shape);
    mask.write(masks + b * patches, patches, shape);
  }
};

}  // namespace wellspring
