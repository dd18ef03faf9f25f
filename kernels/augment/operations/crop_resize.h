// crop_resize: a random crop, resized to the output size. Listed in operations.h; host and device.
#pragma once

#include "kernels/augment/operation.h"

namespace wellspring::augment {

struct CropResize {
  static constexpr auto kInfo = OperationInfo(
      1, AugmentStage::geometry, "crop_resize", "scale", "random crop, resized to the output size",
      "torchvision.transforms.RandomResizedCrop; Szegedy et al., CVPR 2015");
  static constexpr bool kResizes = true;

  template <class Reals>
  struct Params {
    double probability = 1;
    Reals scale = {0.08, 1};
    Reals ratio = {0.75, 4. / 3};

    static void describe(ParamTable<Params>& table) {
      table
          .real_list("scale", &Params::scale, {1e-4, 1}, "of the area",
                     "area of the crop, uniform in the range")
          .real_list("ratio", &Params::ratio, {0.01, 100}, "width / height",
                     "aspect ratio of the crop, log-uniform in the range");
    }
    template <class Check>
    void check(const Check& check) const {
      check.range("scale", scale);
      check.range("ratio", ratio);
    }
    StepValues plan(FrameSize) const {
      return {scale[0], scale[1], Planning::log(ratio[0]), Planning::log(ratio[1])};
    }
  };

  struct Box {
    float left, top, width, height;  ///< pixels
  };
  /// Draws the box as torchvision's get_params does: ten tries of area and ratio, then the largest
  /// central box with an allowed ratio, of at least one pixel.
  WS_HD static Box draw_box(const AugmentStep& step, FrameSize frame, AugmentRng& words) {
    const auto width = static_cast<float>(frame.width), height = static_cast<float>(frame.height);
    for (int attempt = 0; attempt < 10; ++attempt) {
      const float area = width * height * words.uniform(step.value[0], step.value[1]);
      const float ratio = math::exp(words.uniform(step.value[2], step.value[3]));
      const float w = math::round(math::sqrt(area * ratio));
      const float h = math::round(math::sqrt(area / ratio));
      if (w > 0 && w <= width && h > 0 && h <= height) {
        const float top = words.whole(height - h);
        return {words.whole(width - w), top, w, h};
      }
    }
    const float low = math::exp(step.value[2]), high = math::exp(step.value[3]);
    const float ratio = width / height;
    const float w = ratio > high ? math::max(math::round(height * high), 1.0f) : width;
    const float h = ratio < low ? math::max(math::round(width / low), 1.0f) : height;
    return {math::floor(0.5f * (width - w)), math::floor(0.5f * (height - h)), w, h};
  }
  WS_HD static void compose(const AugmentStep& step, AugmentRng& words, GeometryDraw& draw) {
    const Box box = draw_box(step, draw.frame, words);
    const float across = box.width / static_cast<float>(draw.out.width);
    const float down = box.height / static_cast<float>(draw.out.height);
    draw.map = draw.map *
               Homography::translation(
                   math::fma(0.5f, box.width - static_cast<float>(draw.frame.width), box.left),
                   math::fma(0.5f, box.height - static_cast<float>(draw.frame.height), box.top)) *
               Homography::scaling(across, down);
    draw.footprint *= across == down ? across : math::sqrt(across * down);
    draw.frame = draw.out;
  }
};

}  // namespace wellspring::augment
