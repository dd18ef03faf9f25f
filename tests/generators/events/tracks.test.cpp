#include "generators/events/tracks.h"

#include "generators/generator.h"
#include "tests/generators/collect.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

namespace wellspring {
namespace {

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

// A direction is turned through a half angle, which leaves it about 5 rounding errors off the unit
// circle. Doubling the angle doubles this error; with the rounding of the doubling and of the
// products, the total is about 20. Each step adds about 60 rounding errors, each 2^-53 of the
// step's arc length and distance from the axis; the truncated series are more accurate. Far from
// the axis, the crossing with a cylinder is a root with sensitivity 1 / outwards. The tolerance for
// the radius includes this.
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

// At this p_T the circle's diameter equals the layer's radius: 0.149896 B r (T, m). The f32
// momentum is a multiple of 2^-25 = 3e-8.
TEST(Tracks, ReachesALayerFromAnExactMomentum) {
  const double edge = 0.5 * 0.299792458 * 2 * 1.02;
  const auto generator = make_generator(
      "tracks", 1,
      settings_of("tracks_high=1 scattering=off efficiency=1 noise=0 pt_low=0.3055 pt_high=0.3061 "
                  "eta_max=0 vertex_z=0 vertex_xy=0"));
  const auto samples = test::collect(*generator, {31, 0, 600});
  int below = 0;
  for (std::size_t i = 0; i < samples.count(); ++i) {
    const double pt = samples.latent(i, Tracks::kPt);
    if (std::abs(pt - edge) < 1e-7) continue;
    ASSERT_EQ(samples.latent(i, Tracks::kHits), pt < edge ? 9 : 10) << pt;
    below += pt < edge ? 1 : 0;
  }
  EXPECT_GT(below, 150);
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
