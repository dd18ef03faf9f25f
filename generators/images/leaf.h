// A leaf of generator `dead_leaves`: its shape, its outline, and the points that it covers. Host
// and device.
#pragma once

#include "kernels/random/math.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring {

enum class LeafKind : std::uint8_t {
  circle,
  square,
  oriented_square,
  rectangle,
  triangle,
  quadrilateral,
  mixed,  ///< each leaf has one of the other shapes
  any,    ///< only as a parameter: each sample uses one of the above
};
inline constexpr int kLeafShapes = 6;  ///< shapes of a single leaf

/// A leaf: its circumscribed circle, cut by four half-planes n . (p - centre) <= d unless the leaf
/// is a circle. A triangle's fourth half-plane cuts nothing off. Lengths are in source pixels.
struct Leaf {
  float x, y, radius;
  std::uint32_t number;  ///< key of its random words
  LeafKind kind;
  float normal_x[4], normal_y[4], distance[4];

  struct InCircle {
    WS_INLINE bool operator()(const Leaf& leaf, float dx, float dy) const {
      return math::fma(dx, dx, dy * dy) <= leaf.radius * leaf.radius;
    }
  };
  struct InPolygon {
    WS_INLINE bool operator()(const Leaf& leaf, float dx, float dy) const {
      // Uses the maximum of the four and no branches, so that a loop over pixels vectorises.
      float worst = beyond(leaf, 0, dx, dy);
      WS_UNROLL(4)
      for (int s = 1; s < 4; ++s) worst = math::max(worst, beyond(leaf, s, dx, dy));
      return worst <= 0;
    }
  };

  /// True if the leaf covers the point at (dx, dy) from its centre.
  WS_INLINE bool covers(float dx, float dy) const {
    return kind == LeafKind::circle ? InCircle{}(*this, dx, dy) : InPolygon{}(*this, dx, dy);
  }

  /// Draws the outline from `words`; radius and kind must be set.
  WS_INLINE void cut(const Philox4& words) {
    if (kind == LeafKind::triangle || kind == LeafKind::quadrilateral) {
      cut_polygon(words);
    } else if (kind != LeafKind::circle) {
      cut_rectangle(words);
    }
  }

  /// Mean area of a kind with circumradius 1. Rectangles have 2 sin(2 a), where `a` is uniform in a
  /// quarter turn. Polygons with uniform corners have, on average, 3 / (2 pi) with three corners
  /// and 3 / pi with four.
  static constexpr double mean_area(LeafKind kind) {
    constexpr double kAreas[kLeafShapes] = {
        3.141592653589793, 2, 2, 1.2732395447351628, 0.4774648292756860, 0.9549296585513720};
    if (kind < LeafKind::mixed) return kAreas[static_cast<int>(kind)];
    double sum = 0;
    for (const double area : kAreas) sum += area / kLeafShapes;
    return sum;
  }

 private:
  /// Signed distance of a point beyond edge `s`.
  WS_INLINE static float beyond(const Leaf& leaf, int s, float dx, float dy) {
    return math::fma(leaf.normal_x[s], dx, math::fma(leaf.normal_y[s], dy, -leaf.distance[s]));
  }

  /// A square's half-diagonal is r. A rectangle's corner is at an angle that is uniform in a
  /// quarter turn.
  WS_INLINE void cut_rectangle(const Philox4& words) {
    const math::SinCos drawn = math::sincos_turns(0.25f * unit_float(words.word[0]));
    const bool turned = kind == LeafKind::oriented_square;
    const bool square = turned || kind == LeafKind::square;
    const float cosine = turned ? drawn.cosine : 1.f, sine = turned ? drawn.sine : 0.f;
    const float half_width = radius * (square ? 0.70710678f : drawn.cosine);
    const float half_height = radius * (square ? 0.70710678f : drawn.sine);
    const float across[4] = {cosine, -sine, -cosine, sine};
    const float down[4] = {sine, cosine, -sine, -cosine};
    WS_UNROLL(4)
    for (int s = 0; s < 4; ++s) {
      normal_x[s] = across[s];
      normal_y[s] = down[s];
      distance[s] = s % 2 == 0 ? half_width : half_height;
    }
  }

  /// The corners are at independent uniform angles on the circle. The edge between angles a < b has
  /// its normal at angle (a + b) / 2, at the distance r cos((b - a) / 2) from the centre. The
  /// distance is negative if the centre is outside.
  WS_INLINE void cut_polygon(const Philox4& words) {
    float angle[5];
    WS_UNROLL(4)
    for (int s = 0; s < 4; ++s) angle[s] = unit_float(words.word[s]);
    if (kind == LeafKind::triangle) angle[3] = angle[2];  // an edge of length 0 ...
    order(angle[0], angle[1]);
    order(angle[2], angle[3]);
    order(angle[0], angle[2]);
    order(angle[1], angle[3]);
    order(angle[1], angle[2]);
    angle[4] = angle[0] + 1;
    WS_UNROLL(4)
    for (int s = 0; s < 4; ++s) {  // ... whose half-plane, the circle's tangent, cuts nothing off
      const float middle = 0.5f * (angle[s] + angle[s + 1]);
      const math::SinCos normal = math::sincos_turns(middle);
      normal_x[s] = normal.cosine;
      normal_y[s] = normal.sine;
      distance[s] = radius * math::cos_turns(0.5f * (angle[s + 1] - angle[s]));
    }
  }
  WS_INLINE static void order(float& a, float& b) {
    const float low = a < b ? a : b, high = a < b ? b : a;
    a = low;
    b = high;
  }
};

}  // namespace wellspring
