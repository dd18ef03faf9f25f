#include "generators/events/tracks.h"

#include "generators/generator.h"
#include "tests/generators/collect.h"
#include "tests/support/error_testing.h"
#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <numbers>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace wellspring {
namespace {

/// A hit with all truth columns, as exported.
struct ExportedHit {
  double value[Tracks::kFeatures];
  double operator[](Tracks::Feature feature) const { return value[feature]; }
  double radius() const { return std::hypot(value[Tracks::kX], value[Tracks::kY]); }
  double momentum() const {
    return std::hypot(value[Tracks::kTruePx], value[Tracks::kTruePy], value[Tracks::kTruePz]);
  }
  /// Detector system: 0: pixels, 1: short strips, 2: long strips.
  int system() const {
    const auto volume = static_cast<int>(value[Tracks::kVolume]);
    return volume < 10 ? 0 : volume < 15 ? 1 : 2;
  }
  bool barrel() const {
    const auto volume = static_cast<int>(value[Tracks::kVolume]);
    return volume == 8 || volume == 13 || volume == 17;
  }
};

struct Event {
  std::vector<ExportedHit> hits;
  std::vector<float> latents;
};

/// Settings from text such as "pt_low=5 noise=0".
std::vector<ParamSetting> settings_of(const std::string& text) {
  std::vector<ParamSetting> settings;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::size_t at = word.find('=');
    settings.push_back({word.substr(0, at), word.substr(at + 1), {}});
  }
  return settings;
}

/// One track per event and exact measurements, unless `settings` say otherwise.
std::vector<Event> make(const std::string& settings, std::uint64_t count) {
  std::map<std::string, ParamSetting> all;
  for (const ParamSetting& setting :
       settings_of("columns=truth tracks_high=1 scattering=off efficiency=1 noise=0 items=32 "
                   "pixel_along=0 pixel_across=0 short_along=0 short_across=0 long_along=0 "
                   "long_across=0 " +
                   settings)) {
    all[setting.name] = setting;
  }
  std::vector<ParamSetting> list;
  for (const auto& [name, setting] : all) list.push_back(setting);
  const auto generator = make_generator("tracks", 1, list);
  const auto samples = test::collect(*generator, {31, 0, count});
  std::vector<Event> events(samples.count());
  for (std::size_t i = 0; i < events.size(); ++i) {
    for (std::size_t l = 0; l < Tracks::kLatents; ++l)
      events[i].latents.push_back(samples.latent(i, l));
    const auto hits = static_cast<std::size_t>(events[i].latents[Tracks::kHits]);
    EXPECT_LE(hits * Tracks::kFeatures, samples.elements) << "raise items";
    events[i].hits.resize(hits);
    for (std::size_t k = 0; k < hits * Tracks::kFeatures; ++k)
      events[i].hits[k / Tracks::kFeatures].value[k % Tracks::kFeatures] =
          double{samples.image(i)[k]};
  }
  return events;
}

double normal_cdf(double z) {
  return 0.5 * std::erfc(-z / std::sqrt(2.0));
}

/// Tests for the standard normal distribution with a Kolmogorov test and by the mean square. With
/// 60,000 numbers or more, the mean square detects an error of 2 % in the width.
void expect_normal(const std::vector<double>& values, const std::string& what) {
  ASSERT_GT(values.size(), 1000u) << what;
  EXPECT_GT(test::kolmogorov_p(values, normal_cdf), test::kGate) << what;
  double squares = 0;
  for (const double v : values) squares += v * v;
  const auto n = static_cast<double>(values.size());
  EXPECT_GT(test::normal_p((squares / n - 1) * std::sqrt(n / 2)), test::kGate)
      << what << ": width " << std::sqrt(squares / n);
}

