#include "generators/images/ifs3d_categories.h"

#include "core/error.h"
#include "generators/class_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace wellspring::ifs3d {

namespace {

/// Random blocks reserved for a survey (eight steps per block) and for a candidate (one for the
/// number of maps, three per map), rounded up to powers of two.
constexpr std::uint32_t kSurveyBlocks = 1u << 11, kCandidateBlocks = 1u << 5;
static_assert(8 * kSurveyBlocks >= kSurveyPoints && kCandidateBlocks >= 1 + 3 * kMaxMaps);
/// Maximum number of candidates per category; after that, the search gives up.
constexpr std::uint32_t kMostAttempts = 50000;
/// Fraction of the variance that a variation must keep; some variations collapse to less than a
/// pixel.
constexpr double kLeastShare = 0.2;
/// A point at this distance has diverged.
constexpr double kFar = 1e15;

double determinant(const Map& map) {
  const auto& m = map.value;
  const double a = m[0], b = m[1], c = m[2], d = m[3], e = m[4], f = m[5], g = m[6], h = m[7],
               i = m[8];
  return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g);
}

/// Map i gets the probability |det_i| / sum, rounded to a multiple of 2^-16.
void set_selectors(System& system) {
  double weight[kMaxMaps] = {}, sum = 0, below = 0;
  for (int i = 0; i < system.maps; ++i) sum += weight[i] = std::abs(determinant(system.map[i]));
  for (int i = 0; i < kMaxMaps; ++i) {
    below += weight[i];
    const double share = i < system.maps - 1 ? below / sum : 1;
    system.upto[i] = static_cast<std::uint32_t>(std::floor(share * kSelectors + 0.5));
  }
}

SampleRng category_rng(const CategorySpec& spec, std::int64_t k) {
  return {static_cast<std::uint64_t>(spec.seed), static_cast<std::uint64_t>(k)};
}

Frame frame_of(const Survey& survey) {
  Frame frame = {};
  frame.scale = static_cast<float>(2 / (survey.high - survey.low));
  for (int i = 0; i < 3; ++i) {
    frame.centre[i] = static_cast<float>(survey.centre[i]);
    frame.start[i] = static_cast<float>(survey.last[i]);
  }
  return frame;
}

/// Returns the map of each step of an attempt's survey, in order.
class MapChooser {
 public:
  MapChooser(const System& system, const SampleRng& rng, std::uint32_t attempt)
      : system_(system), rng_(rng), first_(attempt * kSurveyBlocks) {}
  int operator()(std::uint32_t step) {
    if (step % 8 == 0) words_ = rng_.block(Purpose::texture, first_ + step / 8);
    const std::uint32_t selector = words_.word[step % 8 / 2] >> (step % 2 == 0 ? 0 : 16) & 0xffffu;
    return map_of(system_.upto, selector);
  }

 private:
  const System& system_;
  SampleRng rng_;
  std::uint32_t first_;
  Philox4 words_ = {};
};

/// Surveys the points of a sequence of maps: step i uses map_at(i), called in order.
template <class MapAt>
Survey survey_by(const System& system, const MapAt& map_at) {
  double map[kMaxMaps][kCoefficients];
  for (int i = 0; i < kMaxMaps; ++i) std::copy_n(system.map[i].value, kCoefficients, map[i]);
  double p[3] = {}, sum[3] = {}, squares[3] = {};
  Survey result;
  for (std::uint32_t step = 0; step < kSurveyPoints - 1; ++step) {
    const auto& m = map[map_at(step)];
    double to[3];
    for (int r = 0; r < 3; ++r) {
      to[r] = std::fma(m[3 * r], p[0],
                       std::fma(m[3 * r + 1], p[1], std::fma(m[3 * r + 2], p[2], m[9 + r])));
    }
    for (int r = 0; r < 3; ++r) {
      p[r] = to[r];
      sum[r] += p[r];
      squares[r] += p[r] * p[r];
      result.low = std::min(result.low, p[r]);
      result.high = std::max(result.high, p[r]);
    }
    if (!(std::abs(p[0]) + std::abs(p[1]) + std::abs(p[2]) < kFar)) {
      result.diverged = true;
      return result;
    }
  }
  const double half = (result.high - result.low) / 2;
  for (int r = 0; r < 3; ++r) {
    result.centre[r] = sum[r] / kSurveyPoints;
    const double variance = squares[r] / kSurveyPoints - result.centre[r] * result.centre[r];
    result.variance[r] = variance / (half * half);
    result.last[r] = p[r];
  }
  return result;
}

void make_category(const CategorySpec& spec, std::int64_t k, Category& category, Frame* frames) {
  const SampleRng rng = category_rng(spec, k);
  for (category.attempt = 0;; ++category.attempt) {
    if (category.attempt == kMostAttempts) {
      fail(ErrorKind::config,
           {fmt::format("ifs3d: no system of category {} has a variance of {} along each axis", k,
                        spec.variance),
            fmt::format("{} candidates were tried", kMostAttempts),
            "use a lower `variance`; the published ones are 0.05 and 0.15"});
    }
    category.system = candidate_system(rng, category.attempt);
    if (survey(category.system, rng, category.attempt).spreads(spec.variance)) break;
  }
  // All variations use the same sequence of maps.
  std::vector<std::uint8_t> maps;
  MapChooser choose(category.system, rng, category.attempt);
  for (std::uint32_t step = 0; step < kSurveyPoints; ++step) {
    maps.push_back(static_cast<std::uint8_t>(choose(step)));
  }
  for (int v = 0; v < kVariations; ++v) {
    System system = category.system;
    vary(system, v);
    const Survey seen = survey_by(system, [&](std::uint32_t step) { return maps[step]; });
    if (!seen.spreads(spec.variance * kLeastShare)) continue;
    frames[v] = frame_of(seen);
    category.variation[category.usable++] = static_cast<std::uint8_t>(v);
  }
}

}  // namespace

bool Survey::spreads(double least) const {
  return !diverged && high > low &&
         std::all_of(variance, variance + 3, [&](double v) { return v > least; });
}

System candidate_system(const SampleRng& rng, std::uint32_t attempt) {
  const std::uint32_t draw = attempt * kCandidateBlocks;
  System system{};
  system.maps = 2 + static_cast<int>(below(rng.block(Purpose::scene, draw).word[0], 6));
  for (int i = 0; i < system.maps; ++i) {
    for (std::uint32_t third = 0; third < 3; ++third) {
      const Philox4 words =
          rng.block(Purpose::scene, draw + 1 + 3 * static_cast<std::uint32_t>(i) + third);
      for (std::uint32_t c = 0; c < 4; ++c)
        system.map[i].value[4 * third + c] = 2 * unit_float(words.word[c]) - 1;
    }
  }
  set_selectors(system);
  return system;
}

Survey survey(const System& system, const SampleRng& rng, std::uint32_t attempt) {
  MapChooser choose(system, rng, attempt);
  return survey_by(system, [&](std::uint32_t step) { return choose(step); });
}

CategoryTable make_categories(const CategorySpec& spec, std::int64_t count, int threads,
                              Progress* progress) {
  CategoryTable table;
  const auto size = static_cast<std::size_t>(count);
  table.categories.resize(size);
  table.frames.resize(size * kVariations);
  make_each(count, threads, progress, [&](std::int64_t k) {
    const auto at = static_cast<std::size_t>(k);
    make_category(spec, k, table.categories[at], &table.frames[at * kVariations]);
  });
  return table;
}

}  // namespace wellspring::ifs3d
