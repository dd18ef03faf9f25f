#include "generators/images/ifs_categories.h"

#include "tests/support/error_testing.h"
#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

namespace wellspring::ifs {
namespace {

const CategorySpec kSpec;

// Counts from the published program's own search (seed 1, 1000 categories): candidates tried, and
// accepted systems with 2, 3, ... 7 maps.
constexpr double kPublishedTries = 42655;
constexpr std::array<double, 6> kPublishedMaps = {231, 294, 218, 146, 77, 34};

System system_of(std::int64_t k) {
  return candidate_system(category_rng(kSpec, k),
                          known_attempts(kSpec)[static_cast<std::size_t>(k)]);
}

// One chain, rasterised as in the published program, without the optimisations of the surveys.
double plain_filling_rate(const System& system, const SampleRng& rng, std::uint32_t attempt) {
  std::vector<double> xs = {0}, ys = {0};
  for (std::uint32_t i = 0; i + 1 < kSurveyPoints; ++i) {
    // Words come from eight blocks at a time: first the lower half of each block's first word, then
    // the upper halves of these words, and so on.
    const std::uint32_t block = i / 64 * 8 + i % 8, half = i / 8 % 8;
    const Philox4 words = rng.block(Purpose::texture, (attempt << 14) + block);
    const std::uint32_t selector = words.word[half / 2] >> (half % 2 == 0 ? 0 : 16) & 0xffffu;
    int m = 0;
    while (selector >= system.upto[m]) ++m;
    const Map& map = system.map[m];
    const double x = xs.back(), y = ys.back();
    xs.push_back(std::fma(map.a, x, std::fma(map.b, y, map.e)));
    ys.push_back(std::fma(map.c, x, std::fma(map.d, y, map.f)));
    if (!(std::abs(xs.back()) + std::abs(ys.back()) < 1e15)) return 0;
  }
  const auto [x0, x1] = std::minmax_element(xs.begin(), xs.end());
  const auto [y0, y1] = std::minmax_element(ys.begin(), ys.end());
  std::set<std::pair<int, int>> pixels;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    pixels.emplace(static_cast<int>((xs[i] - *x0) * (500 / (*x1 - *x0)) + 6),
                   static_cast<int>((ys[i] - *y0) * (500 / (*y1 - *y0)) + 6));
  }
  return static_cast<double>(pixels.size()) / (512 * 512);
}

TEST(IfsCategories, SurveysMatchAPlainChain) {
  const SampleRng rng = category_rng(kSpec, 3);
  Surveyor surveyor;
  int finite = 0;
  for (std::uint32_t attempt = 0; attempt < 6; ++attempt) {
    const System system = candidate_system(rng, attempt);
    surveyor.choose_maps(system, rng, attempt << 14);
    const Survey survey = surveyor.survey(system);
    if (survey.diverged) continue;
    ++finite;
    EXPECT_EQ(survey.fill, plain_filling_rate(system, rng, attempt)) << attempt;
  }
  EXPECT_GE(finite, 4);
}

// Compares the search for the shipped categories with the published search. Both numbers of tries
// are sums of 1000 geometric numbers (mean near 43), so their difference has the standard deviation
// sqrt(2000) 42.7 (1 - 1/42.7). A filling rate of 0.19 or 0.21 instead of 0.2 changes the number of
// tries by about 10 %, or 3 standard deviations. Wrong pixel counts change this number far more.
TEST(IfsCategories, AcceptsAsManyCandidatesAsPublished) {
  const auto known = known_attempts(kSpec).first(1000);
  const double tries = std::accumulate(known.begin(), known.end(), 1000.0);
  const double mean = kPublishedTries / 1000;
  const double deviation = std::sqrt(2000 * mean * (mean - 1));
  EXPECT_GT(test::normal_p((tries - kPublishedTries) / deviation), test::kGate)
      << 1e5 / tries << " % are accepted, published: " << 1e5 / kPublishedTries << " %";

  // For two samples of 1000 from the same distribution, chi^2 = sum (n - m)^2 / (n + m).
  std::array<double, 6> maps = {};
  for (std::int64_t k = 0; k < 1000; ++k)
    maps[static_cast<std::size_t>(system_of(k).maps - 2)] += 1;
  double chi2 = 0;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    chi2 += (maps[i] - kPublishedMaps[i]) * (maps[i] - kPublishedMaps[i]) /
            (maps[i] + kPublishedMaps[i]);
  }
  EXPECT_GT(test::upper_gamma(2.5, chi2 / 2), test::kGate) << "distribution of the number of maps";
}

// Repeats the search for the 12 quickest of the first 200 categories, and for one category that
// takes 60 candidates.
TEST(IfsCategories, ShippedAttemptsMatchTheSearch) {
  const auto known = known_attempts(kSpec);
  std::vector<std::int64_t> order(200);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return known[static_cast<std::size_t>(a)] < known[static_cast<std::size_t>(b)];
  });
  order.resize(12);
  order.insert(order.end(), {23, 999, 1000, 9999});
  Surveyor surveyor;
  for (const std::int64_t k : order) {
    EXPECT_EQ(find_attempt(kSpec, k, surveyor), known[static_cast<std::size_t>(k)]) << k;
  }
  CategorySpec other;
  other.rate = 0.21;
  EXPECT_TRUE(known_attempts(other).empty());
  other = {};
  other.seed = 2;
  EXPECT_TRUE(known_attempts(other).empty());
  other = {};
  other.weight_step = 0.1f;
  EXPECT_EQ(known_attempts(other).size(), 10000u) << "the search must ignore variations";
}

