#include "generators/images/ifs_categories.h"

#include "core/error.h"
#include "core/expect.h"
#include "generators/class_tables.h"
#include "generators/images/ifs_official.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace wellspring::ifs {

namespace {

/// Random blocks reserved for a survey: an eighth of its number of points, rounded up to a power
/// of two.
constexpr std::uint32_t kSurveyBlocks = 1u << 14;
static_assert(8 * kSurveyBlocks >= kSurveyPoints);
/// Random blocks for a candidate: the number of maps, then 42 coefficients.
constexpr std::uint32_t kCandidateBlocks = 16;
/// Number of points just before divergence that a survey leaves out, as in the published program.
constexpr int kTail = 100;

/// Number of points of a survey, and whether later points diverged.
struct Chain {
  int points;
  bool diverged;
};

Chain iterate(const System& system, const std::uint8_t* maps, double* xs, double* ys) {
  struct {
    double a, b, c, d, e, f;
  } map[kMaxMaps];
  for (int i = 0; i < kMaxMaps; ++i) {
    const Map& m = system.map[i];
    map[i] = {m.a, m.b, m.c, m.d, m.e, m.f};
  }
  double x = 0, y = 0;
  xs[0] = ys[0] = 0;
  for (int i = 1; i < kSurveyPoints; ++i) {
    const auto& m = map[maps[i - 1]];
    const double next_x = std::fma(m.a, x, std::fma(m.b, y, m.e));
    y = std::fma(m.c, x, std::fma(m.d, y, m.f));
    x = next_x;
    xs[i] = x;
    ys[i] = y;
    if (!(std::abs(x) + std::abs(y) < kFar)) return {std::max(1, i - kTail), true};
  }
  return {kSurveyPoints, false};
}

struct Range {
  double low, high;
};
Range range_of(const double* values, int count) {
  double low = values[0], high = values[0];
#pragma omp simd reduction(min : low) reduction(max : high)
  for (int i = 0; i < count; ++i) {
    low = values[i] < low ? values[i] : low;
    high = values[i] > high ? values[i] : high;
  }
  return {low, high};
}

bool has_area(const Survey& survey) {
  return survey.x1 > survey.x0 && survey.y1 > survey.y0;
}

/// Maps a survey's points to its picture, each axis separately.
struct Picture {
  double x0 = 0, sx = 0, y0 = 0, sy = 0;

  Picture() = default;
  explicit Picture(const Survey& survey)
      : x0(survey.x0),
        sx(kInner / (survey.x1 - survey.x0)),
        y0(survey.y0),
        sy(kInner / (survey.y1 - survey.y0)) {}
  std::int32_t pixel(double x, double y) const {
    const auto column = static_cast<std::int32_t>((x - x0) * sx + kSurveyMargin);
    const auto row = static_cast<std::int32_t>((y - y0) * sy + kSurveyMargin);
    return row * kSurveySide + column;
  }

 private:
  static constexpr double kInner = kSurveySide - 2 * kSurveyMargin;
};

constexpr std::size_t kPictureWords = kSurveySide * kSurveySide / 64;
void mark(std::uint64_t* hit, std::int32_t pixel) {
  const auto bit = static_cast<std::uint32_t>(pixel);
  hit[bit / 64] |= std::uint64_t{1} << (bit % 64);
}
double fill_of(const std::uint64_t* hit) {
  std::int64_t pixels = 0;
  for (std::size_t i = 0; i < kPictureWords; ++i) pixels += std::popcount(hit[i]);
  return static_cast<double>(pixels) / (kSurveySide * kSurveySide);
}

/// A variation of a system; the maps keep the original probabilities.
System varied(const System& system, int variation, float weight_step) {
  System result = system;
  for (int i = 0; i < result.maps; ++i) {
    result.map[i] = vary(system.map[i], variation, weight_step);
  }
  return result;
}

/// All variations of a system, one vector lane each, with one sequence of maps.
class Variations {
 public:
  static constexpr int kLanes = 28;  ///< whole vectors of four

