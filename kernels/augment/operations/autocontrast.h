// autocontrast: stretches each channel to [0, 1]. Listed in operations.h; host and device.
#pragma once

#include "kernels/augment/whole_image_operation.h"

#include <bit>
#include <cstdint>

namespace wellspring::augment {

struct Autocontrast {
  static constexpr auto kInfo =
      OperationInfo(23, AugmentStage::whole, "autocontrast", "probability",
                    "stretch each channel to [0, 1]", "torchvision.transforms.RandomAutocontrast");

  template <class Reals>
  struct Params {
    double probability = 0.5;
  };

  struct Statistics {
    std::uint32_t lowest[3];   ///< complemented bits of the smallest values
    std::uint32_t highest[3];  ///< bits of the largest values; they order as the floats do
  };
  template <class Team>
  WS_INLINE static void measure(Team& team, const float* image, SampleShape shape,
                                Statistics& statistics) {
    if (team.rank() == 0) {
      for (int c = 0; c < 3; ++c) statistics.lowest[c] = statistics.highest[c] = 0;
    }
    team.sync();
    const std::int64_t pixels = std::int64_t{shape.height} * shape.width;
    for (int c = 0; c < shape.channels; ++c) {
      float low = 1, high = 0;
      for (std::int64_t p = team.rank(); p < pixels; p += team.size()) {
        const float v = math::clamp(image[p * shape.channels + c], 0.f, 1.f);
        low = math::min(v, low);
        high = math::max(v, high);
      }
      team.atomic_max(&statistics.lowest[c], ~std::bit_cast<std::uint32_t>(low));
      team.atomic_max(&statistics.highest[c], std::bit_cast<std::uint32_t>(high));
    }
  }
  template <int N>
  WS_INLINE static void change(const WholeRun& run, float, const Statistics& statistics,
                               ColourRun<N>& colour) {
    stretch(statistics, 0, colour.r);
    stretch(statistics, run.green(), colour.g);
    stretch(statistics, run.blue(), colour.b);
  }

 private:
  /// Maps the smallest value to 0 and the largest to 1, unless they are equal (torchvision's
  /// autocontrast).
  template <int N>
  WS_INLINE static void stretch(const Statistics& statistics, int c, float (&value)[N]) {
    const float low = std::bit_cast<float>(~statistics.lowest[c]);
    const float range = std::bit_cast<float>(statistics.highest[c]) - low;
    if (range <= 0) return;
    WS_LANES
    for (int i = 0; i < N; ++i) value[i] = math::clamp((value[i] - low) / range, 0.f, 1.f);
  }
};

}  // namespace wellspring::augment
