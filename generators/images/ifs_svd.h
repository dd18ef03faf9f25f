// Systems that are contractions by construction, for the modes `svd` and `one_parameter` of
// generator `ifs`: singular values are drawn one after another such that their weighted sum is
// given. Made on the host in double precision, class by class; used on the device as tables. Host.
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

/// Changes with whatever changes a table's bytes.
inline constexpr std::uint32_t kSvdVersion = 1;

/// A system and what it was made of: singular values s1 >= s2 of each map's matrix.
struct SvdSystem {
  System system{};
  double alpha = 0;
  double s1[kMaxMaps] = {}, s2[kMaxMaps] = {};
};

/// `maps` maps with 0 <= s2 <= s1 <= 1 and sum (s1 + 2 s2) = alpha uniform in [low, high), random
/// turns and mirrors on both sides, shifts uniform in (-1, 1)^2; each is taken in proportion to its
/// determinant. Takes 1 + 7 maps words: alpha; two a map for its singular values; then two angles,
/// four signs (bits 31 to 28 of one word) and the shift of each map.
SvdSystem draw_svd_system(RngStream& draw, int maps, double low, double high);

/// The part of the plane that 2^15 points lie in, begun at the fixed point of map 0 and seen after
/// 64 steps; sixteen points side by side.
struct Box {
  double x0, x1, y0, y1;
  double last_x, last_y;  ///< one of the points
  /// Finite, and neither a point nor a line along an axis.
  bool has_area() const;
};
Box box_of(const System& system, const SampleRng& rng);

/// What decides about the table of mode svd.
struct SvdSpec {
  std::int64_t seed = 1;
  int maps_low = 2, maps_high = 4;
  int jitters = kVariations - 1;
};
/// Class k from the random numbers of category k; variation 0 is its system, each other one has one
/// map scaled.
CategoryTable make_svd_categories(const SvdSpec& spec, std::int64_t count, int threads,
                                  Progress* progress = nullptr);

/// What decides about the table of mode one_parameter.
struct OneParameterSpec {
  std::int64_t seed = 1;
  double sigma = 4.0;         ///< alpha of the system is uniform within 0.1 of it
  double perturbation = 0.1;  ///< coefficients are multiplied by U(1 - D, 1 + D)
};
/// Share of a picture's pixels that the patches of a class must light.
inline constexpr double kLeastLit = 0.05;

/// The system that all classes come from.
System one_parameter_system(const OneParameterSpec& spec);
CategoryTable make_perturbed_categories(const OneParameterSpec& spec, std::int64_t count,
                                        int threads, Progress* progress = nullptr);

/// Share of 512x512 pixels that 100,000 points light with their random patches, in a picture of
/// `window` with a margin of six pixels: mode one_parameter's own, whose map sequence is the same
/// for all classes.
double lit_share(const System& system, const Window& window, std::int64_t seed);

}  // namespace wellspring::ifs
