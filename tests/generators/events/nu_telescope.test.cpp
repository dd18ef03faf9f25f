#include "generators/events/nu_telescope.h"

#include "generators/generator.h"
#include "tests/generators/collect.h"
#include "tests/support/error_testing.h"
#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numbers>
#include <string>
#include <utility>
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

constexpr double kC = 0.299792458, kPhase = 1.3195, kGroup = 1.35634;
constexpr double kRho = 1 / 556.7 + kC / kGroup / 98;

struct Expectation {
  double distance, time, shape, photons;
};

Expectation expectation(const ExportedEvent& event, double x, double y, double z) {
  const double p[3] = {-event[Nu::kDirectionX], -event[Nu::kDirectionY], -event[Nu::kDirectionZ]};
  const double r[3] = {x - event[Nu::kVertexX], y - event[Nu::kVertexY], z - event[Nu::kVertexZ]};
  const double along = r[0] * p[0] + r[1] * p[1] + r[2] * p[2];
  const double far = std::hypot(r[0], r[1], r[2]);
  const double sine = std::sqrt(1 - 1 / (kPhase * kPhase));
  constexpr double kSeen = 30000 * 0.005;
  Expectation result{};
  double up = 0;
  if (event.track()) {
    const double d = std::hypot(r[0] - along * p[0], r[1] - along * p[1], r[2] - along * p[2]);
    up = p[2] / kPhase + sine * (r[2] - along * p[2]) / d;
    result.distance = d;
    result.time = (along + d * (kGroup - 1 / kPhase) / sine) / kC;
    result.photons = kSeen * (1 + 0.00175 * event[Nu::kEnergy]) /
                     (2 * std::numbers::pi * sine * std::max(d, 1.0));
  } else {
    up = r[2] / far;
    result.distance = far;
    result.time = far * kGroup / kC;
    result.photons = kSeen * 5.3 * event[Nu::kEnergy] * (1 + 0.5 * along / far) /
                     (4 * std::numbers::pi * std::pow(std::max(far, 1.0), 2));
  }
  result.time += event[Nu::kStart];
  result.photons *= std::exp(-result.distance / 30) * (1 + 0.6 * up);
  result.shape = (0.8395 * result.distance + 3.094 - 3.946 * up + 4.636 * up * up) / 33.29;
  return result;
}
Expectation expectation(const ExportedEvent& event, const ExportedPulse& pulse) {
  return expectation(event, pulse[Nu::kX], pulse[Nu::kY], pulse[Nu::kZ]);
}

double lower_gamma(double shape, double x) {
  return 1 - test::upper_gamma(shape, x);
}

// With more than 80,000 delays, an error of 2 % in rate or shape moves the mean and the largest bin
// by 6 standard errors. Rounding to f32 moves a delay by 1e-6 of its value, or by 2^-24 of a time
// of 5000 ns. A delay is never negative.
TEST(NuTelescope, DelaysFollowPandelsDistribution) {
  std::map<int, std::vector<double>> bins;
  double sum = 0, shapes = 0;
  std::size_t count = 0;
  for (const auto& event :
       make({{"energy_low", "3000"}, {"noise_rate", "0"}, {"saturation", "200"}}, 500)) {
    for (const ExportedPulse& pulse : event.pulses) {
      const Expectation expected = expectation(event, pulse);
      ASSERT_GE(pulse[Nu::kDelay], 0);
      const double x = pulse[Nu::kDelay] * kRho;
      const double edges[] = {10, 20, 30, 45, 60, 90};
      const int bin =
          static_cast<int>(std::upper_bound(edges, edges + 6, expected.distance) - edges);
      bins[bin].push_back(lower_gamma(expected.shape, x));
      sum += x;
      shapes += expected.shape;
      ++count;
    }
  }
  EXPECT_GT(count, 80000u);
  EXPECT_GT(shapes, 62500);  // 0.02 sqrt(shapes) > 5
  EXPECT_EQ(bins.size(), 7u);
  for (const auto& [bin, values] : bins)
    EXPECT_GT(test::kolmogorov_p(values, [](double u) { return u; }), test::kGate) << bin;
  EXPECT_GT(test::normal_p((sum - shapes) / std::sqrt(shapes)), test::kGate);
}

/// The same event each time, but with different photons.
Settings fixed(const std::string& hypothesis) {
  return {{"hypotheses", hypothesis}, {"vertex_radius", "0"},
          {"vertex_height", "0"},     {"zenith_low", "1"},
          {"zenith_high", "1"},       {"azimuth_low", "2"},
          {"azimuth_high", "2"},      {"energy_low", "3000"},
          {"energy_high", "3000"},    {"start", "0"},
          {"strings", "24"},          {"modules", "31"},
          {"saturation", "1024"},     {"noise_rate", "0"}};
}

