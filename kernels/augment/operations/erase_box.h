// erase_box: sets a box to the mean (like `erase`) or fills it with normal numbers. Listed in
// operations.h; host and device.
#pragma once

#include "kernels/augment/operation.h"
#include "kernels/augment/pixel_noise.h"
#include "kernels/batch/pixel_run.h"

#include <cstdint>

namespace wellspring::augment {

/// The fill of an erased box, after normalisation.
enum class ErasedFill : std::uint8_t { mean, noise };

struct EraseBox {
  static constexpr auto kInfo =
      OperationInfo(41, AugmentStage::erase, "erase_box", "probability",
                    "erase a box of random area and aspect ratio inside the image",
                    "torchvision.transforms.v2.RandomErasing; Zhong et al., AAAI 2020");

  template <class Reals>
  struct Params {
    double probability = 0.5;
    Reals scale = {0.02, 0.33};
    Reals ratio = {0.3, 3.3};
    ErasedFill fill = ErasedFill::mean;

    static void describe(ParamTable<Params>& table) {
      table
          .real_list("scale", &Params::scale, {1e-4, 1}, "of the area",
                     "area of the box, uniform in the range")
          .real_list("ratio", &Params::ratio, {0.01, 100}, "height / width",
                     "aspect ratio of the box, log-uniform in the range")
          .choice("fill", &Params::fill, {{"mean", ErasedFill::mean}, {"noise", ErasedFill::noise}},
                  "the mean, or normal numbers (after normalisation)");
    }
    template <class Check>
    void check(const Check& check) const {
      check.range("scale", scale);
      check.range("ratio", ratio);
    }
    bool needs_pass() const { return fill == ErasedFill::noise; }
    StepValues plan(FrameSize) const {
      return {scale[0], scale[1], Planning::log(ratio[0]), Planning::log(ratio[1]),
              needs_pass() ? 1 : 0};
    }
  };

  /// Draws the box as torchvision's get_params does: ten tries of area and height / width; if all
  /// fail, there is no box.
  WS_HD static void draw(const AugmentStep& step, FrameSize out, AugmentRng& words,
                         Augmentation& a) {
    const auto width = static_cast<float>(out.width), height = static_cast<float>(out.height);
    a.erase_noise = step.value[4] != 0;
    words.key(a.erase_key);
    for (int attempt = 0; attempt < 10; ++attempt) {
      const float area = width * height * words.uniform(step.value[0], step.value[1]);
      const float ratio = math::exp(words.uniform(step.value[2], step.value[3]));
      const float h = math::round(math::sqrt(area * ratio));
      const float w = math::round(math::sqrt(area / ratio));
      if (!(h < height && w < width)) continue;
      a.erase_y0 = static_cast<std::int32_t>(words.whole(height - h));
      a.erase_x0 = static_cast<std::int32_t>(words.whole(width - w));
      a.erase_y1 = a.erase_y0 + static_cast<std::int32_t>(h);
      a.erase_x1 = a.erase_x0 + static_cast<std::int32_t>(w);
      return;
    }
  }
};

/// If `erase_noise` is set, fills pixels in the erased box with standard normal values, which have
/// the spread of a normalised data set. The run starts at (x, y).
template <int N>
WS_INLINE void fill_box(const Augmentation& a, int x, int y, ColourRun<N>& colour) {
  if (!a.erase_noise || y < a.erase_y0 || y >= a.erase_y1) return;
  const int from = a.erase_x0 > x ? a.erase_x0 - x : 0;
  const int to = a.erase_x1 < x + N ? a.erase_x1 - x : N;
  detail::for_noise(a.erase_key, x, y, from, to, [&](int i, const float(&normal)[3]) {
    colour.r[i] = normal[0];
    colour.g[i] = normal[1];
    colour.b[i] = normal[2];
  });
}

}  // namespace wellspring::augment
