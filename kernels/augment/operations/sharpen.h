// sharpen: multiplies differences from the smoothed image by a factor. Listed in operations.h; host
// and device.
#pragma once

#include "kernels/augment/whole_image_operation.h"
#include "kernels/runtime/team_loop.h"

namespace wellspring::augment {

struct Sharpen {
  static constexpr auto kInfo =
      OperationInfo(25, AugmentStage::whole, "sharpen", "factor",
                    "multiply differences from the smoothed image by a factor",
                    "torchvision.transforms.RandomAdjustSharpness");

  template <class Reals>
  struct Params {
    double probability = 0.5;
    double factor = 1;

    static void describe(ParamTable<Params>& table) {
      table.real("factor", &Params::factor, {0, 10}, "", "0 smooths, 1 has no effect, 2 sharpens")
          .required();
    }
    StepValues plan(FrameSize) const { return {factor}; }
  };

  WS_INLINE static bool idle(float factor) { return factor == 1; }
  /// The smoothed image is the 3 x 3 mean in which the centre has weight five. Border pixels are
  /// unchanged (torchvision's adjust_sharpness). Processes one value at a time, because the
  /// neighbours of a whole run would take too many registers.
  template <class Team>
  WS_INLINE static void filter(Team& team, float factor, SampleShape shape, const float* from,
                               float* to) {
    const int channels = shape.channels, pitch = shape.width * channels;
    team_for_grid(team, shape.height, pitch, [&](int y, int i) {
      const bool inside = y >= 1 && y <= shape.height - 2 && i >= channels && i < pitch - channels;
      const int row = inside ? pitch : 0, side = inside ? channels : 0;
      const float* const p = from + y * pitch + i;
      const float above = p[-side - row] + p[-row] + p[side - row];
      const float below = p[-side + row] + p[row] + p[side + row];
      const float beside = math::fma(5.f, p[0], p[-side] + p[side]);
      const float smooth = ((above + below) + beside) * (1.f / 13);
      to[y * pitch + i] = inside ? detail::blend(smooth, p[0], factor) : p[0];
    });
  }
};

}  // namespace wellspring::augment
