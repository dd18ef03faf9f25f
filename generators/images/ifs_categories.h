// Categories of generator `ifs`: random systems of affine maps that fill enough of a picture, and
// for each of its weight variations the window in which it is seen. Found on the host, by the
// published rule and in double precision; used on the device as plain tables. Host, but for the
// tables' rows.
//
// The rule of H. Kataoka et al., "Pre-training without natural images", ACCV 2020, section 3, and
// of the program published with it: 2 to 7 maps with coefficients uniform in (-1, 1), taken in
// proportion to |ad - bc|; 100,000 points from the origin on; each axis stretched to a picture of
// 512 pixels with a margin of 6; a category where at least a fifth of the pixels is hit.
#pragma once

#include "generators/images/ifs_system.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace wellspring {
class Progress;
}

namespace wellspring::ifs {

/// Who finds the systems.
enum class Search : std::uint8_t {
  own,       ///< each category by itself, from Philox
  official,  ///< the published program, one after another: ifs_official.h
};

/// What decides about a table of categories, and nothing else does: its cache is keyed by these.
struct CategorySpec {
  std::int64_t seed = 1;     ///< of the categories; class k is the same under every seed of samples
  double rate = 0.2;         ///< share of the picture's pixels that a category must hit
  float weight_step = 0.4f;  ///< w of the weight variations
  double least_fill = 0.02;  ///< share of the pixels below which a variation counts as near-empty
  Search search = Search::own;
};
/// Changes with whatever changes a table's bytes.
inline constexpr std::uint32_t kCategoryVersion = 1;

/// Points of a survey, and the side and margin of its picture.
inline constexpr int kSurveyPoints = 100000, kSurveySide = 512, kSurveyMargin = 6;

struct Category {
  System system;
  std::uint32_t attempt;  ///< how many candidates of this category were refused before it
  /// The variations that neither diverge nor leave the picture near-empty, number 0 among them.
  std::uint8_t usable, variation[kVariations];
  std::uint8_t unused[2];  ///< 0: tables are hashed and stored as bytes
};

/// The part of the plane that a variation's points lie in, and one of them after many steps.
struct Window {
  float x0, x1, y0, y1;
  float point_x, point_y;
};

static_assert(sizeof(Category) == 232);

/// What a variation of mode svd does: all of one map is multiplied.
struct Jitter {
  std::int32_t map;
  float factor;
};

/// Everything that samples read: categories, and kVariations windows of each.
struct CategoryTable {
  std::vector<Category> categories;
  std::vector<Window> windows;
  std::vector<Jitter> jitters;  ///< kVariations of each category in mode svd, else none
};
/// Map i is taken with chance |det_i| / sum, rounded to a multiple of 2^-16.
void set_selectors(System& system);

/// A system's points seen as a picture.
struct Survey {
  bool diverged = false;  ///< the rest is then about the points until 100 before that happened
  double x0 = 0, x1 = 0, y0 = 0, y1 = 0;
  double fill = 0;  ///< share of the picture's pixels that are hit
  double last_x = 0, last_y = 0;
};

/// Iterates systems; keeps its buffers between calls. One a thread.
class Surveyor {
 public:
  Surveyor();
  /// Which map each step of what follows takes: by rng.block(Purpose::texture, first_block ...),
  /// half a word a step, eight blocks side by side: step i takes half i / 8 % 8 of block
  /// i / 64 * 8 + i % 8.
  void choose_maps(const System& system, const SampleRng& rng, std::uint32_t first_block);
  /// The first kSurveyPoints points from the origin on.
  Survey survey(const System& system);
  /// The same of all variations of a system, by one sequence of maps as published, several times
  /// as fast as one by one.
  std::array<Survey, kVariations> survey_variations(const System& system, float weight_step);

 private:
  std::vector<std::uint8_t> maps_;
  std::vector<double> x_, y_;
  std::vector<std::int32_t> pixel_;
  std::vector<std::uint64_t> hit_;  ///< a bit a pixel; of each variation
};

/// The random numbers of category k.
SampleRng category_rng(const CategorySpec& spec, std::int64_t k);
/// The system that category k tries as number `attempt`.
System candidate_system(const SampleRng& rng, std::uint32_t attempt);
/// Candidates of one category before the search gives up: at a filling rate of a fifth one in 43 is
/// taken, at a quarter one in some hundred.
inline constexpr std::uint32_t kMostAttempts = 50000;
/// Of our own search: the first attempt whose filling rate is spec.rate or more. Error (config)
/// when none of the first `most` is.
std::uint32_t find_attempt(const CategorySpec& spec, std::int64_t k, Surveyor& surveyor,
                           std::uint32_t most = kMostAttempts);
/// Category k of our own search from its attempt, with its windows (kVariations of them).
Category make_category(const CategorySpec& spec, std::int64_t k, std::uint32_t attempt,
                       Surveyor& surveyor, std::span<Window> windows);

/// Attempts found before, so that nobody waits for our own search: of categories 0, 1, ... under
/// the default seed and rate; empty for any others.
std::span<const std::uint8_t> known_attempts(const CategorySpec& spec);

/// The first `count` categories, by as many threads. Category k does not depend on `count`. Error
/// (config) where nothing fills so much. The official search has a seed of 32 bits.
/// `progress` is told how many are done; nobody where it is null.
CategoryTable make_categories(const CategorySpec& spec, std::int64_t count, int threads,
                              Progress* progress = nullptr);

}  // namespace wellspring::ifs
