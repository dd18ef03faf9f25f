// equalise: equalises the histogram of each channel. Listed in operations.h; host and device.
#pragma once

#include "kernels/augment/whole_image_operation.h"

#include <cstdint>

namespace wellspring::augment {

struct Equalise {
  static constexpr auto kInfo = OperationInfo(24, AugmentStage::whole, "equalise", "probability",
                                              "equalise the histogram of each channel (256 levels)",
                                              "torchvision.transforms.RandomEqualize");

  template <class Reals>
  struct Params {
    double probability = 0.5;
  };

  struct Statistics {
    std::uint32_t table[3][256];  ///< count of each level, later its equalised value
  };
  template <class Team>
  WS_INLINE static void measure(Team& team, const float* image, SampleShape shape,
                                Statistics& statistics) {
    for (int i = team.rank(); i < 3 * 256; i += team.size()) statistics.table[i / 256][i % 256] = 0;
    team.sync();
    const std::int64_t pixels = std::int64_t{shape.height} * shape.width;
    for (std::int64_t p = team.rank(); p < pixels; p += team.size()) {
      for (int c = 0; c < shape.channels; ++c)
        team.atomic_add(&statistics.table[c][level_of(image[p * shape.channels + c])], 1u);
    }
    team.sync();
    for (int c = team.rank(); c < shape.channels; c += team.size())
      make_table(statistics.table[c], static_cast<std::uint32_t>(pixels));
  }
  template <int N>
  WS_INLINE static void change(const WholeRun& run, float, const Statistics& statistics,
                               ColourRun<N>& colour) {
    look_up(statistics.table[0], colour.r);
    look_up(statistics.table[run.green()], colour.g);
    look_up(statistics.table[run.blue()], colour.b);
  }

 private:
  /// Rounds a value to one of 256 levels (torchvision's to_dtype).
  WS_INLINE static std::uint32_t level_of(float v) {
    return static_cast<std::uint32_t>(math::clamp(v, 0.f, 1.f) * (256.f - 1e-3f));
  }
  /// Replaces the counts of levels with the equalised levels (torchvision.transforms.v2.functional,
  /// equalize): cumulative counts, in units of 1/255 of the total count without the last occupied
  /// level. Called by one member per channel.
  WS_HD static void make_table(std::uint32_t (&table)[256], std::uint32_t pixels) {
    int last = 255;
    while (last > 0 && table[last] == 0) --last;
    const std::uint32_t step = (pixels - table[last]) / 255;
    std::uint32_t before = 0;
    for (int level = 0; level < 256; ++level) {
      const std::uint32_t here = table[level];
      const std::uint32_t to =
          step == 0 ? static_cast<std::uint32_t>(level) : (before + step / 2) / step;
      table[level] = to < 255 ? to : 255;
      before += here;
    }
  }
  template <int N>
  WS_INLINE static void look_up(const std::uint32_t (&table)[256], float (&value)[N]) {
    for (int i = 0; i < N; ++i) value[i] = static_cast<float>(table[level_of(value[i])]) / 255.f;
  }
};

}  // namespace wellspring::augment
