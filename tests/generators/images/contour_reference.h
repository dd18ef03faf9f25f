// Draws contours in the most direct way, one vertex, one orbit and one pixel at a time over the
// whole picture. For tests of the generators that draw contours; host only.
#pragma once

#include "generators/images/contour.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

namespace wellspring::test {

struct Picture {
  int width, height;
  std::vector<int> texels;

  Picture(int w, int h, int background)
      : width(w),
        height(h),
        texels(static_cast<std::size_t>(w) * static_cast<std::size_t>(h), background) {}
  void put(int x, int y, int shade) {
    if (x >= 0 && x < width && y >= 0 && y < height) {
      texels[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
             static_cast<std::size_t>(x)] = shade;
    }
  }
  /// Bresenham's line in its usual form, without the last pixel.
  void line(int x, int y, int x_end, int y_end, int shade) {
    const int dx = std::abs(x_end - x), dy = std::abs(y_end - y);
    const int sx = x_end < x ? -1 : 1, sy = y_end < y ? -1 : 1;
    if (dx > dy) {
      int error = 2 * dy - dx;
      for (int i = 0; i < dx; ++i) {
        put(x, y, shade);
        if (error >= 0) {
          y += sy;
          error -= 2 * dx;
        }
        error += 2 * dy;
        x += sx;
      }
    } else {
      int error = 2 * dx - dy;
      for (int i = 0; i < std::max(dy, 1); ++i) {
        put(x, y, shade);
        if (error >= 0) {
          x += sx;
          error -= 2 * dy;
        }
        error += 2 * dx;
        y += sy;
      }
    }
  }
};

/// The noise for half a word, following the table's definition.
inline float noise_of(std::uint32_t half) {
  const float* const knots = contour::noise_knots();
  const float t = (static_cast<float>(half % 64) + 0.5f) / 64;
  return std::fma(t, knots[half / 64 + 1] - knots[half / 64], knots[half / 64]);
}

/// One sample's contours: its vertices after each orbit, and the picture.
struct PlainContours {
  using Point = std::pair<float, float>;
  std::vector<std::vector<Point>> orbit;  ///< [0]: the contour before the first orbit
  Picture picture;

  PlainContours(const contour::Scene& scene, int background)
      : picture(scene.width, scene.height, background) {
    const auto n = static_cast<std::uint32_t>(scene.vertices);
    std::vector<Point> at, step, noise;
    for (std::uint32_t v = 0; v < n; ++v) {
      const auto turns = [&](std::uint32_t periods) {
        return static_cast<float>(v * periods % n) / static_cast<float>(n);
      };
      const float cosine = math::cos_turns(turns(1)), sine = math::sin_turns(turns(1));
      const float wave =
          scene.wave * math::sin_turns(turns(static_cast<std::uint32_t>(scene.wave_1))) +
          scene.wave * math::sin_turns(turns(static_cast<std::uint32_t>(scene.wave_2)));
      at.emplace_back(std::fma(scene.radius_x, cosine, scene.centre_x),
                      std::fma(scene.radius_y, sine, scene.centre_y));
      step.emplace_back(cosine * (scene.growth + wave), sine * (scene.growth + wave));
      noise.emplace_back(-cosine * scene.noise, -sine * scene.noise);
    }
    orbit.push_back(at);
    for (std::uint32_t k = 0; k < static_cast<std::uint32_t>(scene.orbits); ++k) {
      for (std::uint32_t v = 0; v < n; ++v) {
        const std::uint32_t word = scene.rng.block(Purpose::texture, k / 4 * 65536 + v).word[k % 4];
        at[v].first = std::fma(noise[v].first, noise_of(word % 65536), at[v].first + step[v].first);
        at[v].second =
            std::fma(noise[v].second, noise_of(word / 65536), at[v].second + step[v].second);
      }
      orbit.push_back(at);
      const std::uint64_t word = scene.rng.block(Purpose::colour, k / 4).word[k % 4];
      const auto shade = std::min(255, static_cast<int>(word * scene.shades >> 32));
      for (std::uint32_t v = 0; v < n; ++v) {
        const Point from = at[v], to = at[(v + 1) % n];
        picture.line(
            static_cast<int>(std::floor(from.first)), static_cast<int>(std::floor(from.second)),
            static_cast<int>(std::floor(to.first)), static_cast<int>(std::floor(to.second)), shade);
      }
    }
  }
};

}  // namespace wellspring::test