// With 1e5 photons or more, an error of 2 % in their number is 6 standard errors. f32 arithmetic
// and functions are off by about 1e-6 of the expectation.
TEST(NuTelescope, PhotonCountsArePoissonDistributed) {
  for (const std::string hypothesis : {"track", "cascade"}) {
    constexpr std::size_t kEvents = 3500, kSensors = 24 * 31;
    const auto events = make(fixed(hypothesis), kEvents);
    std::vector<std::array<double, kSensors>> counts(kEvents);
    double all = 0;
    for (std::size_t i = 0; i < kEvents; ++i) {
      for (const ExportedPulse& pulse : events[i].pulses) counts[i][pulse.sensor()] += 1;
      all += static_cast<double>(events[i].pulses.size());
    }
    const telescope::Array array = telescope::triangular_array(24, 31, 125, 17);
    double expected = 0;
    std::vector<double> observed, means;
    int shown = 0;
    for (int s = 0; s < 24; ++s) {
      for (int m = 0; m < 31; ++m) {
        const telescope::Vector at = array.place(s, m);
        const double mean =
            expectation(events[0], double{at.x}, double{at.y}, double{at.z}).photons;
        const auto sensor = static_cast<std::size_t>(31 * s + m);
        double total = 0;
        for (const auto& event : counts) total += event[sensor];
        expected += mean * kEvents;
        if (mean * kEvents < 10) continue;
        observed.push_back(total);
        means.push_back(mean * kEvents);
        if (mean < 1 || mean > 8 || shown++ % 4 != 0) continue;
        std::vector<double> histogram(12), law(12);
        double chance = std::exp(-mean), tail = 1;
        for (std::size_t k = 0; k + 1 < law.size(); ++k) {
          law[k] = chance * kEvents;
          tail -= chance;
          chance *= mean / static_cast<double>(k + 1);
        }
        law.back() = tail * kEvents;
        for (const auto& event : counts)
          histogram[std::min<std::size_t>(static_cast<std::size_t>(event[sensor]), 11)] += 1;
        while (law.size() > 2 && law.back() < 8) {  // merges cells with few expected photons
          law[law.size() - 2] += law.back();
          histogram[law.size() - 2] += histogram.back();
          law.pop_back();
          histogram.pop_back();
        }
        while (law.size() > 2 && law[0] < 8) {
          law[1] += law[0];
          histogram[1] += histogram[0];
          law.erase(law.begin());
          histogram.erase(histogram.begin());
        }
        EXPECT_GT(test::chi_square_p(histogram, law), test::kGate) << mean;
      }
    }
    EXPECT_GT(shown, 3);
    EXPECT_GT(all, 1e5) << hypothesis;
    EXPECT_GT(test::normal_p((all - expected) / std::sqrt(expected)), test::kGate) << hypothesis;
    double chi2 = 0;  // the terms are independent, with one degree of freedom each
    for (std::size_t i = 0; i < observed.size(); ++i)
      chi2 += (observed[i] - means[i]) * (observed[i] - means[i]) / means[i];
    EXPECT_GT(observed.size(), 100u);
    EXPECT_GT(test::upper_gamma(0.5 * static_cast<double>(observed.size()), 0.5 * chi2),
              test::kGate);
  }
}

// The earliest of n delays is later than t with probability (1 - F(t))^n.
TEST(NuTelescope, FirstPhotonIsTheEarliestOfItsModule) {
  std::vector<double> values;
  for (const auto& event :
       make({{"jitter", "0"}, {"noise_rate", "0"}, {"energy_low", "1000"}}, 400)) {
    std::map<std::size_t, std::pair<std::size_t, ExportedPulse>> first;
    for (const ExportedPulse& pulse : event.pulses) {
      auto& [count, earliest] = first.try_emplace(pulse.sensor(), 0, pulse).first->second;
      ++count;
      if (pulse[Nu::kDelay] < earliest[Nu::kDelay]) earliest = pulse;
    }
    for (const auto& [sensor, found] : first) {
      const auto& [count, pulse] = found;
      // Compares delays, because rounding large times would lose small delays.
      const double late =
          test::upper_gamma(expectation(event, pulse).shape, pulse[Nu::kDelay] * kRho);
      if (count >= 2) values.push_back(1 - std::pow(late, static_cast<double>(count)));
    }
  }
  EXPECT_GT(values.size(), 4000u);
  EXPECT_GT(test::kolmogorov_p(values, [](double u) { return u; }), test::kGate);
}