  Variations(const System& system, float weight_step) {
    for (int v = 0; v < kLanes; ++v) {
      const System lane = varied(system, v < kVariations ? v : 0, weight_step);
      for (int i = 0; i < kMaxMaps; ++i) {
        const Map& m = lane.map[i];
        const double values[kCoefficients] = {m.a, m.b, m.c, m.d, m.e, m.f};
        for (int c = 0; c < kCoefficients; ++c) map_[i].value[c][v] = values[c];
      }
    }
  }
  /// One step of every lane; extends the lane's range.
  void step(int map) {
    move(map);
#pragma omp simd
    for (int v = 0; v < kLanes; ++v) {
      // NaN changes nothing: the infinity that preceded it has already extended the range.
      x0_[v] = x_[v] < x0_[v] ? x_[v] : x0_[v];
      x1_[v] = x_[v] > x1_[v] ? x_[v] : x1_[v];
      y0_[v] = y_[v] < y0_[v] ? y_[v] : y0_[v];
      y1_[v] = y_[v] > y1_[v] ? y_[v] : y1_[v];
    }
  }
  Survey survey(int v) const {
    Survey survey = {false, x0_[v], x1_[v], y0_[v], y1_[v], 0, x_[v], y_[v]};
    survey.diverged = !(x0_[v] > -kFar && x1_[v] < kFar && y0_[v] > -kFar && y1_[v] < kFar);
    return survey;
  }
  /// Moves a lane back to the origin; a lane without a picture stays there.
  void restart(int v, const Picture& picture) {
    x_[v] = y_[v] = 0;
    left_[v] = picture.x0;
    scale_x_[v] = picture.sx;
    bottom_[v] = picture.y0;
    scale_y_[v] = picture.sy;
    if (picture.sx != 0) return;
    for (auto& map : map_) {
      for (auto& value : map.value) value[v] = 0;
    }
  }
  void move(int map) {
    const auto& m = map_[map].value;
#pragma omp simd
    for (int v = 0; v < kLanes; ++v) {
      const double x = std::fma(m[0][v], x_[v], std::fma(m[1][v], y_[v], m[4][v]));
      y_[v] = std::fma(m[2][v], x_[v], std::fma(m[3][v], y_[v], m[5][v]));
      x_[v] = x;
    }
  }
  /// Finds the pixel of each lane's point in the lane's picture.
  void look(std::int32_t (&pixel)[kLanes]) const {
#pragma omp simd
    for (int v = 0; v < kLanes; ++v) {
      const auto column =
          static_cast<std::int32_t>((x_[v] - left_[v]) * scale_x_[v] + kSurveyMargin);
      const auto row =
          static_cast<std::int32_t>((y_[v] - bottom_[v]) * scale_y_[v] + kSurveyMargin);
      pixel[v] = row * kSurveySide + column;
    }
  }

 private:
  struct {
    double value[kCoefficients][kLanes];
  } map_[kMaxMaps];
  double x_[kLanes] = {}, y_[kLanes] = {};
  double x0_[kLanes] = {}, x1_[kLanes] = {}, y0_[kLanes] = {}, y1_[kLanes] = {};
  double left_[kLanes] = {}, scale_x_[kLanes] = {}, bottom_[kLanes] = {}, scale_y_[kLanes] = {};
};

/// The category of an accepted system, from a survey whose maps begin at a given block of `rng`.
Category surveyed(const CategorySpec& spec, const System& system, std::uint32_t attempt,
                  const SampleRng& rng, std::uint32_t first_block, Surveyor& surveyor,
                  std::span<Window> windows) {
  Category category{};
  category.system = system;
  category.attempt = attempt;
  surveyor.choose_maps(category.system, rng, first_block);
  const auto surveys = surveyor.survey_variations(category.system, spec.weight_step);
  for (int v = 0; v < kVariations; ++v) {
    const Survey& survey = surveys[static_cast<std::size_t>(v)];
    windows[static_cast<std::size_t>(v)] = {
        static_cast<float>(survey.x0),     static_cast<float>(survey.x1),
        static_cast<float>(survey.y0),     static_cast<float>(survey.y1),
        static_cast<float>(survey.last_x), static_cast<float>(survey.last_y)};
    if (v == 0 || (!survey.diverged && survey.fill >= spec.least_fill)) {
      category.variation[category.usable++] = static_cast<std::uint8_t>(v);
    }
  }
  return category;
}

/// All systems of the published search.
std::vector<OfficialSystem> official_systems(const CategorySpec& spec, std::int64_t count,
                                             int threads, Progress* progress) {
  WS_EXPECT(spec.seed >= 0 && spec.seed <= std::numeric_limits<std::uint32_t>::max());
  const auto seed = static_cast<std::uint32_t>(spec.seed);
  const auto known = known_refusals(seed, spec.rate);
  // Known candidates take only a moment, less than the surveys that follow, which report their own
  // progress.
  const bool searches = static_cast<std::size_t>(count) > known.size();
  return search_official(seed, spec.rate, count, known, threads, searches ? progress : nullptr);
}

}  // namespace

