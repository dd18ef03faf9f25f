// Lines of contours as they are drawn into a band of a picture: some of a contour's lines side by
// side, a pixel of each at a time. Called by contour.h; host and device.
#pragma once

#include "kernels/emission/bands.h"
#include "kernels/random/math.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/simd.h"

#include <cstdint>

namespace wellspring::contour {

/// Pixels lie in [-kFarthest, kFarthest]: vertices beyond, four images away and more, are moved.
inline constexpr float kFarthest = 16383;

/// A vertex's pixel in a word: x in the low half, y in the high one.
WS_INLINE std::uint32_t pixel_word(float x, float y) {
  const auto px = static_cast<std::int32_t>(math::clamp(math::floor(x), -kFarthest, kFarthest));
  const auto py = static_cast<std::int32_t>(math::clamp(math::floor(y), -kFarthest, kFarthest));
  return (static_cast<std::uint32_t>(px) & 0xffffu) | static_cast<std::uint32_t>(py) << 16;
}
WS_INLINE std::int32_t pixel_x(std::uint32_t word) {
  return static_cast<std::int32_t>(word << 16) >> 16;
}
WS_INLINE std::int32_t pixel_y(std::uint32_t word) {
  return static_cast<std::int32_t>(word) >> 16;
}

/// Who draws N lines at once is alone. Otherwise members may store the same shade at the same time.
template <int N>
WS_INLINE void put(std::uint8_t* texel, std::uint8_t shade) {
#if !WS_DEVICE_CODE
  if constexpr (N == 1) return __atomic_store_n(texel, shade, __ATOMIC_RELAXED);
#endif
  *texel = shade;
}

/// Steps of a line that lie within limits: those from `first` to before `end`.
struct Steps {
  std::uint32_t first, end;
};
/// Of a coordinate that begins at `from`, moves by `sign` each step and must lie in [0, size).
WS_INLINE void clip_major(std::int32_t from, std::int32_t sign, std::int32_t size, Steps& steps) {
  const std::int32_t enters = sign > 0 ? -from : from - (size - 1);
  const std::int32_t leaves = sign > 0 ? size - from : from + 1;
  if (enters > static_cast<std::int32_t>(steps.first)) {
    steps.first = static_cast<std::uint32_t>(enters);
  }
  if (leaves < static_cast<std::int32_t>(steps.end)) {
    steps.end = static_cast<std::uint32_t>(leaves < 0 ? 0 : leaves);
  }
}
/// Of the other coordinate, which moves `minor` in `major` steps: it has moved by k from step
/// ceil((2 k - 1) major / (2 minor)) on. At most 32767 each, so that words have room.
WS_INLINE std::uint32_t step_of(std::uint32_t k, std::uint32_t major, std::uint32_t minor) {
  if (k == 0) return 0;
  return ((2 * k - 1) * major + 2 * minor - 1) / (2 * minor);
}
WS_INLINE void clip_minor(std::int32_t from, std::int32_t sign, std::int32_t size,
                          std::uint32_t major, std::uint32_t minor, Steps& steps) {
  const std::int32_t enters = sign > 0 ? -from : from - (size - 1);
  const std::int32_t leaves = sign > 0 ? size - from : from + 1;
  if (leaves <= 0 || enters > static_cast<std::int32_t>(minor)) {
    steps.end = 0;
    return;
  }
  if (enters > 0) {
    const std::uint32_t step = step_of(static_cast<std::uint32_t>(enters), major, minor);
    steps.first = step > steps.first ? step : steps.first;
  }
  if (leaves <= static_cast<std::int32_t>(minor)) {
    const std::uint32_t step = step_of(static_cast<std::uint32_t>(leaves), major, minor);
    steps.end = step < steps.end ? step : steps.end;
  }
}

/// A line from pixel a up to, and without, pixel b; pixel a where they are one. In integers, by J.
/// Bresenham, "Algorithm for computer control of a digital plotter", IBM Systems J. 4 (1965) 25:
/// after i steps along the longer axis it has moved floor(i minor / major + 1/2) along the other.
struct Line {
  std::int32_t x, y;  ///< where it begins; rows from the band's first one
  std::int32_t sign_x, sign_y;
  std::int32_t major, minor;  ///< steps along the longer axis, moves along the other
  std::int32_t along, aside;  ///< texels that a step goes, and one that moves goes more
  bool steep;                 ///< the longer axis is y
  bool whole, outside;        ///< it lies in the band from end to end; or on one side of it

