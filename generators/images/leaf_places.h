// Positions and sizes of the leaves of generator `dead_leaves`: an endless sequence, front to back.
// Each leaf is a function of the sample and the leaf's number. Host and device.
//
// The stationary law places leaves on the whole plane, with radii of density r^-3 on [r_min,
// r_max]. Only leaves that meet the viewed region can be visible, and these have a distribution of
// their own. The centre of a leaf that meets a w x h box is in the box widened by the leaf's
// radius, so the radius has the density r^-3 (w + 2r)(h + 2r). It is drawn as a mixture of three
// powers of r; the centre is then uniform in the widened box. (A leaf counts as meeting a box if
// the upright square around its circle does, so some leaves miss the box.)
//
// So that neither augmentation nor tiling moves a leaf, the sequence of a larger region contains
// that of a smaller one: each leaf of the larger region that meets the smaller region is replaced
// with the next leaf of the smaller region's sequence, which has the same law. The regions are:
//
//   level 0   the image
//   level 1   the image and a margin of a quarter of a side: enough for shifts up to 0.25, zooms
//             of at least 2/3, and rotations
//   level 2   the plane, with a period of three sides or, if larger, one and a half sides plus the
//             largest diameter: every part one and a half sides wide has the law of the plane
#pragma once

#include "generators/images/leaf.h"
#include "kernels/augment/augmentation.h"
#include "kernels/batch/sample.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring {

/// Law of one sample's leaves; plain data. Lengths are in source pixels.
struct LeafPlaces {
  static constexpr int kRegions = 2;       ///< bounded regions
  static constexpr int kPlane = kRegions;  ///< level of the plane
  static constexpr int kLevelShift = 29;   ///< lowest bit of the level in a leaf's number

  SampleRng rng;
  LeafKind kind;
  bool on_plane;        ///< false: centres are confined to the image
  float width, height;  ///< image size
  float r_min;
  float taper;             ///< 1 - (r_min / r_max)^2
  float linear;            ///< 1 - r_min / r_max
  float log_ratio;         ///< ln(r_max / r_min)
  float margin[kRegions];  ///< width of the margin around the image
  float plain[kRegions];   ///< fraction of the region's leaves with density r^-3
  float beside[kRegions];  ///< fraction of the region's leaves with density r^-3 or r^-2
  float period_x, period_y;
  float inverse_x, inverse_y;

  /// `r_min`, `r_max` as fractions of the shorter side.
  WS_INLINE static LeafPlaces of(const SampleRng& rng, SampleShape shape, LeafKind kind,
                                 bool on_plane, float r_min, float r_max) {
    LeafPlaces law;
    law.rng = rng;
    law.kind = kind;
    law.on_plane = on_plane;
    law.width = static_cast<float>(shape.width);
    law.height = static_cast<float>(shape.height);
    const float side = law.width < law.height ? law.width : law.height;
    const float ratio = r_min / r_max;
    law.r_min = r_min * side;
    law.taper = 1 - ratio * ratio;
    law.linear = 1 - ratio;
    law.log_ratio = math::log(r_max / r_min);
    WS_UNROLL(2)
    for (int level = 0; level < kRegions; ++level) {
      law.margin[level] = level == 0 ? 0.f : 0.25f * side;
      law.set_shares(level);
    }
    // One pixel more than needed, so that rounding never matters.
    const float reach = 1.5f * side + 2 * r_max * side + 1;
    const float period = math::max(3 * side, reach);
    law.period_x = law.width - side + period;
    law.period_y = law.height - side + period;
    law.inverse_x = 1 / law.period_x;
    law.inverse_y = 1 / law.period_y;
    return law;
  }

  /// Smallest level whose region contains the box.
  WS_INLINE int level_of(const SourceBox& box) const {
    if (!on_plane) return 0;
    int level = kPlane;
    WS_UNROLL(2)
    for (int i = kRegions - 1; i >= 0; --i) {
      const bool holds = box.x0 >= -margin[i] && box.x1 <= width + margin[i] &&
                         box.y0 >= -margin[i] && box.y1 <= height + margin[i];
      level = holds ? i : level;
    }
    return level;
  }