void set_selectors(System& system) {
  double weight[kMaxMaps];
  for (int i = 0; i < system.maps; ++i) {
    const Map& m = system.map[i];
    weight[i] = std::abs(double{m.a} * m.d - double{m.b} * m.c);
  }
  set_selectors(system, std::span(weight, static_cast<std::size_t>(system.maps)));
}

void set_selectors(System& system, std::span<const double> weight) {
  double sum = 0, below = 0;
  for (const double own : weight) sum += own;
  for (int i = 0; i < kMaxMaps; ++i) {
    below += i < system.maps ? weight[static_cast<std::size_t>(i)] : 0;
    const double share = i < system.maps - 1 ? below / sum : 1;
    system.upto[i] = static_cast<std::uint32_t>(std::floor(share * kSelectors + 0.5));
  }
}

SampleRng category_rng(const CategorySpec& spec, std::int64_t k) {
  return {static_cast<std::uint64_t>(spec.seed), static_cast<std::uint64_t>(k)};
}

System candidate_system(const SampleRng& rng, std::uint32_t attempt) {
  const std::uint32_t draw = attempt * kCandidateBlocks;
  System system{};
  system.maps = 2 + static_cast<int>(below(rng.block(Purpose::scene, draw).word[0], 6));
  for (int i = 0; i < system.maps; ++i) {
    float values[8];
    for (std::uint32_t half = 0; half < 2; ++half) {
      const auto block = draw + 1 + 2 * static_cast<std::uint32_t>(i) + half;
      const Philox4 words = rng.block(Purpose::scene, block);
      for (std::uint32_t k = 0; k < 4; ++k)
        values[4 * half + k] = 2 * unit_float(words.word[k]) - 1;
    }
    system.map[i] = {values[0], values[1], values[2], values[3], values[4], values[5]};
  }
  set_selectors(system);
  return system;
}

Surveyor::Surveyor()
    : maps_(8 * kSurveyBlocks),
      x_(kSurveyPoints),
      y_(kSurveyPoints),
      pixel_(kSurveyPoints),
      hit_(kPictureWords * kVariations) {}

void Surveyor::choose_maps(const System& system, const SampleRng& rng, std::uint32_t first_block) {
  constexpr int kLanes = 8;
  std::uint8_t* const maps = maps_.data();
  for (int block = 0; 8 * block < kSurveyPoints; block += kLanes) {
    std::uint32_t selector[8][kLanes];
    WS_WALKER_LOOP
    for (int lane = 0; lane < kLanes; ++lane) {
      const auto draw = first_block + static_cast<std::uint32_t>(block + lane);
      const Philox4 words = rng.block(Purpose::texture, draw);
      for (int k = 0; k < 4; ++k) {
        selector[2 * k][lane] = words.word[k] & 0xffffu;
        selector[2 * k + 1][lane] = words.word[k] >> 16;
      }
    }
    for (int half = 0; half < 8; ++half) {
      WS_WALKER_LOOP
      for (int lane = 0; lane < kLanes; ++lane) {
        maps[8 * (block + half) + lane] =
            static_cast<std::uint8_t>(map_of(system.upto, selector[half][lane]));
      }
    }
  }
}

Survey Surveyor::survey(const System& system) {
  const Chain chain = iterate(system, maps_.data(), x_.data(), y_.data());
  const Range x = range_of(x_.data(), chain.points), y = range_of(y_.data(), chain.points);
  const auto last = static_cast<std::size_t>(chain.points - 1);
  Survey result = {chain.diverged, x.low, x.high, y.low, y.high, 0, x_[last], y_[last]};
  if (!has_area(result)) return result;

  const Picture picture(result);
#pragma omp simd
  for (int i = 0; i < chain.points; ++i) {
    const auto at = static_cast<std::size_t>(i);
    pixel_[at] = picture.pixel(x_[at], y_[at]);
  }
  std::fill_n(hit_.begin(), kPictureWords, 0);
  for (int i = 0; i < chain.points; ++i) mark(hit_.data(), pixel_[static_cast<std::size_t>(i)]);
  result.fill = fill_of(hit_.data());
  return result;
}

