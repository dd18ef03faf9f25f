// Categories of generator `ifs3d`: random 3D systems whose points spread along every axis, and the
// frame of each of their weight variations. Computed class by class on the host in double
// precision; the device reads the tables. Host only, except for the tables' rows.
//
// The published rule (ifs3d_system.h): 2 to 7 maps with coefficients uniform in (-1, 1), chosen
// with probabilities proportional to their determinants. 10,000 points, starting at the origin, are
// scaled by one factor for all axes to [-1, 1]. The system is accepted if the variance along each
// axis is large enough.
#pragma once

#include "generators/images/ifs3d_system.h"

#include <cstdint>
#include <vector>

namespace wellspring {
class Progress;
}

namespace wellspring::ifs3d {

/// Everything that determines a category table.
struct CategorySpec {
  std::int64_t seed = 1;
  double variance = 0.05;  ///< minimum variance along each axis, for a range of 2
};
/// Incremented whenever a table's bytes change.
inline constexpr std::uint32_t kCategoryVersion = 1;
inline constexpr int kSurveyPoints = 10000;

struct Category {
  System system;
  std::uint32_t attempt;  ///< number of rejected candidates of this category
  /// Variations that neither diverge nor collapse, including number 0.
  std::uint8_t usable, variation[kVariations];
  std::uint8_t unused[2];  ///< 0: tables are hashed and stored as bytes
};
static_assert(sizeof(Category) % 4 == 0 && sizeof(Category) == 4 * (1 + 84 + 7 + 1) + 148);

struct CategoryTable {
  std::vector<Category> categories;
  std::vector<Frame> frames;  ///< kVariations per category
};

/// Statistics of a system's points.
struct Survey {
  bool diverged = false;
  double low = 0, high = 0;                 ///< over all axes and points
  double centre[3] = {}, variance[3] = {};  ///< in units of half the model's range
  double last[3] = {};
  /// True if the variance along every axis exceeds `least`.
  bool spreads(double least) const;
};

/// Candidate number `attempt` of category k.
System candidate_system(const SampleRng& rng, std::uint32_t attempt);
/// Surveys the first kSurveyPoints points, starting at the origin, with the attempt's sequence of
/// maps.
Survey survey(const System& system, const SampleRng& rng, std::uint32_t attempt);

/// The first `count` categories, on `threads` threads; category k does not depend on `count`.
/// Throws a config error if no candidate of a category spreads enough.
CategoryTable make_categories(const CategorySpec& spec, std::int64_t count, int threads,
                              Progress* progress = nullptr);

}  // namespace wellspring::ifs3d