TEST(NuTelescope, EventsHaveTheExpectedDistributions) {
  const auto events =
      make({{"noise_rate", "0"}, {"strings", "1"}, {"modules", "1"}, {"items", "64"}}, 8000);
  std::map<std::string, std::vector<double>> even;
  double tracks = 0;
  for (const auto& event : events) {
    tracks += event.label;
    ASSERT_EQ(event.label, event.track() ? 1 : 0);
    even["cosine"].push_back(0.5 * (event[Nu::kDirectionZ] + 1));
    even["azimuth"].push_back(event[Nu::kAzimuth] / (2 * std::numbers::pi));
    even["energy"].push_back((event[Nu::kLogEnergy] - 2) / 2);
    even["radius"].push_back((std::pow(event[Nu::kVertexX], 2) + std::pow(event[Nu::kVertexY], 2)) /
                             250000);
    even["around"].push_back(
        std::atan2(event[Nu::kVertexY], event[Nu::kVertexX]) / (2 * std::numbers::pi) + 0.5);
    even["height"].push_back(event[Nu::kVertexZ] / 1000 + 0.5);
    even["start"].push_back(event[Nu::kStart] / 1000 + 0.5);
    ASSERT_NEAR(std::log10(event[Nu::kEnergy]), event[Nu::kLogEnergy], 2e-6);
    const double sine = std::sin(event[Nu::kZenith]);
    ASSERT_NEAR(event[Nu::kDirectionX], sine * std::cos(event[Nu::kAzimuth]), 1e-6);
    ASSERT_NEAR(event[Nu::kDirectionY], sine * std::sin(event[Nu::kAzimuth]), 1e-6);
    ASSERT_NEAR(event[Nu::kDirectionZ], std::cos(event[Nu::kZenith]), 1e-6);
  }
  for (const auto& [name, values] : even)
    EXPECT_GT(test::kolmogorov_p(values, [](double u) { return u; }), test::kGate) << name;
  EXPECT_GT(test::normal_p((tracks - 4000) / std::sqrt(2000.0)), test::kGate);
  for (const std::string one : {"track", "cascade"}) {
    for (const auto& event :
         make({{"hypotheses", one}, {"zenith_low", "1"}, {"zenith_high", "1.2"}}, 20)) {
      EXPECT_EQ(event.label, 0);
      EXPECT_EQ(event.track(), one == "track");
      EXPECT_GE(event[Nu::kZenith], 1 - 1e-6);
      EXPECT_LE(event[Nu::kZenith], 1.2 + 1e-6);
    }
  }
}

// Sums count whole steps, so rounding moves each pulse by at most 2^-6 m and 2^-3 ns. Velocities
// are quotients of the sums, rounded to f32.
TEST(NuTelescope, FeaturesSummariseThePulses) {
  const Settings settings = {{"unit", "100"}, {"time_unit", "1000"}, {"energy_low", "50"}};
  const auto events = make(settings, 300);
  Settings other = settings;
  other["output"] = "features";
  const auto generator = make_generator("nu_telescope", 1, list_of(other));
  const auto features = test::collect(*generator, {41, 0, 300});
  ASSERT_EQ(features.elements, std::size_t{Nu::kEventFeatures});
  int lone = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const float* const x = features.image(i);
    ASSERT_EQ(features.latent(i, Nu::kHits), events[i].latents[Nu::kHits]);
    double n = 0, charge = 0, sum[4] = {}, square[4] = {}, product[3] = {};
    for (const ExportedPulse& pulse : events[i].pulses) {
      charge += pulse[Nu::kCharge];
      if (pulse[Nu::kAuxiliary] != 0) continue;
      n += 1;
      const double at[4] = {pulse[Nu::kX], pulse[Nu::kY], pulse[Nu::kZ], pulse[Nu::kTime]};
      for (int k = 0; k < 4; ++k) {
        sum[k] += at[k];
        square[k] += at[k] * at[k];
        if (k < 3) product[k] += at[k] * at[3];
      }
    }
    const auto pulses = static_cast<double>(events[i].pulses.size());
    EXPECT_NEAR(x[Nu::kLogPulses], std::log(1 + pulses), 1e-6 * 8);
    EXPECT_NEAR(x[Nu::kLogCoincident], std::log(1 + n), 1e-6 * 8);
    EXPECT_NEAR(x[Nu::kLogModules], std::log(1 + events[i][Nu::kHitModules]), 1e-6 * 8);
    EXPECT_NEAR(x[Nu::kLogCharge], std::log(1 + charge), 1e-3);
    lone += n == 0 ? 1 : 0;
    const double by = std::max(n, 1.0), time = sum[3] / by;
    const double spread = square[3] / by - time * time;
    for (int k = 0; k < 4; ++k) {
      const double mean = sum[k] / by, variance = std::max(0.0, square[k] / by - mean * mean);
      EXPECT_NEAR(x[Nu::kMeans + k], mean, 3e-4);
      EXPECT_NEAR(x[Nu::kSpreads + k], std::sqrt(variance), 1e-3);
      if (k == 3) continue;
      const double slope =
          n == 0 ? 0 : (product[k] / by - mean * time) / spread * 0.1 / kC;  // 100 m in 1000 ns
      // 2^-6 m and 2^-3 ns, divided by the spread of times.
      const double rounded = (0x1p-6 / kC + 0x1p-3 * std::abs(slope)) / (1000 * std::sqrt(spread));
      EXPECT_NEAR(x[Nu::kVelocity + k], std::clamp(slope, -2.0, 2.0),
                  n == 0 ? 0 : 1e-5 + 2 * rounded);
    }
  }
  EXPECT_LT(lone, 100);
}

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

// Compares the row of an event that has too many pulses with a row that has room for all. It must
// keep some of them, in their order, with the same flags. Noise, light, and the light of each
// string are runs of consecutive pulses, so each keeps its share to within one pulse.
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
