// erase: sets a square to the mean. Listed in operations.h; host and device.
#pragma once

#include "kernels/augment/operation.h"

#include <cstdint>

namespace wellspring::augment {

struct Erase {
  static constexpr auto kInfo =
      OperationInfo(40, AugmentStage::erase, "erase", "side",
                    "set a square to the mean, with its centre anywhere in the image",
                    "cutout: DeVries and Taylor, arXiv:1708.04552");

  template <class Reals>
  struct Params {
    double probability = 1;
    int side = 0;

    static void describe(ParamTable<Params>& table) {
      table
          .integer("side", &Params::side, {1, 16384}, "pixel",
                   "side of the square, which may extend beyond the border")
          .required();
    }
    StepValues plan(FrameSize) const { return {side}; }
  };

  WS_HD static void draw(const AugmentStep& step, FrameSize out, AugmentRng& words,
                         Augmentation& a) {
    const auto side = static_cast<std::int32_t>(step.value[0]);
    const auto width = static_cast<std::uint32_t>(out.width);
    const auto height = static_cast<std::uint32_t>(out.height);
    a.erase_x0 = static_cast<std::int32_t>(below(words.next(), width)) - side / 2;
    a.erase_y0 = static_cast<std::int32_t>(below(words.next(), height)) - side / 2;
    a.erase_x1 = a.erase_x0 + side;
    a.erase_y1 = a.erase_y0 + side;
  }
};

/// Sets pixels in the erased box to 0, the mean after normalisation. The run starts at output pixel
/// (x, y).
template <int N>
WS_INLINE void erase_box(const Augmentation& a, int x, int y, float (&r)[N], float (&g)[N],
                         float (&b)[N]) {
  if (y < a.erase_y0 || y >= a.erase_y1) return;
  WS_LANES
  for (int i = 0; i < N; ++i) {
    const bool inside = x + i >= a.erase_x0 && x + i < a.erase_x1;
    r[i] = inside ? 0.f : r[i];
    g[i] = inside ? 0.f : g[i];
    b[i] = inside ? 0.f : b[i];
  }
}

}  // namespace wellspring::augment
