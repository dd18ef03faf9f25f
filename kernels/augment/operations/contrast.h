// contrast: multiplies differences from middle grey, or from the mean luma of the image, by a
// factor. Listed in operations.h; host and device.
#pragma once

#include "kernels/augment/whole_image_operation.h"

#include <cstdint>

namespace wellspring::augment {

/// The value that a change of contrast leaves unchanged.
enum class ContrastCentre : std::uint8_t {
  middle,  ///< 0.5; needs no extra pass
  mean,    ///< the image mean, as in torchvision; needs another pass
};

/// A drawn step of `contrast` about the image mean.
struct ContrastAboutMean {
  static constexpr auto kInfo = OperationInfo(27, AugmentStage::whole, "contrast", "", "", "");

  WS_INLINE static bool idle(float factor) { return factor == 1; }

  struct Statistics {
    std::uint64_t sum;  ///< sum of luma, in units of 2^-24
  };
  template <class Team>
  WS_INLINE static void measure(Team& team, const float* image, SampleShape shape,
                                Statistics& statistics) {
    if (team.rank() == 0) statistics.sum = 0;
    team.sync();
    const std::int64_t pixels = std::int64_t{shape.height} * shape.width;
    std::uint64_t sum = 0;
    for (std::int64_t p = team.rank(); p < pixels; p += team.size()) {
      const float* const pixel = image + p * shape.channels;
      const float grey =
          shape.channels == 3 ? detail::luma(pixel[0], pixel[1], pixel[2]) : pixel[0];
      sum += static_cast<std::uint32_t>(math::round(math::clamp(grey, 0.f, 1.f) * 0x1p24f));
    }
    team.atomic_add(&statistics.sum, sum);
  }
  template <int N>
  WS_INLINE static void change(const WholeRun& run, float factor, const Statistics& statistics,
                               ColourRun<N>& colour) {
    const auto pixels = static_cast<float>(run.shape.height * run.shape.width);
    const float mean = static_cast<float>(statistics.sum) * 0x1p-24f / pixels;
    detail::change_values(colour.r, colour.g, colour.b,
                          [&](float v) WS_INLINED { return detail::blend(mean, v, factor); });
  }
};

struct Contrast {
  static constexpr auto kInfo =
      OperationInfo(17, AugmentStage::colour, "contrast", "strength",
                    "multiply differences from middle grey (0.5) by a factor",
                    "torchvision.transforms.ColorJitter");

  template <class Reals>
  struct Params {
    double probability = 1;
    double strength = 0;
    ContrastCentre about = ContrastCentre::middle;

    static void describe(ParamTable<Params>& table) {
      detail::describe_strength(table);
      table.choice(
          "about", &Params::about,
          {{"middle", ContrastCentre::middle}, {"mean", ContrastCentre::mean}},
          "fixed point: 0.5, or the mean luma of the image as in torchvision (needs another pass)");
    }
    bool needs_pass() const { return about == ContrastCentre::mean; }
    StepValues plan(FrameSize) const {
      const StepValues factor = detail::factor_range(strength);
      return {factor.value[0], factor.value[1], needs_pass() ? 1 : 0};
    }
  };

  WS_INLINE static void draw(const AugmentStep& step, AugmentRng& words, ColourList& list) {
    const float factor = words.uniform(step.value[0], step.value[1]);
    if (step.value[2] != 0) return list.add<ContrastAboutMean>(factor);
    list.add<Contrast>(factor);
  }
  WS_INLINE static bool idle(float factor) { return factor == 1; }
  template <int N>
  WS_INLINE static void apply(float factor, float (&r)[N], float (&g)[N], float (&b)[N]) {
    detail::change_values(r, g, b,
                          [&](float v) WS_INLINED { return detail::blend(0.5f, v, factor); });
  }
};

}  // namespace wellspring::augment
