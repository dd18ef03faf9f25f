// Draws contour lines into a band of an image: several lines of a contour at once, advancing each
// by one pixel per step. Called by contour.h; host and device.
#pragma once

#include "kernels/emission/bands.h"
#include "kernels/random/math.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/simd.h"

#include <cstdint>

namespace wellspring::contour {

/// Pixels are clamped to [-kFarthest, kFarthest], more than four image sides away.
inline constexpr float kFarthest = 16383;

/// A vertex's pixel in one word: x in the low half, y in the high half.
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

/// With N > 1, one member draws alone. Otherwise several members may store the same shade
/// concurrently.
template <int N>
WS_INLINE void put(std::uint8_t* texel, std::uint8_t shade) {
#if !WS_DEVICE_CODE
  if constexpr (N == 1) return __atomic_store_n(texel, shade, __ATOMIC_RELAXED);
#endif
  *texel = shade;
}

/// Range of a line's steps: first <= step < end.
struct Steps {
  std::uint32_t first, end;
};
/// Clips the steps of a coordinate that starts at `from` and moves by `sign` per step, so that the
/// coordinate stays in [0, size).
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
/// The other coordinate moves by `minor` in `major` steps. Returns the first step at which it has
/// moved by k: ceil((2 k - 1) major / (2 minor)). Both are at most 32767, so 32-bit words suffice.
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

/// A line from pixel a to pixel b, excluding b; only pixel a if both coincide. Uses the integer
/// algorithm of J. Bresenham, "Algorithm for computer control of a digital plotter", IBM Systems J.
/// 4 (1965) 25: after i steps along the longer axis it has moved floor(i minor / major + 1/2) along
/// the other.
struct Line {
  std::int32_t x, y;  ///< first pixel; rows are counted from the band's first row
  std::int32_t sign_x, sign_y;
  std::int32_t major, minor;  ///< steps along the longer axis, moves along the other axis
  std::int32_t along, aside;  ///< texels per step; extra texels if the step moves along both axes
  bool steep;                 ///< the longer axis is y
  bool whole, outside;        ///< entirely inside the band; entirely beyond one of its edges

  WS_INLINE static Line between(std::uint32_t a, std::uint32_t b, std::int32_t width,
                                const Band& band) {
    Line line;
    line.x = pixel_x(a);
    line.y = pixel_y(a) - band.y0;
    const std::int32_t x_end = pixel_x(b), y_end = pixel_y(b) - band.y0;
    const std::int32_t dx = x_end - line.x, dy = y_end - line.y;
    // Distances to the last column and row of the band; a set sign bit marks a pixel outside.
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
  /// Steps inside the band.
  WS_INLINE Steps clip(std::int32_t width, const Band& band) const {
    Steps steps = {0, static_cast<std::uint32_t>(pixels())};
    clip_major(steep ? y : x, steep ? sign_y : sign_x, steep ? band.rows : width, steps);
    clip_minor(steep ? x : y, steep ? sign_x : sign_y, steep ? width : band.rows,
               static_cast<std::uint32_t>(major), static_cast<std::uint32_t>(minor), steps);
    return steps;
  }
};

/// Draws up to N lines from the pixels `from` to the pixels `to` (arrays of N), advancing each by
/// one pixel per step. A line begins where it enters the band, so pixels outside cost nothing. All
/// lines have the same shade, so a finished line may keep storing its last pixel, and a line with
/// no pixel in the band may repeat another line's first pixel.
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
    std::int64_t spot[N];  // a copy, which compilers can keep in vector registers
    WS_LANES
    for (int l = 0; l < N; ++l) spot[l] = place[l];
    WS_UNROLL(16)
    for (int l = 0; l < N; ++l) put<N>(texels + spot[l], shade);
    if (step >= longest) break;
    // Uses masks instead of selects: a compiler may turn selects into masked stores that stall the
    // next loads.
    WS_LANES
    for (int l = 0; l < N; ++l) {
      const std::int32_t goes = N == 1 ? -1 : (step - count[l]) >> 31, moves = ~(error[l] >> 31);
      place[l] += goes & (along[l] + (moves & aside[l]));
      error[l] += up[l] - (moves & down[l]);
    }
  }
}

}  // namespace wellspring::contour