// A direction is turned through a half angle, which leaves it about 5 roundings off the unit
// circle. Doubling the angle doubles this error; with the rounding of the doubling and of the
// products, the total is about 20. Each step adds about 60 roundings of 2^-53 of its arc length and
// of its distance from the axis; the truncated series are more accurate. Far from the axis, the
// crossing with a cylinder is a root with sensitivity 1 / outwards, which the tolerance for the
// radius includes.
TEST(Helix, CrossingsAreOnTheCircleAndTheSurface) {
  for (std::uint32_t i = 0; i < 5000; ++i) {
    const Philox4 random = philox4x32({{i, 0, 0, 0}}, 5);
    const auto unit = [&](int word) { return double{unit_float(random.word[word])}; };
    const double angle = 6.28 * unit(0);
    helix::State at{3 * unit(1) - 1, 2 * unit(2) - 1, 50 * unit(3),          std::cos(angle),
                    std::sin(angle), 4 * unit(1) - 2, (unit(2) - 0.5) * 0.02};
    if (i % 10 == 0) at.k = 0;
    const bool plane = i % 2 == 0;
    const double place = plane ? (at.cot > 0 ? 900 : -900) * unit(0) : 30 + 1000 * unit(0);
    const helix::Chord way = plane ? helix::to_plane(at, place) : helix::to_cylinder(at, place);
    if (!way.reached) continue;
    const helix::State there = helix::moved(at, way);
    const long double turn = static_cast<long double>(at.k) * way.arc;
    const long double along = at.k == 0 ? way.arc : std::sin(turn) / at.k;
    const long double left = at.k == 0 ? 0 : 2 * std::sin(turn / 2) * std::sin(turn / 2) / at.k;
    const double scale = 60 * 0x1p-53 * (way.arc + 1000);
    ASSERT_NEAR(there.x, static_cast<double>(at.x + along * at.ux - left * at.uy), scale) << i;
    ASSERT_NEAR(there.y, static_cast<double>(at.y + along * at.uy + left * at.ux), scale) << i;
    ASSERT_NEAR(there.z, at.z + way.arc * at.cot, scale * (1 + std::abs(at.cot)));
    ASSERT_NEAR(std::hypot(there.ux, there.uy), 1, 20 * 0x1p-53);
    ASSERT_NEAR(there.ux, static_cast<double>(std::cos(turn) * at.ux - std::sin(turn) * at.uy),
                60 * 0x1p-53);
    if (plane) {
      ASSERT_NEAR(there.z, place, scale * (1 + std::abs(at.cot)));
    } else {
      ASSERT_NEAR(std::hypot(there.x, there.y), place, scale);
    }
  }
}

// Without scattering and measurement errors, hits follow the documented formulas from the
// particle's f32 numbers, each of which has at most 4 roundings of 2^-24. The position along an arc
// follows from direction and curvature, whose errors contribute with a factor of at most pi / 2, so
// it is off by 1e-6 of the arc. The hits themselves are rounded, too.
TEST(Tracks, HitsAreOnTheHelix) {
  std::size_t discs = 0, barrels = 0;
  for (const auto& event : make("pt_low=0.1 pt_power=2 eta_max=3.5", 600)) {
    for (const ExportedHit& hit : event.hits) {
      const double pt = std::hypot(hit[Tracks::kPx], hit[Tracks::kPy]);
      const double q = hit[Tracks::kCharge], r = pt / (0.299792458e-3 * 2);
      const double cot = hit[Tracks::kPz] / pt;
      // A positive charge turns clockwise where the field points to +z.
      const double cx = hit[Tracks::kVertexX] + q * r * hit[Tracks::kPy] / pt;
      const double cy = hit[Tracks::kVertexY] - q * r * hit[Tracks::kPx] / pt;
      const double from = std::atan2(hit[Tracks::kVertexY] - cy, hit[Tracks::kVertexX] - cx);
      const double to = std::atan2(hit[Tracks::kY] - cy, hit[Tracks::kX] - cx);
      const double turn = std::remainder(q * (from - to), 2 * std::numbers::pi);
      const double arc = r * turn;
      const double slack = 1e-6 * std::abs(arc) + 0x1p-23 * 3000;
      ASSERT_GT(turn, 0);
      ASSERT_NEAR(std::hypot(hit[Tracks::kX] - cx, hit[Tracks::kY] - cy), r, slack);
      // The plane or radius of a surface is exact, so errors appear in the other coordinate.
      ASSERT_NEAR(hit[Tracks::kZ], hit[Tracks::kVertexZOfHit] + arc * cot,
                  slack * (2 + 2 * std::abs(cot)));
      ASSERT_NEAR(hit.momentum(), std::hypot(hit[Tracks::kPx], hit[Tracks::kPy], hit[Tracks::kPz]),
                  1e-6 * hit.momentum());
      ASSERT_EQ(hit[Tracks::kTrueX], hit[Tracks::kX]);
      (hit.barrel() ? barrels : discs) += 1;
    }
  }
  EXPECT_GT(barrels, 2500u);
  EXPECT_GT(discs, 2500u);
}

