// Exact reproduction of the search that found FractalDB's published categories: NumPy's generator,
// the published order of draws, and double precision without fused operations. For generator `ifs`;
// host only.
//
// H. Kataoka et al., "Pre-training without natural images", ACCV 2020, and param_search of its
// program. With seed 1 and rate 0.2, the systems equal those in FractalDB-1k to the last digit of
// its files (eight of the 1000 were compared).
#pragma once

#include "generators/images/ifs_system.h"
#include "generators/numpy_random.h"

#include <cstdint>
#include <span>
#include <vector>

namespace wellspring {
class Progress;
}

namespace wellspring::ifs {

/// A system as in the published files: one line per map.
struct OfficialSystem {
  struct Line {
    double a, b, c, d, e, f;
    double chance;  ///< |ad - bc| divided by the sum over all maps
  };
  int maps = 0;
  Line line[kMaxMaps] = {};
  std::uint32_t refused = 0;  ///< number of candidates rejected since the previous system

  /// The coefficients in f32, as samples use them.
  System rounded() const;
};

/// Draws a candidate: 2 to 7 maps.
OfficialSystem draw_official(NumpyRandom& random);
/// The published filling rate of a candidate. `points`: the next kSurveyPoints random numbers.
/// Returns 0 if a point is farther out than 1e300. (The published program continues until points
/// are NaN, drops the last 100 points before that, and then hits almost no pixel.)
double official_fill(const OfficialSystem& system, std::span<const double> points);

/// The first `count` systems with a filling rate of at least `rate`, found by one search that
/// starts with `seed`. `known` gives the number of rejected candidates before each of the first
/// systems, so that these candidates need not be evaluated again. `progress` counts the systems
/// found.
std::vector<OfficialSystem> search_official(std::uint32_t seed, double rate, std::int64_t count,
                                            std::span<const std::uint16_t> known, int threads,
                                            Progress* progress = nullptr);
/// Precomputed `known` for the published 1000 systems; empty for any other seed or rate.
std::span<const std::uint16_t> known_refusals(std::uint32_t seed, double rate);

}  // namespace wellspring::ifs
