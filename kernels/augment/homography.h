// Plane homographies: maps that keep straight lines straight, as 3x3 matrices of homogeneous
// coordinates. All geometric augmentations of a sample are composed into one. Host and device.
#pragma once

#include "kernels/random/math.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring {

/// Width and height of an image in pixels.
struct FrameSize {
  int width = 0, height = 0;
  friend constexpr bool operator==(FrameSize, FrameSize) = default;
};

/// The factor to / from that enlarges or shrinks a frame until it just covers another one.
struct CoveringScale {
  int to, from;  ///< pixels

  /// A side after scaling, rounded down; exact for the side that decides.
  WS_INLINE int of(int side) const { return static_cast<int>(std::int64_t{side} * to / from); }
};
WS_INLINE CoveringScale covering_scale(FrameSize frame, FrameSize out) {
  const bool by_width =
      std::int64_t{out.width} * frame.height > std::int64_t{out.height} * frame.width;
  return by_width ? CoveringScale{out.width, frame.width} : CoveringScale{out.height, frame.height};
}

/// Maps (x, y, 1) to the point (m0 x + m1 y + m2, m3 x + m4 y + m5) / (m6 x + m7 y + m8).
struct Homography {
  float m[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

  WS_INLINE static Homography linear(float m00, float m01, float m10, float m11) {
    return {{m00, m01, 0, m10, m11, 0, 0, 0, 1}};
  }
  WS_INLINE static Homography scaling(float x, float y) { return linear(x, 0, 0, y); }
  WS_INLINE static Homography translation(float x, float y) {
    return {{1, 0, x, 0, 1, y, 0, 0, 1}};
  }

  /// The determinant of the Jacobian at (0, 0): the local area scale.
  WS_INLINE float area_at_centre() const {
    const float d = 1 / m[8];
    const float xx = (m[0] - m[2] * d * m[6]) * d, xy = (m[1] - m[2] * d * m[7]) * d;
    const float yx = (m[3] - m[5] * d * m[6]) * d, yy = (m[4] - m[5] * d * m[7]) * d;
    return xx * yy - xy * yx;
  }
};

/// Applies `b`, then `a`. Products of flips and whole-pixel shifts are exact.
WS_INLINE Homography operator*(const Homography& a, const Homography& b) {
  Homography product;
  WS_UNROLL(3)
  for (int row = 0; row < 3; ++row) {
    WS_UNROLL(3)
    for (int column = 0; column < 3; ++column) {
      product.m[3 * row + column] = math::fma(
          a.m[3 * row], b.m[column],
          math::fma(a.m[3 * row + 1], b.m[3 + column], a.m[3 * row + 2] * b.m[6 + column]));
    }
  }
  return product;
}

/// Maps the corners (x[k], y[k]) of a convex quadrilateral, clockwise from the top left, to the
/// corners of a rectangle with the given sides and its centre at (0, 0). m8 is 1. Inverts the map
/// of the unit square to the quadrilateral: P. Heckbert, "Fundamentals of texture mapping and image
/// warping", 1989, section 2.2.3.
WS_INLINE Homography quad_to_rectangle(const float (&x)[4], const float (&y)[4], float width,
                                       float height) {
  const float dx1 = x[1] - x[2], dx2 = x[3] - x[2], sx = (x[0] - x[1]) + (x[2] - x[3]);
  const float dy1 = y[1] - y[2], dy2 = y[3] - y[2], sy = (y[0] - y[1]) + (y[2] - y[3]);
  const float area = dx1 * dy2 - dx2 * dy1;
  // The map of the unit square to the quadrilateral: ((a, b, c), (d, e, f), (g, h, 1)).
  const float g = (sx * dy2 - dx2 * sy) / area, h = (dx1 * sy - sx * dy1) / area;
  const float a = (x[1] - x[0]) + g * x[1], b = (x[3] - x[0]) + h * x[3], c = x[0];
  const float d = (y[1] - y[0]) + g * y[1], e = (y[3] - y[0]) + h * y[3], f = y[0];
  // Its inverse, up to a factor. Then u and v are scaled from [0, 1] to the rectangle.
  const float w_x = d * h - e * g, w_y = b * g - a * h, w = a * e - b * d;
  const float scale = 1 / w;
  return {{width * ((e - f * h) - 0.5f * w_x) * scale, width * ((c * h - b) - 0.5f * w_y) * scale,
           width * ((b * f - c * e) - 0.5f * w) * scale,
           height * ((f * g - d) - 0.5f * w_x) * scale, height * ((a - c * g) - 0.5f * w_y) * scale,
           height * ((c * d - a * f) - 0.5f * w) * scale, w_x * scale, w_y * scale, 1}};
}

}  // namespace wellspring
