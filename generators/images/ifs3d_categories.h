// Categories of generator `ifs3d`: random systems of space whose points spread along every axis,
// and for each of their weight variations the frame in which it is seen. Found on the host in
// double precision, class by class; used on the device as tables. Host, but for the tables' rows.
//
// The published rule (ifs3d_system.h): 2 to 7 maps with coefficients uniform in (-1, 1), taken in
// proportion to their determinants; 10,000 points from the origin on, stretched by one factor to
// [-1, 1] over all axes together; a category where their variance along each axis is large enough.
#pragma once

#include "generators/images/ifs3d_system.h"

#include <cstdint>
#include <vector>

namespace wellspring {
class Progress;
}

namespace wellspring::ifs3d {

/// What decides about a table of categories.
struct CategorySpec {
  std::int64_t seed = 1;
  double variance = 0.05;  ///< that the points must exceed along each axis, of a range of 2
};
/// Changes with whatever changes a table's bytes.
inline constexpr std::uint32_t kCategoryVersion = 1;
inline constexpr int kSurveyPoints = 10000;

struct Category {
  System system;
  std::uint32_t attempt;  ///< how many candidates of this category were refused before it
  /// The variations that neither diverge nor collapse, number 0 among them.
  std::uint8_t usable, variation[kVariations];
  std::uint8_t unused[2];  ///< 0: tables are hashed and stored as bytes
};
static_assert(sizeof(Category) % 4 == 0 && sizeof(Category) == 4 * (1 + 84 + 7 + 1) + 148);

struct CategoryTable {
  std::vector<Category> categories;
  std::vector<Frame> frames;  ///< kVariations of each
};

/// A system's points seen as a model.
struct Survey {
  bool diverged = false;
  double low = 0, high = 0;                 ///< over all axes and points
  double centre[3] = {}, variance[3] = {};  ///< of the model: in units of half its range
  double last[3] = {};
  /// Whether the variance along every axis exceeds `least`.
  bool spreads(double least) const;
};

/// The system that category k tries as number `attempt`.
System candidate_system(const SampleRng& rng, std::uint32_t attempt);
/// Of the first kSurveyPoints points from the origin on, whose maps belong to the attempt.
Survey survey(const System& system, const SampleRng& rng, std::uint32_t attempt);

/// The first `count` categories, by as many threads. Category k does not depend on `count`. Error
/// (config) when none of a category's candidates spreads enough.
CategoryTable make_categories(const CategorySpec& spec, std::int64_t count, int threads,
                              Progress* progress = nullptr);

}  // namespace wellspring::ifs3d
