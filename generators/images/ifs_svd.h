// Contractive systems for the modes `svd` and `one_parameter` of generator `ifs`: singular values
// are drawn one after another so that their weighted sum has a given value. Computed class by class
// on the host in double precision; the device reads the tables. Host only.
//
// C. Anderson, R. Farrell, "Improving fractal pre-training", WACV 2022, section 3; for classes that
// are perturbations of one system: R. Nakamura et al., "Scaling backwards: minimal synthetic
// pre-training?", ECCV 2024 (1p-frac).
#pragma once

#include "generators/images/ifs_categories.h"
#include "generators/images/ifs_system.h"

#include <cstdint>
#include <vector>

namespace wellspring::ifs {

/// Incremented whenever a table's bytes change.
inline constexpr std::uint32_t kSvdVersion = 1;

/// A system and its singular values s1 >= s2 of each map's matrix.
struct SvdSystem {
  System system{};
  double alpha = 0;
  double s1[kMaxMaps] = {}, s2[kMaxMaps] = {};
};

/// Draws `maps` maps with 0 <= s2 <= s1 <= 1 and sum (s1 + 2 s2) = alpha, where alpha is uniform in
/// [low, high). Both sides get random rotations and reflections; shifts are uniform in (-1, 1)^2; a
/// map's probability is proportional to its determinant. Uses 1 + 7 maps words: alpha; two words
/// per map for its singular values; then two angles, four signs (bits 31 to 28 of one word) and the
/// shift of each map.
SvdSystem draw_svd_system(RngStream& draw, int maps, double low, double high);

/// Bounding box of 2^15 points: sixteen walkers start at the fixed point of map 0 and skip their
/// first 64 steps.
struct Box {
  double x0, x1, y0, y1;
  double last_x, last_y;  ///< one of the points
  /// True if the box is finite and is neither a point nor a line along an axis.
  bool has_area() const;
};
Box box_of(const System& system, const SampleRng& rng);

/// Everything that determines the table of mode svd.
struct SvdSpec {
  std::int64_t seed = 1;
  int maps_low = 2, maps_high = 4;
  int jitters = kVariations - 1;
};
/// Class k uses the random numbers of category k. Variation 0 is the class's system; each other
/// variation scales one map.
CategoryTable make_svd_categories(const SvdSpec& spec, std::int64_t count, int threads,
                                  Progress* progress = nullptr);

/// Everything that determines the table of mode one_parameter.
struct OneParameterSpec {
  std::int64_t seed = 1;
  double sigma = 4.0;         ///< the system's alpha is uniform within 0.1 of this value
  double perturbation = 0.1;  ///< coefficients are multiplied by U(1 - D, 1 + D)
};
/// Minimum fraction of a picture's pixels that the patches of a class cover.
inline constexpr double kLeastLit = 0.05;

/// The system that all classes perturb.
System one_parameter_system(const OneParameterSpec& spec);
CategoryTable make_perturbed_categories(const OneParameterSpec& spec, std::int64_t count,
                                        int threads, Progress* progress = nullptr);

/// Fraction of 512x512 pixels covered by 100,000 points with random patches, in a picture of
/// `window` with a margin of six pixels. For mode one_parameter; all classes use the same sequence
/// of maps.
double lit_share(const System& system, const Window& window, std::int64_t seed);

}  // namespace wellspring::ifs
