// Contractive systems for the modes `svd` and `one_parameter` of generator `ifs`: singular values
// are drawn one after another so that their weighted sum has a given value. Computed on the host in
// double precision, class by class; tables on the device. Host.
//
// C. Anderson, R. Farrell, "Improving fractal pre-training", WACV 2022, section 3; one system whose
// perturbations are the classes: R. Nakamura et al., "Scaling backwards: minimal synthetic
// pre-training?", ECCV 2024 (1p-frac).
#pragma once

#include "generators/images/ifs_categories.h"
#include "generators/images/ifs_system.h"

#include <cstdint>
#include <vector>

namespace wellspring::ifs {

/// Incremented when a table's bytes change.
inline constexpr std::uint32_t kSvdVersion = 1;

/// A system and its singular values s1 >= s2 of each map's matrix.
struct SvdSystem {
  System system{};
  double alpha = 0;
  double s1[kMaxMaps] = {}, s2[kMaxMaps] = {};
};

/// `maps` maps with 0 <= s2 <= s1 <= 1 and sum (s1 + 2 s2) = alpha uniform in [low, high), random
/// rotations and reflections on both sides, shifts uniform in (-1, 1)^2; each is taken in
/// proportion to its determinant. Takes 1 + 7 maps words: alpha; two per map for its singular
/// values; then two angles, four signs (bits 31 to 28 of one word) and the shift of each map.
SvdSystem draw_svd_system(RngStream& draw, int maps, double low, double high);

/// Bounding box of 2^15 points, from the fixed point of map 0 on, after 64 steps; sixteen points at
/// once.
struct Box {
  double x0, x1, y0, y1;
  double last_x, last_y;  ///< one of the points
  /// Finite, and neither a point nor a line along an axis.
  bool has_area() const;
};
Box box_of(const System& system, const SampleRng& rng);

/// Everything that determines the table of mode svd.
struct SvdSpec {
  std::int64_t seed = 1;
  int maps_low = 2, maps_high = 4;
  int jitters = kVariations - 1;
};
/// Class k from the random numbers of category k; variation 0 is its system, each other variation
/// has one map scaled.
CategoryTable make_svd_categories(const SvdSpec& spec, std::int64_t count, int threads,
                                  Progress* progress = nullptr);

/// Everything that determines the table of mode one_parameter.
struct OneParameterSpec {
  std::int64_t seed = 1;
  double sigma = 4.0;         ///< alpha of the system is uniform within 0.1 of it
  double perturbation = 0.1;  ///< coefficients are multiplied by U(1 - D, 1 + D)
};
/// Minimum share of a picture's pixels that the patches of a class light.
inline constexpr double kLeastLit = 0.05;

/// The system that all classes perturb.
System one_parameter_system(const OneParameterSpec& spec);
CategoryTable make_perturbed_categories(const OneParameterSpec& spec, std::int64_t count,
                                        int threads, Progress* progress = nullptr);

/// Share of 512x512 pixels that 100,000 points with random patches light, in a picture of `window`
/// with a margin of six pixels; for mode one_parameter, with the same sequence of maps for all
/// classes.
double lit_share(const System& system, const Window& window, std::int64_t seed);

}  // namespace wellspring::ifs
