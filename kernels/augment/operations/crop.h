// crop: a window of the output's size in the resized image. Listed in operations.h; host and
// device.
#pragma once

#include "kernels/augment/operation.h"

namespace wellspring::augment {

/// Position of the window.
enum class CropPlace : std::uint8_t { random, centre };

struct Crop {
  static constexpr auto kInfo =
      OperationInfo(9, AugmentStage::geometry, "crop", "resize",
                    "crop of the output size, after resizing the shorter side",
                    "torchvision.transforms.Resize, RandomCrop and CenterCrop");
  static constexpr bool kResizes = true;

  template <class Reals>
  struct Params {
    double probability = 1;
    int resize = 0;
    CropPlace place = CropPlace::random;

    static void describe(ParamTable<Params>& table) {
      table
          .integer("resize", &Params::resize, {1, 16384}, "pixels",
                   "length of the shorter side before the crop, at least the output size")
          .required()
          .choice("place", &Params::place,
                  {{"random", CropPlace::random}, {"centre", CropPlace::centre}},
                  "position of the crop");
    }
    template <class Check>
    StepValues plan(FrameSize out, const Check& check) const {
      if (resize < out.width || resize < out.height)
        check.refuse(".resize is {}, and the output has {} x {} pixels",
                     "the crop is a part of the resized image", "use at least the output size",
                     resize, out.width, out.height);
      return {resize, place == CropPlace::centre ? 1 : 0};
    }
  };

  /// An axis of the crop: source pixels per output pixel, and the offset of the window's centre from
  /// the image's centre in output pixels.
  struct Axis {
    float scale, offset;
  };
  WS_HD static Axis axis(const AugmentStep& step, int length, CoveringScale scale, int out,
                         AugmentRng& words) {
    const int resized = scale.of(length);
    const int room = resized - out;
    // A centre between two pixels is rounded to the even one, as by Python's round.
    const int middle = room / 2 + (room & 1 & room / 2);
    const float first =
        step.value[1] == 1 ? static_cast<float>(middle) : words.whole(static_cast<float>(room));
    return {static_cast<float>(length) / static_cast<float>(resized),
            first - 0.5f * static_cast<float>(room)};
  }
  /// The first value of a step is the length of the image's shorter side after resizing, or 0: the
  /// image just covers the output.
  WS_HD static void compose(const AugmentStep& step, AugmentRng& words, GeometryDraw& draw) {
    const FrameSize frame = draw.frame;
    const auto side = static_cast<int>(step.value[0]);
    const CoveringScale scale = covering_scale(frame, side == 0 ? draw.out : FrameSize{side, side});
    const Axis down = axis(step, frame.height, scale, draw.out.height, words);
    const Axis across = axis(step, frame.width, scale, draw.out.width, words);
    draw.map = draw.map * Homography::scaling(across.scale, down.scale) *
               Homography::translation(across.offset, down.offset);
    draw.footprint *=
        across.scale == down.scale ? across.scale : math::sqrt(across.scale * down.scale);
    draw.frame = draw.out;
  }
};

}  // namespace wellspring::augment