  WS_INLINE static constexpr std::uint32_t level_in(std::uint32_t number) {
    return number >> kLevelShift;
  }
  WS_INLINE static constexpr std::uint32_t index_in(std::uint32_t number) {
    return number & ((std::uint32_t{1} << kLevelShift) - 1);
  }

  /// Leaf `n` of a level's sequence, except its outline.
  WS_INLINE Leaf place(int level, std::uint32_t n) const {
    Leaf leaf;
    leaf.number = static_cast<std::uint32_t>(level) << kLevelShift | n;
    const Philox4 words = rng.block(Purpose::scene, 2 * leaf.number);
    const float x = unit_float(words.word[0]), y = unit_float(words.word[1]);
    const float u = unit_float(words.word[2]);
    leaf.kind = kind_from(words.word[3]);
    if (level == kPlane) {
      leaf.radius = steep(u);
      leaf.x = math::fma(period_x, x, 0.5f * (width - period_x));
      leaf.y = math::fma(period_y, y, 0.5f * (height - period_y));
      return leaf;
    }
    const float first = level == 0 ? plain[0] : plain[1];
    const float second = level == 0 ? beside[0] : beside[1];
    if (u < first) {
      leaf.radius = steep(u / first);
    } else if (u < second) {  // r^-2
      leaf.radius = r_min / (1 - linear * ((u - first) / (second - first)));
    } else {  // r^-1
      leaf.radius = r_min * math::exp(log_ratio * ((u - second) / (1 - second)));
    }
    const float out = on_plane ? (level == 0 ? margin[0] : margin[1]) + leaf.radius : 0.f;
    leaf.x = math::fma(width + 2 * out, x, -out);
    leaf.y = math::fma(height + 2 * out, y, -out);
    return leaf;
  }

  /// Shape of the leaf with this number.
  WS_INLINE LeafKind kind_of(std::uint32_t number) const {
    if (kind != LeafKind::mixed) return kind;
    return kind_from(rng.block(Purpose::scene, 2 * number).word[3]);
  }

  /// Draws the outline of a placed leaf.
  WS_INLINE void cut(Leaf& leaf) const {
    if (leaf.kind != LeafKind::circle) leaf.cut(rng.block(Purpose::scene, 2 * leaf.number + 1));
  }

  /// True if the upright square around the leaf meets the region of `level`.
  WS_INLINE bool meets(int level, const Leaf& leaf) const {
    const float out = margin[level] + leaf.radius;
    return leaf.x >= -out && leaf.x < width + out && leaf.y >= -out && leaf.y < height + out;
  }

 private:
  WS_INLINE LeafKind kind_from(std::uint32_t word) const {
    return kind == LeafKind::mixed ? static_cast<LeafKind>(below(word, kLeafShapes)) : kind;
  }

  /// Radius at quantile u of the density r^-3, whose CDF is (1 - (r_min / r)^2) / taper.
  WS_INLINE float steep(float u) const { return r_min / math::sqrt(1 - taper * u); }

  /// Sets the fractions from the integrals of the three terms of r^-3 (w + 2r)(h + 2r) from r_min
  /// to r_max.
  WS_INLINE void set_shares(int level) {
    const float w = width + 2 * margin[level], h = height + 2 * margin[level];
    const float cubic = 0.5f * w * h * taper / (r_min * r_min);
    const float square = 2 * (w + h) * linear / r_min;
    const float inverse = 4 * log_ratio;
    const bool spread = on_plane && cubic > 0;  // false: one radius, or centres within the image
    const float all = cubic + square + inverse;
    plain[level] = spread ? cubic / all : 1.f;
    beside[level] = spread ? (cubic + square) / all : 1.f;
  }
};

}  // namespace wellspring
