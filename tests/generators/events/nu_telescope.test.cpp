#include "generators/events/nu_telescope.h"

#include "generators/generator.h"
#include "tests/generators/collect.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace wellspring {
namespace {

using Nu = NuTelescope;
using Settings = std::map<std::string, std::string>;

struct ExportedPulse {
  double value[Nu::kFeatures];
  double operator[](Nu::Feature feature) const { return value[feature]; }
  bool light() const { return value[Nu::kIsLight] != 0; }
  std::size_t sensor() const { return static_cast<std::size_t>(value[Nu::kSensor]); }
};

struct ExportedEvent {
  std::vector<ExportedPulse> pulses;
  std::vector<float> latents;
  std::int32_t label;
  double operator[](Nu::Latent latent) const { return double{latents[latent]}; }
  bool track() const { return latents[Nu::kHypothesis] != 0; }
};

std::vector<ParamSetting> list_of(const Settings& settings) {
  std::vector<ParamSetting> list;
  for (const auto& [name, value] : settings) list.push_back({name, value, {}});
  return list;
}

/// A generator with all truth columns and room for every pulse.
std::vector<ExportedEvent> make(Settings settings, std::uint64_t count, std::uint64_t seed = 41) {
  settings.insert({{"output", "truth"}, {"items", "3000"}});
  const auto generator = make_generator("nu_telescope", 1, list_of(settings));
  const auto samples = test::collect(*generator, {seed, 0, count});
  std::vector<ExportedEvent> events(samples.count());
  for (std::size_t i = 0; i < events.size(); ++i) {
    events[i].label = samples.label[i];
    for (std::size_t l = 0; l < Nu::kLatents; ++l)
      events[i].latents.push_back(samples.latent(i, l));
    const auto pulses = static_cast<std::size_t>(events[i][Nu::kHits]);
    EXPECT_LE(pulses * Nu::kFeatures, samples.elements) << "raise items";
    events[i].pulses.resize(pulses);
    for (std::size_t k = 0; k < pulses * Nu::kFeatures; ++k)
      events[i].pulses[k / Nu::kFeatures].value[k % Nu::kFeatures] = double{samples.image(i)[k]};
  }
  return events;
}

// ---- expectations per module, from the page, in f64 --------------------------------------------

TEST(NuTelescope, CountsOverflowAndSaturation) {
  const Settings settings = {{"energy_low", "1e5"},
                             {"energy_high", "1e6"},
                             {"saturation", "5"},
                             {"items", "200"},
                             {"noise_rate", "0"}};
  const auto generator = make_generator("nu_telescope", 1, list_of(settings));
  SampleMaker maker(*generator, {});
  unsigned long long left_out = 0, samples = 0;
  maker.make({3, 0, 60}, [&](const HostSamples& made) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(made.count()); ++i) {
      const auto hits = static_cast<std::int64_t>(made.latents()[i * Nu::kLatents + Nu::kHits]);
      ASSERT_EQ(made.items()[i], std::min<std::int64_t>(hits, 200));
      left_out += hits > 200 ? static_cast<unsigned long long>(hits - 200) : 0;
      samples += hits > 200 ? 1 : 0;
    }
  });
  EXPECT_GT(samples, 5u);
  EXPECT_EQ(maker.overflow().items, left_out);
  EXPECT_EQ(maker.overflow().samples, samples);
  Settings all = settings;
  all["items"] = "20000";
  for (const auto& event : make(all, 10)) {
    std::map<std::size_t, int> counts;
    for (const ExportedPulse& pulse : event.pulses) counts[pulse.sensor()] += 1;
    double full = 0;
    for (const auto& [sensor, count] : counts) {
      ASSERT_LE(count, 5);
      full += count == 5 ? 1 : 0;
    }
    EXPECT_EQ(event[Nu::kSaturated], full);
  }
}

// Compares a row that is too short for its pulses with a row that has room for all of them. The
// short row must keep some of the pulses, in order, with the same flags. Noise, light, and the
// light of each string are runs of consecutive pulses, so each keeps its share to within one pulse.
TEST(NuTelescope, KeepsAnUnbiasedSampleOfItsPulses) {
  constexpr std::size_t kItems = 512, kEvents = 200;
  const Settings settings = {{"energy_low", "5000"}, {"output", "truth"}};
  const auto events = make(settings, kEvents);
  const auto generator = make_generator("nu_telescope", 1, list_of(settings));
  const auto samples = test::collect(*generator, {41, 0, kEvents});
  int truncated = 0;
  for (std::size_t i = 0; i < kEvents; ++i) {
    const auto& all = events[i].pulses;
    if (all.size() <= kItems) continue;
    ++truncated;
    const double share = double{kItems} / static_cast<double>(all.size());
    std::map<std::size_t, double> light;  // per string: kept pulses minus their expected number
    double noise = 0;
    std::size_t kept = 0;
    for (const ExportedPulse& pulse : all) {
      bool same = kept < kItems;
      for (std::size_t k = 0; same && k < Nu::kFeatures; ++k)
        same = double{samples.image(i)[kept * Nu::kFeatures + k]} == pulse.value[k];
      if (same) ++kept;
      (pulse.light() ? light[pulse.sensor() / 60] : noise) += (same ? 1 : 0) - share;
    }
    EXPECT_EQ(kept, kItems);
    EXPECT_LE(std::abs(noise), 1);
    for (const auto& [string, excess] : light) EXPECT_LE(std::abs(excess), 1) << string;
  }
  EXPECT_GT(truncated, 5);
}

TEST(NuTelescope, RefusesImpossibleParameters) {
  const auto message = [](const Settings& settings) {
    return test::message_of(ErrorKind::config,
                            [&] { make_generator("nu_telescope", 1, list_of(settings)); });
  };
  test::expect_parts(message({{"zenith_low", "2"}, {"zenith_high", "1"}}),
                     {"is larger than zenith_high"});
  test::expect_parts(message({{"azimuth_low", "2"}, {"azimuth_high", "1"}}), {"azimuth_low"});
  test::expect_parts(message({{"energy_low", "2e4"}}),
                     {"energy_low = 20000 is larger than energy_high"});
  test::expect_parts(message({{"window_low", "9000"}}),
                     {"window_low = 9000 is larger than window_high"});
}

}  // namespace
}  // namespace wellspring