  WS_INLINE static Line between(std::uint32_t a, std::uint32_t b, std::int32_t width,
                                const Band& band) {
    Line line;
    line.x = pixel_x(a);
    line.y = pixel_y(a) - band.y0;
    const std::int32_t x_end = pixel_x(b), y_end = pixel_y(b) - band.y0;
    const std::int32_t dx = x_end - line.x, dy = y_end - line.y;
    // Pixels up to the band's last ones. What is negative has its uppermost bit set.
    const std::int32_t left_x = width - 1 - line.x, left_x_end = width - 1 - x_end;
    const std::int32_t left_y = band.rows - 1 - line.y, left_y_end = band.rows - 1 - y_end;
    line.outside =
        ((line.x & x_end) | (line.y & y_end) | (left_x & left_x_end) | (left_y & left_y_end)) < 0;
    line.whole = (line.x | x_end | line.y | y_end | left_x | left_x_end | left_y | left_y_end) >= 0;
    const std::int32_t far_x = dx < 0 ? -dx : dx, far_y = dy < 0 ? -dy : dy;
    line.steep = far_y >= far_x;
    line.major = line.steep ? far_y : far_x;
    line.minor = line.steep ? far_x : far_y;
    line.sign_x = dx < 0 ? -1 : 1;
    line.sign_y = dy < 0 ? -1 : 1;
    const std::int32_t stride_y = dy < 0 ? -band.pitch : band.pitch;
    line.along = line.steep ? stride_y : line.sign_x;
    line.aside = line.steep ? line.sign_x : stride_y;
    return line;
  }
  WS_INLINE std::int32_t pixels() const { return major > 0 ? major : 1; }
  /// Those of its steps that lie within the band.
  WS_INLINE Steps clip(std::int32_t width, const Band& band) const {
    Steps steps = {0, static_cast<std::uint32_t>(pixels())};
    clip_major(steep ? y : x, steep ? sign_y : sign_x, steep ? band.rows : width, steps);
    clip_minor(steep ? x : y, steep ? sign_x : sign_y, steep ? width : band.rows,
               static_cast<std::uint32_t>(major), static_cast<std::uint32_t>(minor), steps);
    return steps;
  }
};

/// Draws `lines` lines, N at most, from the pixels of `from` up to those of `to`, arrays of N, a
/// pixel of each at a time. What lies outside of the band costs nothing: a line begins where it
/// enters it. All have one shade: a line at its end stays there, and one that has no pixel in the
/// band goes over the first of another.
template <int N>
WS_INLINE void draw_lines(const std::uint32_t* from, const std::uint32_t* to, std::int32_t lines,
                          std::uint8_t shade, std::int32_t width, const Band& band,
                          std::uint8_t* texels) {
  std::int32_t place[N], along[N], aside[N], error[N], up[N], down[N], count[N];
  int crossing = 0;
  WS_LANES_SUM(crossing)
  for (int l = 0; l < N; ++l) {
    const Line line = Line::between(from[l], to[l], width, band);
    const bool seen = !line.outside & (l < lines);
    place[l] = line.y * band.pitch + line.x;
    along[l] = line.along;
    aside[l] = line.aside;
    error[l] = 2 * line.minor - line.major;
    up[l] = 2 * line.minor;
    down[l] = 2 * line.major;
    count[l] = seen ? line.pixels() : 0;
    crossing += seen & !line.whole ? 1 : 0;
  }
  for (int l = 0; l < N && crossing > 0; ++l) {
    const Line line = Line::between(from[l], to[l], width, band);
    if (count[l] == 0 || line.whole) continue;
    const Steps steps = line.clip(width, band);
    count[l] = steps.first < steps.end ? static_cast<std::int32_t>(steps.end - steps.first) : 0;
    if (count[l] == 0 || steps.first == 0) continue;
    const std::uint32_t twice = 2 * static_cast<std::uint32_t>(line.major);
    const std::uint32_t travelled = 2 * steps.first * static_cast<std::uint32_t>(line.minor);
    const std::uint32_t moved = (travelled + static_cast<std::uint32_t>(line.major)) / twice;
    error[l] += static_cast<std::int32_t>(travelled - twice * moved);
    place[l] += static_cast<std::int32_t>(steps.first) * line.along +
                static_cast<std::int32_t>(moved) * line.aside;
  }
  std::int32_t longest = 0, within = 0;
  for (int l = 0; l < N; ++l) {
    within = count[l] > 0 ? place[l] : within;
    longest = count[l] > longest ? count[l] : longest;
  }
  if (longest == 0) return;
  WS_LANES
  for (int l = 0; l < N; ++l) place[l] = count[l] > 0 ? place[l] : within;
  for (std::int32_t step = 1;; ++step) {
    std::int64_t spot[N];  // apart, since what is stored by the lane is not kept in lanes
    WS_LANES
    for (int l = 0; l < N; ++l) spot[l] = place[l];
    WS_UNROLL(16)
    for (int l = 0; l < N; ++l) put<N>(texels + spot[l], shade);
    if (step >= longest) break;
    // In masks: where a compiler makes masked stores of choices, the next loads wait for them.
    WS_LANES
    for (int l = 0; l < N; ++l) {
      const std::int32_t goes = N == 1 ? -1 : (step - count[l]) >> 31, moves = ~(error[l] >> 31);
      place[l] += goes & (along[l] + (moves & aside[l]));
      error[l] += up[l] - (moves & down[l]);
    }
  }
}

}  // namespace wellspring::contour