TEST(Tracks, HitsAreOnTheDetectorsLayers) {
  const double radii[3][4] = {{32, 72, 116, 172}, {260, 360, 500, 660}, {820, 1020, 0, 0}};
  const double half[3] = {471.5, 1084, 1084}, low[3] = {30, 240, 750}, high[3] = {176, 700, 1020};
  const double discs[3][7] = {{600, 700, 820, 960, 1100, 1300, 1500},
                              {1220, 1500, 1800, 2150, 2550, 2950, 0},
                              {1220, 1500, 1800, 2150, 2550, 2950, 0}};
  std::map<std::pair<int, int>, int> counts;
  for (const auto& event : make("eta_max=3.5", 2000)) {
    for (const ExportedHit& hit : event.hits) {
      const auto volume = static_cast<int>(hit[Tracks::kVolume]);
      const auto layer = static_cast<int>(hit[Tracks::kLayer]);
      const int system = hit.system();
      counts[{volume, layer}] += 1;
      if (hit.barrel()) {
        ASSERT_NEAR(hit.radius(), radii[system][layer / 2 - 1], 0x1p-23 * hit.radius());
        ASSERT_LE(std::abs(hit[Tracks::kZ]), half[system] + 1e-4);
      } else {
        const bool up = volume == 9 || volume == 14 || volume == 18;
        const int count = system == 0 ? 7 : 6;
        const int index = up ? layer / 2 - 1 : count - layer / 2;
        ASSERT_EQ(hit[Tracks::kZ], (up ? 1 : -1) * discs[system][index]);
        ASSERT_GE(hit.radius(), low[system] - 1e-4);
        ASSERT_LE(hit.radius(), high[system] + 1e-4);
      }
    }
  }
  EXPECT_EQ(counts.size(), 10u + 2 * 19u) << "every layer must be hit";
}

// At this p_T the circle's diameter equals the layer's radius: 0.149896 B r (T, m). The f32
// momentum is a multiple of 2^-25 = 3e-8.
TEST(Tracks, ReachesALayerFromAnExactMomentum) {
  const double edge = 0.5 * 0.299792458 * 2 * 1.02;
  int below = 0;
  for (const auto& event :
       make("pt_low=0.3055 pt_high=0.3061 eta_max=0 vertex_z=0 vertex_xy=0", 600)) {
    const double pt = event.latents[Tracks::kPt];
    if (std::abs(pt - edge) < 1e-7) continue;
    ASSERT_EQ(event.hits.size(), pt < edge ? 9u : 10u) << pt;
    below += pt < edge ? 1 : 0;
  }
  EXPECT_GT(below, 150);
}

// The values were computed independently for pions of 1 and 0.5 GeV and a muon of 10 GeV, in 1.04 %
// of a radiation length.
TEST(Tracks, ScattersByHighlandsFormula) {
  const auto width = [](double p, double mass) {
    return helix::highland(static_cast<float>(p),
                           static_cast<float>(p / std::sqrt(p * p + mass * mass)), 0.0104f);
  };
  EXPECT_NEAR(width(1, 0.13957), 1.158e-3, 1e-6);
  EXPECT_NEAR(width(0.5, 0.13957), 2.388e-3, 1e-6);
  EXPECT_NEAR(width(10, 0.10566), 0.1146e-3, 1e-7);
  EXPECT_EQ(helix::highland(1, 1, 0), 0);
}

double expected_width(double p, double thickness) {
  const double beta = p / std::hypot(p, 0.13957);
  return 0.0136 / (beta * p) * std::sqrt(thickness) *
         (1 + 0.038 * std::log(thickness / (beta * beta)));
}

// The kicks add up: in either plane, the hit in the outermost layer has variance sum (r - r_j)^2
// theta_j^2. Perpendicular to the beam, second-order terms are a fraction theta^2 = 1e-5 of this.
// All particles have about 5 GeV, so the spread of momenta is negligible.
TEST(Tracks, KicksAddUpWithTheirLeverArms) {
  const double inner[] = {32, 72, 116, 172, 260, 360, 500, 660, 820};
  double variance = 0;
  const auto add = [&](double r, double thickness) {
    variance += std::pow((1020 - r) * expected_width(5, thickness), 2);
  };
  add(19, 0.8 / 352.8);
  add(200, 1.8 / 352.8);
  for (const double r : inner) add(r, r < 200 ? 0.012 : 0.013);
  std::vector<double> along, across;
  for (const auto& event :
       make("scattering=highland field=0 eta_max=0 vertex_z=0 vertex_xy=0 pt_low=5 pt_high=5",
            2500)) {
    const ExportedHit& hit = event.hits.back();
    ASSERT_NEAR(hit.radius(), 1020, 1e-3);
    const double turn = (hit[Tracks::kX] * hit[Tracks::kPy] - hit[Tracks::kY] * hit[Tracks::kPx]);
    along.push_back(-turn / 5 / std::sqrt(variance));
    across.push_back(hit[Tracks::kZ] / std::sqrt(variance));
  }
  expect_normal(along, "across the beam");
  expect_normal(across, "along the beam");
}

