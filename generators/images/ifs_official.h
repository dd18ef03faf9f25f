// The search that found FractalDB's published categories, number for number: NumPy's generator, the
// published order of draws, double precision without fused operations. For generator `ifs`; host.
//
// H. Kataoka et al., "Pre-training without natural images", ACCV 2020, and param_search of the
// program published with it. Under seed 1 and rate 0.2 the first 1000 systems are those of
// FractalDB-1k, to the last digit of its files (of which eight have been compared).
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

/// A system as the published files have it: a line a map.
struct OfficialSystem {
  struct Line {
    double a, b, c, d, e, f;
    double chance;  ///< |ad - bc| over the sum of all maps'
  };
  int maps = 0;
  Line line[kMaxMaps] = {};
  std::uint32_t refused = 0;  ///< candidates since the system before it

  /// Its coefficients in f32, as samples are drawn.
  System rounded() const;
};

/// What a candidate draws first: 2 to 7 maps.
OfficialSystem draw_official(NumpyRandom& random);
/// The published filling rate of a candidate, from the kSurveyPoints numbers that it draws then; 0
/// where a point is farther out than 1e300. The published program goes on until points are not
/// numbers, leaves out the last 100 before, and finds a picture with hardly a pixel hit.
double official_fill(const OfficialSystem& system, std::span<const double> points);

/// The first `count` systems whose filling rate is `rate` or more, of one search from `seed` on.
/// `known`: how many candidates were refused before each of the first ones, which are then not
/// judged again. By `threads` threads; `progress` is told how many systems are found.
std::vector<OfficialSystem> search_official(std::uint32_t seed, double rate, std::int64_t count,
                                            std::span<const std::uint16_t> known, int threads,
                                            Progress* progress = nullptr);
/// What search_official needs not judge again: of the published 1000; empty under another seed or
/// rate.
std::span<const std::uint16_t> known_refusals(std::uint32_t seed, double rate);

}  // namespace wellspring::ifs