TEST(IfsCategories, SurveysOfVariationsMatchSingleSurveys) {
  Surveyor surveyor;
  int diverged = 0;
  for (const std::int64_t k : {0, 1, 2, 5}) {
    const System system = system_of(k);
    surveyor.choose_maps(system, category_rng(kSpec, k), 77);
    const auto together = surveyor.survey_variations(system, 0.4f);
    for (int v = 0; v < kVariations; ++v) {
      System varied = system;
      for (int i = 0; i < kMaxMaps; ++i) varied.map[i] = vary(system.map[i], v, 0.4f);
      const Survey alone = surveyor.survey(varied);
      const Survey& batched = together[static_cast<std::size_t>(v)];
      diverged += alone.diverged ? 1 : 0;
      EXPECT_EQ(batched.diverged, alone.diverged);
      EXPECT_EQ(batched.fill, alone.fill);
      EXPECT_EQ(batched.x0, alone.x0);
      EXPECT_EQ(batched.x1, alone.x1);
      EXPECT_EQ(batched.y0, alone.y0);
      EXPECT_EQ(batched.y1, alone.y1);
      EXPECT_EQ(batched.last_x, alone.last_x);
      EXPECT_EQ(batched.last_y, alone.last_y);
    }
  }
  EXPECT_GT(diverged, 0) << "no variation diverged, so this case was not tested";
}

// Maps that stretch all directions by 1.1 exceed every bound within about 1500 steps.
TEST(IfsCategories, DetectsDivergence) {
  System system = system_of(0);
  for (Map& map : system.map) map = {1.1f, 0, 0, 1.1f, 0.5f, 0.25f};
  Surveyor surveyor;
  surveyor.choose_maps(system, {1, 2}, 0);
  const Survey survey = surveyor.survey(system);
  EXPECT_TRUE(survey.diverged);
  EXPECT_LT(survey.fill, 0.01);
  EXPECT_LT(survey.x1, 1e15 / std::pow(1.1, 90)) << "the box must omit the last 100 points";
  EXPECT_TRUE(surveyor.survey_variations(system, 0)[7].diverged);
}

TEST(IfsCategories, OmitsDegenerateVariations) {
  Surveyor surveyor;
  int left_out = 0;
  for (std::int64_t k = 0; k < 12; ++k) {
    std::array<Window, kVariations> windows;
    const auto attempt = known_attempts(kSpec)[static_cast<std::size_t>(k)];
    const Category category = make_category(kSpec, k, attempt, surveyor, windows);
    surveyor.choose_maps(category.system, category_rng(kSpec, k), attempt * (1u << 14));
    const auto surveys = surveyor.survey_variations(category.system, kSpec.weight_step);
    std::set<int> usable(category.variation, category.variation + category.usable);
    EXPECT_EQ(usable.size(), category.usable);
    EXPECT_TRUE(usable.contains(0));
    EXPECT_GE(surveys[0].fill, kSpec.rate) << "must meet the acceptance criterion";
    for (int v = 1; v < kVariations; ++v) {
      const Survey& survey = surveys[static_cast<std::size_t>(v)];
      const bool degenerate = survey.diverged || survey.fill < kSpec.least_fill;
      EXPECT_EQ(usable.contains(v), !degenerate) << k << ", " << v;
      left_out += degenerate ? 1 : 0;
    }
    for (const int v : usable) {
      const Window& w = windows[static_cast<std::size_t>(v)];
      EXPECT_TRUE(w.x0 <= w.point_x && w.point_x <= w.x1 && w.y0 <= w.point_y && w.point_y <= w.y1);
    }
  }
  EXPECT_GT(left_out, 0);
}

bool equal_bytes(const CategoryTable& a, const CategoryTable& b, std::size_t count) {
  return std::memcmp(a.categories.data(), b.categories.data(), count * sizeof(Category)) == 0 &&
         std::memcmp(a.windows.data(), b.windows.data(), count * kVariations * sizeof(Window)) == 0;
}

TEST(IfsCategories, ClassesDoNotDependOnTheirNumberOrThreads) {
  const CategoryTable few = make_categories(kSpec, 2, 1);
  const CategoryTable more = make_categories(kSpec, 7, 1);
  const CategoryTable threads = make_categories(kSpec, 7, 2);
  EXPECT_TRUE(equal_bytes(few, more, 2));
  EXPECT_TRUE(equal_bytes(more, threads, 7));
  for (std::size_t i = 1; i < 7; ++i) {
    EXPECT_NE(std::memcmp(&more.categories[0].system, &more.categories[i].system, sizeof(System)),
              0);
  }
  CategorySpec other;
  other.seed = 2;
  other.rate = 0.05;  // makes the search short
  const CategoryTable another = make_categories(other, 1, 1);
  EXPECT_NE(std::memcmp(&another.categories[0].system, &few.categories[0].system, sizeof(System)),
            0);
}

TEST(IfsCategories, RefusesAFailedSearch) {
  Surveyor surveyor;
  CategorySpec spec;
  spec.rate = 0.9;
  test::expect_parts(
      test::message_of(ErrorKind::config, [&] { find_attempt(spec, 17, surveyor, 3); }),
      {"category 17", "0.9", "3 candidates", "lower `rate`"});
}

}  // namespace
}  // namespace wellspring::ifs
