// Resolution pyramid for the fills of textured leaves, and its lookup for image pixels that cover
// one or more fill pixels. Host and device.
//
// After L. Williams, "Pyramidal parametrics", SIGGRAPH 1983: each level has half the side of the
// previous one, and a read interpolates linearly between two levels. An odd side is halved and
// rounded down, with the weights of S. Guthe and P. Heckbert, "Non-power-of-two mipmap creation",
// NVIDIA 2005, so that every level has the same mean and the same extent as the fill.
#pragma once

#include "kernels/batch/pixel_run.h"
#include "kernels/random/math.h"
#include "kernels/runtime/bits.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring {

/// All levels of the fills of one generator; does not own the pixels.
class FillLevels {
 public:
  static constexpr int kChannels = 3;

  FillLevels(std::int32_t count, std::int32_t side)
      : count_(count),
        side_(side),
        last_(highest_bit(static_cast<std::uint32_t>(side))),
        period_(2 * static_cast<float>(side)),
        inverse_(1 / period_) {}

  WS_INLINE std::int32_t count() const { return count_; }
  WS_INLINE std::int32_t side() const { return side_; }
  WS_INLINE int last() const { return last_; }  ///< last level: a single pixel; level 0 is the fill
  WS_INLINE float period() const { return period_; }  ///< period of the mirrored fill
  /// Number of floats per level, for all fills; start() returns the sum over all previous levels.
  WS_INLINE std::int64_t elements(int level) const {
    const std::int64_t side = side_ >> level;
    return count_ * side * side * kChannels;
  }
  WS_INLINE std::int64_t start(int level) const {
    std::int64_t before = 0;
    for (int i = 0; i < level; ++i) before += elements(i);
    return before;
  }
  std::int64_t elements() const { return start(last_ + 1); }

  /// [count, side, side, 3] for each level in turn.
  void bind(const float* pixels) { pixels_ = pixels; }

  /// Source of a leaf's pixels: a fill at one level, mixed with a
  /// fraction `share` of the next level.
  struct Cut {
    const float *fine, *coarse;
    std::int32_t side;               ///< side of the finer level
    float fine_ratio, coarse_ratio;  ///< pixels of the level per pixel of the fill
    float share;
  };
  /// The cut for image pixels as wide as 2^log_width fill pixels.
  WS_INLINE Cut cut(std::uint32_t fill, float log_width) const {
    const float depth = math::clamp(log_width, 0, static_cast<float>(last_));
    const auto level = static_cast<std::int32_t>(depth);
    const std::int32_t side = side_ >> level, half = side >> 1;
    const float* const fine = pixels_ + start(level);
    const auto size = [fill](std::int64_t s) { return fill * s * s * kChannels; };
    return {fine + size(side),
            fine + elements(level) + size(half),
            side,
            static_cast<float>(side) / static_cast<float>(side_),
            static_cast<float>(half) / static_cast<float>(side_),
            depth - static_cast<float>(level)};
  }

  /// Value at a position in fill pixels, interpolated bilinearly between the centres of a level's
  /// pixels. The fill is mirrored at its borders.
  WS_INLINE Rgb read(const Cut& cut, float column, float row) const {
    const float x = folded(column), y = folded(row);
    const Rgb fine = between({cut.fine, cut.side}, x * cut.fine_ratio, y * cut.fine_ratio);
    if (cut.share == 0) return fine;
    const Picture half = {cut.coarse, cut.side >> 1};
    return lerp(fine, between(half, x * cut.coarse_ratio, y * cut.coarse_ratio), cut.share);
  }

 private:
  struct Picture {
    const float* pixels;
    std::int32_t side;

    WS_INLINE Rgb at(std::int32_t column, std::int32_t row) const {
      const float* const pixel = pixels + (row * side + column) * kChannels;
      return {pixel[0], pixel[1], pixel[2]};
    }
  };
  /// Two neighbours in a row or column, and the weight of the second.
  struct Tap {
    std::int32_t first, second;
    float share;
  };

  /// The position within the mirrored fill, [0, side].
  WS_INLINE float folded(float v) const {
    const float turned = math::fma(-period_, math::floor(v * inverse_), v);
    return math::min(turned, period_ - turned);
  }
  WS_INLINE static Tap tap(std::int32_t side, float v) {
    // Position measured from the centre of the first pixel; the outermost half pixels are constant.
    const float place = math::clamp(v - 0.5f, 0, static_cast<float>(side - 1));
    const auto first = static_cast<std::int32_t>(place);
    return {first, first < side - 1 ? first + 1 : first, place - static_cast<float>(first)};
  }
  WS_INLINE static Rgb between(const Picture& seen, float column, float row) {
    const Tap x = tap(seen.side, column), y = tap(seen.side, row);
    return lerp(lerp(seen.at(x.first, y.first), seen.at(x.second, y.first), x.share),
                lerp(seen.at(x.first, y.second), seen.at(x.second, y.second), x.share), y.share);
  }

  const float* pixels_ = nullptr;
  std::int32_t count_, side_;
  std::int32_t last_;
  float period_, inverse_;
};

/// Map functor: one pixel of a fill at half the side, computed as the weighted mean
/// of the pixels it covers on the previous level. Weights are integers, so a mean
/// never leaves the range of its values.
struct HalveFills {
  const float* from;  ///< [count, side, side, 3]
  float* to;          ///< [count, side / 2, side / 2, 3]
  std::int32_t side;

  WS_HD void operator()(std::int64_t index) const {
    const std::int32_t half = side / 2, taps = 2 + side % 2;
    const auto column = static_cast<std::int32_t>(index % half);
    const std::int64_t line = index / half;  // line number, counted over all fills
    const auto row = static_cast<std::int32_t>(line % half);
    const float* const corner =
        from + ((line / half * side + 2 * row) * side + 2 * column) * FillLevels::kChannels;
    for (int channel = 0; channel < FillLevels::kChannels; ++channel) {
      float sum = 0;
      for (int r = 0; r < taps; ++r) {
        float across = 0;
        for (int c = 0; c < taps; ++c) {
          const float value = corner[(r * side + c) * FillLevels::kChannels + channel];
          across = math::fma(weight(column, c), value, across);
        }
        sum = math::fma(weight(row, r), across, sum);
      }
      to[index * FillLevels::kChannels + channel] = sum / static_cast<float>(side * side);
    }
  }

 private:
  /// Part of pixel (2 place + tap) that pixel `place` covers. A whole pixel has the weight `half`;
  /// the weights add up to `side`.
  WS_HD float weight(std::int32_t place, int tap) const {
    const std::int32_t half = side / 2, odd = side % 2;
    if (tap == 1) return static_cast<float>(half);
    return static_cast<float>(tap == 0 ? half - odd * place : place + 1);
  }
};

}  // namespace wellspring
