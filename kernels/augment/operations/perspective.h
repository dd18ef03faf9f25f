// perspective: each corner moves inwards. Listed in operations.h; host and device.
#pragma once

#include "kernels/augment/operation.h"

namespace wellspring::augment {

struct Perspective {
  static constexpr auto kInfo = OperationInfo(
      7, AugmentStage::geometry, "perspective", "distortion",
      "perspective: each corner moves inwards by whole pixels, uniform up to the distortion",
      "torchvision.transforms.RandomPerspective");
  static constexpr bool kDependsOnPosition = true;

  template <class Reals>
  struct Params {
    double probability = 0.5;
    double distortion = 0.5;

    static void describe(ParamTable<Params>& table) {
      table.real(
          "distortion", &Params::distortion, {0, 0.65}, "half a side",
          "largest shift of a corner along x and along y; at 2/3 and above the quadrilateral "
          "could become concave");
    }
    /// Half a side in whole pixels, times the distortion, as in torchvision.
    StepValues plan(FrameSize frame) const {
      return {Planning::whole_pixels(distortion, frame.width / 2),
              Planning::whole_pixels(distortion, frame.height / 2)};
    }
  };

  /// Draws the corners as torchvision's get_params does.
  WS_HD static void compose(const AugmentStep& step, AugmentRng& words, GeometryDraw& draw) {
    const auto width = static_cast<float>(draw.frame.width);
    const auto height = static_cast<float>(draw.frame.height);
    if (draw.frame.width < 2 || draw.frame.height < 2) return;  // the corners coincide
    // torchvision's corners are at 0 and side - 1, so the centre is half a pixel to the upper left.
    const float half_width = 0.5f * (width - 1), half_height = 0.5f * (height - 1);
    float x[4], y[4];
    WS_UNROLL(4)
    for (int corner = 0; corner < 4; ++corner) {  // clockwise from the top left
      const float in_x = words.whole(step.value[0]), in_y = words.whole(step.value[1]);
      x[corner] = corner == 0 || corner == 3 ? in_x - half_width : half_width - in_x;
      y[corner] = corner < 2 ? in_y - half_height : half_height - in_y;
    }
    const Homography perspective = Homography::translation(-0.5f, -0.5f) *
                                   quad_to_rectangle(x, y, width - 1, height - 1) *
                                   Homography::translation(0.5f, 0.5f);
    draw.map = draw.map * perspective;
    draw.footprint *= math::sqrt(math::abs(perspective.area_at_centre()));
  }
};

}  // namespace wellspring::augment