std::array<Survey, kVariations> Surveyor::survey_variations(const System& system,
                                                            float weight_step) {
  Variations lanes(system, weight_step);
  for (int i = 1; i < kSurveyPoints; ++i) lanes.step(maps_[static_cast<std::size_t>(i - 1)]);
  std::array<Survey, kVariations> result;
  for (int v = 0; v < Variations::kLanes; ++v) {
    const Survey survey = lanes.survey(v);
    lanes.restart(v, !survey.diverged && has_area(survey) ? Picture(survey) : Picture());
    if (v < kVariations) result[static_cast<std::size_t>(v)] = survey;
  }

  std::fill(hit_.begin(), hit_.end(), 0);
  for (int i = 0; i < kSurveyPoints; ++i) {
    if (i > 0) lanes.move(maps_[static_cast<std::size_t>(i - 1)]);
    std::int32_t pixel[Variations::kLanes];
    lanes.look(pixel);
    for (std::size_t v = 0; v < kVariations; ++v) mark(&hit_[v * kPictureWords], pixel[v]);
  }
  for (std::size_t v = 0; v < kVariations; ++v) {
    if (has_area(result[v])) result[v].fill = fill_of(&hit_[v * kPictureWords]);
  }
  for (std::size_t v = 0; v < kVariations; ++v) {
    if (result[v].diverged) result[v] = survey(varied(system, static_cast<int>(v), weight_step));
  }
  return result;
}

std::uint32_t find_attempt(const CategorySpec& spec, std::int64_t k, Surveyor& surveyor,
                           std::uint32_t most) {
  const SampleRng rng = category_rng(spec, k);
  for (std::uint32_t attempt = 0; attempt < most; ++attempt) {
    const System system = candidate_system(rng, attempt);
    surveyor.choose_maps(system, rng, attempt * kSurveyBlocks);
    const Survey survey = surveyor.survey(system);
    if (!survey.diverged && survey.fill >= spec.rate) return attempt;
  }
  fail(ErrorKind::config,
       {fmt::format("ifs: no system of category {} fills {} of the picture", k, spec.rate),
        fmt::format("{} candidates were tried", most),
        "use a lower `rate`; the published one is 0.2"});
}

Category make_category(const CategorySpec& spec, std::int64_t k, std::uint32_t attempt,
                       Surveyor& surveyor, std::span<Window> windows) {
  const SampleRng rng = category_rng(spec, k);
  // The survey uses the same points for which variation 0 was accepted, so it passes again.
  return surveyed(spec, candidate_system(rng, attempt), attempt, rng, attempt * kSurveyBlocks,
                  surveyor, windows);
}

CategoryTable make_categories(const CategorySpec& spec, std::int64_t count, int threads,
                              Progress* progress) {
  CategoryTable table;
  const auto size = static_cast<std::size_t>(count);
  table.categories.resize(size);
  table.windows.resize(size * kVariations);
  std::vector<OfficialSystem> official;
  if (spec.search == Search::official) official = official_systems(spec, count, threads, progress);
  const auto known = known_attempts(spec);
  make_each(count, threads, progress, [&](std::int64_t k) {
    thread_local Surveyor surveyor;
    const auto at = static_cast<std::size_t>(k);
    const auto windows =
        std::span(table.windows).subspan(at * kVariations, static_cast<std::size_t>(kVariations));
    if (spec.search == Search::official) {
      table.categories[at] = surveyed(spec, official[at].rounded(), official[at].refused,
                                      category_rng(spec, k), 0, surveyor, windows);
      return;
    }
    const std::uint32_t attempt = at < known.size() ? known[at] : find_attempt(spec, k, surveyor);
    table.categories[at] = make_category(spec, k, attempt, surveyor, windows);
  });
  return table;
}

CategoryTable make_listed_categories(const CategorySpec& spec, std::span<const System> systems,
                                     std::span<const std::string> names, int threads,
                                     Progress* progress) {
  CategoryTable table;
  table.categories.resize(systems.size());
  table.windows.resize(systems.size() * kVariations);
  make_each(static_cast<std::int64_t>(systems.size()), threads, progress, [&](std::int64_t k) {
    thread_local Surveyor surveyor;
    const auto at = static_cast<std::size_t>(k);
    const SampleRng rng = category_rng(spec, k);
    surveyor.choose_maps(systems[at], rng, 0);
    const Survey survey = surveyor.survey(systems[at]);
    if (survey.diverged || !has_area(survey))
      fail(ErrorKind::data,
           {fmt::format("ifs: the points of class {} {}", names[at],
                        survey.diverged ? "diverge" : "have no area"),
            "its picture would show nothing", "remove this class, or correct its maps"});
    table.categories[at] =
        surveyed(spec, systems[at], 0, rng, 0, surveyor,
                 std::span(table.windows).subspan(at * kVariations, std::size_t{kVariations}));
  });
  return table;
}

}  // namespace wellspring::ifs
