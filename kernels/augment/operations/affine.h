// affine: rotation, shift, scaling and shear about the centre. Listed in operations.h; host and
// device.
#pragma once

#include "kernels/augment/operation.h"

namespace wellspring::augment {

struct Affine {
  static constexpr auto kInfo =
      OperationInfo(8, AugmentStage::geometry, "affine", "angle",
                    "rotation, shift by whole pixels, scaling and shear about the centre",
                    "torchvision.transforms.RandomAffine");

  template <class Reals>
  struct Params {
    double probability = 1;
    double angle = 0;
    Reals translate = {0, 0};
    Reals scale = {1, 1};
    Reals shear = {0, 0};

    static void describe(ParamTable<Params>& table) {
      table
          .real("angle", &Params::angle, {0, 180}, "degree",
                "largest rotation in either direction; uniform")
          .real_list("translate", &Params::translate, {0, 1}, "image side",
                     "largest shift along x and along y, uniform and then rounded to pixels")
          .real_list("scale", &Params::scale, {0.05, 20}, "", "magnification, uniform in the range")
          .real_list("shear", &Params::shear, {0, 60}, "degree",
                     "largest shear along x and along y in either direction; uniform");
    }
    template <class Check>
    void check(const Check& check) const {
      check.range("scale", scale);
      check.per_axis("translate", translate);
      check.per_axis("shear", shear);
    }
    StepValues plan(FrameSize frame) const {
      return {angle / 360,
              translate[0] * frame.width,
              translate[1] * frame.height,
              scale[0],
              scale[1],
              shear[0] / 360,
              shear[1] / 360};
    }
  };

  /// The inverse map of torchvision's affine about the centre
  /// (functional._get_inverse_affine_matrix): the image is sheared, scaled, rotated clockwise by
  /// `turn` and then shifted. Angles are in turns.
  WS_HD static Homography inverse_map(float turn, float x, float y, float scale, float shear_x,
                                      float shear_y) {
    const math::SinCos whole = math::sincos_turns(turn), rest = math::sincos_turns(turn - shear_y);
    const math::SinCos along_x = math::sincos_turns(shear_x), along_y = math::sincos_turns(shear_y);
    const float slope = along_x.sine / along_x.cosine;
    const float a = rest.cosine / along_y.cosine, c = rest.sine / along_y.cosine;
    const float b = -math::fma(a, slope, whole.sine), d = math::fma(-c, slope, whole.cosine);
    return Homography::linear(d / scale, -b / scale, -c / scale, a / scale) *
           Homography::translation(-x, -y);
  }
  WS_HD static void compose(const AugmentStep& step, AugmentRng& words, GeometryDraw& draw) {
    const float turn = words.uniform(-step.value[0], step.value[0]);
    const float x = math::round(words.uniform(-step.value[1], step.value[1]));
    const float y = math::round(words.uniform(-step.value[2], step.value[2]));
    const float scale = words.uniform(step.value[3], step.value[4]);
    const float shear_x = words.uniform(-step.value[5], step.value[5]);
    const float shear_y = words.uniform(-step.value[6], step.value[6]);
    draw.map = draw.map * inverse_map(turn, x, y, scale, shear_x, shear_y);
    draw.footprint = draw.footprint / scale;
  }
};

}  // namespace wellspring::augment
