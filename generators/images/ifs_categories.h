// Categories of generator `ifs`: random systems of affine maps that fill enough of a picture, and
// the window of each of their weight variations. The host searches for them in double precision by
// the published rule; the device reads plain tables. Host only, except for the tables' rows.
//
// The rule of H. Kataoka et al., "Pre-training without natural images", ACCV 2020, section 3, and
// its program: 2 to 7 maps with coefficients uniform in (-1, 1), chosen with probabilities
// proportional to |ad - bc|. 100,000 points, starting at the origin, are drawn with each axis
// stretched to a picture of 512 pixels with a margin of 6. The system is accepted if at least a
// fifth of the pixels is hit.
#pragma once

#include "generators/images/ifs_system.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace wellspring {
class Progress;
}

namespace wellspring::ifs {

/// Source of the systems.
enum class Search : std::uint8_t {
  own,       ///< independent search per category, from Philox
  official,  ///< the published sequential search: ifs_official.h
};

/// Everything that determines a category table; the key of its cache.
struct CategorySpec {
  std::int64_t seed = 1;     ///< seed of the categories, independent of the samples' seed
  double rate = 0.2;         ///< minimum fraction of the picture's pixels that points hit
  float weight_step = 0.4f;  ///< w of the weight variations
  double least_fill = 0.02;  ///< below this fraction of pixels, a variation is near-empty
  Search search = Search::own;
};
/// Incremented whenever a table's bytes change.
inline constexpr std::uint32_t kCategoryVersion = 1;

/// Number of points of a survey, and the side and margin of its picture.
inline constexpr int kSurveyPoints = 100000, kSurveySide = 512, kSurveyMargin = 6;

struct Category {
  System system;
  std::uint32_t attempt;  ///< number of rejected candidates of this category
  /// Variations that neither diverge nor are near-empty, including number 0.
  std::uint8_t usable, variation[kVariations];
  std::uint8_t unused[2];  ///< 0: tables are hashed and stored as bytes
};

/// Bounding box of a variation's points, and one point after many steps.
struct Window {
  float x0, x1, y0, y1;
  float point_x, point_y;
};

static_assert(sizeof(Category) == 232);

/// Variation of mode svd: one map multiplied by a factor.
struct Jitter {
  std::int32_t map;
  float factor;
};

/// Everything that samples read: the categories, and kVariations windows per category.
struct CategoryTable {
  std::vector<Category> categories;
  std::vector<Window> windows;
  std::vector<Jitter> jitters;  ///< kVariations per category in mode svd, otherwise empty
};
/// Map i gets the probability |det_i| / sum, rounded to a multiple of 2^-16.
void set_selectors(System& system);
/// The same for given probabilities, one per map, which need not be normalised.
void set_selectors(System& system, std::span<const double> weight);

/// Statistics of the picture of a system's points.
struct Survey {
  bool diverged = false;  ///< true: the rest describes points up to 100 before it diverged
  double x0 = 0, x1 = 0, y0 = 0, y1 = 0;
  double fill = 0;  ///< fraction of the picture's pixels that points hit
  double last_x = 0, last_y = 0;
};

/// Iterates systems and keeps its buffers between calls. Use one per thread.
class Surveyor {
 public:
  Surveyor();
  /// Chooses the map of each step from rng.block(Purpose::texture, first_block ...), half a word
  /// per step. Eight blocks are interleaved: step i uses half i / 8 % 8 of block i / 64 * 8 + i %
  /// 8.
  void choose_maps(const System& system, const SampleRng& rng, std::uint32_t first_block);
  /// Surveys the first kSurveyPoints points, starting at the origin.
  Survey survey(const System& system);
  /// Surveys all variations of a system with one sequence of maps, as published. Several times
  /// faster than separate surveys.
  std::array<Survey, kVariations> survey_variations(const System& system, float weight_step);

 private:
  std::vector<std::uint8_t> maps_;
  std::vector<double> x_, y_;
  std::vector<std::int32_t> pixel_;
  std::vector<std::uint64_t> hit_;  ///< one bit per pixel, per variation
};

/// Random numbers of category k.
SampleRng category_rng(const CategorySpec& spec, std::int64_t k);
/// Candidate number `attempt` of category k.
System candidate_system(const SampleRng& rng, std::uint32_t attempt);
/// Maximum number of candidates per category; after that, the search gives up. At a filling rate of
/// 1/5, one candidate in 43 is accepted; at 1/4, about one in a hundred.
inline constexpr std::uint32_t kMostAttempts = 50000;
/// Own search: returns the first attempt whose filling rate is at least spec.rate. Throws a config
/// error if the first `most` attempts contain none.
std::uint32_t find_attempt(const CategorySpec& spec, std::int64_t k, Surveyor& surveyor,
                           std::uint32_t most = kMostAttempts);
/// Makes category k of our own search from its attempt, with its kVariations windows.
Category make_category(const CategorySpec& spec, std::int64_t k, std::uint32_t attempt,
                       Surveyor& surveyor, std::span<Window> windows);

/// Precomputed attempts for categories 0, 1, ... with the default seed and rate; empty for any
/// other values.
std::span<const std::uint16_t> known_attempts(const CategorySpec& spec);

/// The first `count` categories, on `threads` threads; category k does not depend on `count`.
/// `progress` may be null. The official search takes a 32-bit seed. Throws a config error if no
/// candidate fills enough.
CategoryTable make_categories(const CategorySpec& spec, std::int64_t count, int threads,
                              Progress* progress = nullptr);

/// The categories of given systems. Throws a data error, with the name of the system, if its points
/// diverge or have no area.
CategoryTable make_listed_categories(const CategorySpec& spec, std::span<const System> systems,
                                     std::span<const std::string> names, int threads,
                                     Progress* progress = nullptr);

}  // namespace wellspring::ifs