TEST(Tracks, DropsHitsByEfficiency) {
  const auto full = make("", 2000), thinned = make("efficiency=0.9", 2000);
  double crossings = 0, hits = 0;
  for (std::size_t i = 0; i < full.size(); ++i) {
    crossings += static_cast<double>(full[i].hits.size());
    hits += static_cast<double>(thinned[i].hits.size());
    std::size_t k = 0;  // the remaining hits must be unchanged
    for (const ExportedHit& hit : thinned[i].hits) {
      while (k < full[i].hits.size() && full[i].hits[k][Tracks::kX] != hit[Tracks::kX]) ++k;
      ASSERT_LT(k, full[i].hits.size());
    }
  }
  EXPECT_GT(test::normal_p((hits - 0.9 * crossings) / std::sqrt(0.09 * crossings)), test::kGate);
}

TEST(Tracks, AssignsHitsToParticles) {
  for (const auto& event :
       make("tracks_low=30 tracks_high=40 vertices=5 noise=20 efficiency=0.5 items=2000", 20)) {
    std::map<int, std::vector<ExportedHit>> by_particle;
    std::map<double, int> vertices;
    for (const ExportedHit& hit : event.hits)
      by_particle[static_cast<int>(hit[Tracks::kParticle])].push_back(hit);
    double weight = 0;
    for (const auto& [number, hits] : by_particle) {
      ASSERT_LE(number, event.latents[Tracks::kTracks]);
      if (number == 0) continue;
      vertices[hits[0][Tracks::kVertexZOfHit]] += 1;
      for (const ExportedHit& hit : hits) {
        ASSERT_EQ(hit[Tracks::kPx], hits[0][Tracks::kPx]);
        ASSERT_EQ(hit[Tracks::kWeight] > 0, hits.size() >= 4);
        weight += hit[Tracks::kWeight];
      }
    }
    EXPECT_NEAR(weight, 1, 1e-5);
    EXPECT_LE(vertices.size(), 5u);
    EXPECT_GE(vertices.size(), 3u);  // fewer with probability 1e-11
  }
}

TEST(Tracks, CountsOverflow) {
  const auto generator = make_generator(
      "tracks", 1, {{"tracks_low", "3", {}}, {"tracks_high", "3", {}}, {"items", "12", {}}});
  SampleMaker maker(*generator, {});
  unsigned long long left_out = 0, samples = 0;
  maker.make({3, 0, 100}, [&](const HostSamples& made) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(made.count()); ++i) {
      const auto hits = static_cast<std::int64_t>(made.latents()[i * Tracks::kLatents + 1]);
      ASSERT_EQ(made.items()[i], std::min<std::int64_t>(hits, 12));
      left_out += hits > 12 ? static_cast<unsigned long long>(hits - 12) : 0;
      samples += hits > 12 ? 1 : 0;
    }
  });
  EXPECT_GT(samples, 50u);
  EXPECT_EQ(maker.overflow().items, left_out);
  EXPECT_EQ(maker.overflow().samples, samples);
}

TEST(Tracks, RefusesImpossibleParameters) {
  const auto message = [](const char* settings) {
    return test::message_of(ErrorKind::config,
                            [&] { make_generator("tracks", 1, settings_of(settings)); });
  };
  test::expect_parts(message("tracks_low=20"), {"tracks_low = 20 is larger than tracks_high"});
  test::expect_parts(message("pt_high=0.1"), {"is larger than pt_high = 0.1"});
  test::expect_parts(message("tracks_high=1000"), {"256", "745"});
  test::expect_parts(message("pt_power=1.0001"), {"close to 1", "1.01 or more"});
}

}  // namespace
}  // namespace wellspring
