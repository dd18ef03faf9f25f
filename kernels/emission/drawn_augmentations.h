// The augmentation of every row of a batch, drawn once for the passes behind emission: the words
// are those of emission, and so are the draws. Host and device.
#pragma once

#include "kernels/emission/augmentation.h"
#include "kernels/emission/draw_augmentation.h"
#include "kernels/macros.h"
#include "kernels/philox.h"

#include <cstdint>
#include <type_traits>

namespace wellspring {

/// Map functor: a row's augmentation.
struct DrawAugmentations {
  AugmentationPlan plan;
  const Slot* slots;
  std::uint32_t source;
  std::uint64_t seed;
  Augmentation* drawn;

  WS_HD void operator()(std::int64_t b) const {
    const Slot slot = slots[b];
    if (slot.source == source) drawn[b] = draw_augmentation(plan, {seed, slot.ordinal});
  }
};

namespace detail {

/// All members: a copy in scratch.
template <class Team>
WS_INLINE void copy_augmentation(Team& team, const Augmentation* from, Augmentation& to) {
  static_assert(std::is_trivially_copyable_v<Augmentation> &&
                sizeof(Augmentation) % sizeof(std::uint32_t) == 0);
  const auto* const words = reinterpret_cast<const std::uint32_t*>(from);
  auto* const copies = reinterpret_cast<std::uint32_t*>(&to);
  constexpr int kWords = sizeof(Augmentation) / sizeof(std::uint32_t);
  for (int i = team.rank(); i < kWords; i += team.size()) copies[i] = words[i];
  team.sync();
}

}  // namespace detail
}  // namespace wellspring
