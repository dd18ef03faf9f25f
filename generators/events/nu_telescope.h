// Generator `nu_telescope`: neutrino events in a telescope of strings in ice, as sets of pulses or
// as a few features; the class is the hypothesis, cascade or track. Photon delays follow Pandel's
// distribution. Noise is added, and pulses without a coincidence on their string are auxiliary
// (telescope.h). Created through the registry; host and device.
//
// Most modules see no light. A team visits four at a time with one random block: each word sets the
// gap before a module's first photon, and a bound excludes most modules (telescope::may_expect).
// The members then divide the pulses, find which are auxiliary, and write them.
#pragma once

#include "core/config/params.h"
#include "generators/events/line_fit.h"
#include "generators/events/systematic_sample.h"
#include "generators/events/team_sums.h"
#include "generators/events/telescope.h"
#include "generators/sample_info.h"
#include "kernels/batch/sample.h"
#include "kernels/emission/event_run.h"
#include "kernels/emission/forms.h"
#include "kernels/random/gamma.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"
#include "kernels/random/philox_run.h"
#include "kernels/runtime/simd.h"
#include "kernels/runtime/team.h"

#include <cstddef>
#include <cstdint>

namespace wellspring {

struct NuTelescope {
  enum class Output : std::uint8_t { pulses, truth, features };
  enum class Hypotheses : std::uint8_t { both, track, cascade };

  static constexpr int kMembers = 128, kMostMembers = 256, kMostItems = 131072;
  static constexpr std::uint32_t kMostPhotons = 1024;    ///< per module
  static constexpr std::uint32_t kMostNoise = 1u << 16;  ///< per string
  /// Blocks of purpose texture: first the delays of all photons, one range per try, then the gaps.
  static constexpr std::uint32_t kAllPhotons = 1u << 24;
  static constexpr std::uint32_t kFirstGap = 1u << 28, kFirstModules = 1u << 29;
  /// Block of purpose noise; photons use lower blocks.
  static constexpr std::uint32_t kFirstNoise = 1u << 28;
  static constexpr float kLeastCharge = 0.05f;
  static constexpr int kCompany = 2;  ///< number of modules on either side that can confirm a pulse

  struct Params {
    Output output = Output::pulses;
    Hypotheses hypotheses = Hypotheses::both;
    int strings = 78, modules = 60;
    double string_spacing = 125, module_spacing = 17;
    double zenith_low = 0, zenith_high = 3.14159265358979312;
    double azimuth_low = 0, azimuth_high = 6.28318530717958623;
    double vertex_radius = 500, vertex_height = 500;
    double energy_low = 100, energy_high = 10000;
    double start = 500;
    double phase_index = 1.3195, group_index = 1.35634;
    double tau = 556.7, lambda = 33.29, lambda_a = 98;
    double jitter = 3;
    double light = 30000, track_gain = 0.00175, cascade_length = 5.3, cascade_forward = 0.5;
    double area = 0.005, attenuation = 30, acceptance = 0.6;
    int saturation = 64;
    double charge_width = 0.3;
    double noise_rate = 500, window_low = -4000, window_high = 8000;
    double coincidence = 1000;
    double unit = 1, time_unit = 1;
    int items = 512;
  };
  static const ParamTable<Params>& table();
  static SampleInfo describe(const Params& params);
  static telescope::Optics optics_of(const Params& params);

  enum Latent : std::uint8_t {
    kHypothesis,
    kDirectionX,
    kDirectionY,
    kDirectionZ,
    kAzimuth,
    kZenith,
    kVertexX,
    kVertexY,
    kVertexZ,
    kEnergy,
    kLogEnergy,
    kStart,
    kHits,
    kNoiseHits,
    kHitModules,
    kSaturated,
    kLatents,
  };
  enum Feature : std::uint8_t {
    kX,
    kY,
    kZ,
    kTime,
    kCharge,
    kAuxiliary,
    kSensor,
    kGeometricTime,
    kDelay,
    kIsLight,
    kFeatures,
  };
  enum EventFeature : std::uint8_t {
    kLogPulses,
    kLogCoincident,
    kLogModules,
    kLogCharge,
    kMeans,                    ///< x, y, z, time
    kSpreads = kMeans + 4,     ///< one per mean
    kVelocity = kSpreads + 4,  ///< x, y, z
    kEventFeatures = kVelocity + 3,
  };

  /// Throws config errors.
  explicit NuTelescope(const Params& params);

  SampleLayout layout() const {
    return output_ == Output::features ? SampleLayout::event(kEventFeatures)
                                       : SampleLayout::set(items_, features_);
  }
  int members() const { return kMembers; }
  /// Cells: the index of each module's first pulse, then of each string's first noise pulse, then
  /// the total; then the time of the first pulse in each module, as telescope::time_key.
  using EventCell = std::uint32_t;
  static constexpr forms::EventTeams kForm = {.cells = true};
  WS_HD std::int64_t cells() const { return 2 * sensors() + array_.strings + 1; }
  std::size_t scratch_bytes() const {
    return sizeof(telescope::Array) + sizeof(Shared) + kMostMembers * sizeof(std::uint32_t) + 32;
  }

  template <class Team, class Row>
  WS_HD void make(Team& team, const SampleKey& key, Row& row, Truth<kLatents>& truth,
                  EventCell* cells) const {
    auto& array = *team.template scratch<telescope::Array>(1);
    copy_together(team, &array_, &array);  // valid after the barrier below
    Shared& shared = *team.template scratch<Shared>(1);
    auto* const sums = team.template scratch<std::uint32_t>(kMostMembers);
    EventCell* const first = cells + sensors() + array_.strings + 1;
    if (team.rank() == 0) {
      shared = Shared{};
      shared.particle = particle(key.rng);
    }
    for (int i = team.rank(); i < sensors(); i += team.size()) first[i] = 0;
    team.sync();
    const telescope::Event& event = shared.particle.event;

    count(team, key.rng, array, event, shared, cells);
    add_up(team, cells, sensors() + array.strings, sums);
    each_pulse(team, key.rng, array, event, cells, [&](std::uint32_t, const Pulse& pulse) {
      team.atomic_max(&first[pulse.sensor], telescope::time_key(pulse.time));
    });
    team.sync();
    count_modules(team, first, shared);
    const std::uint32_t pulses = cells[sensors() + array.strings];
    const SystematicSample kept(pulses, static_cast<std::uint32_t>(items_),
                                shared.particle.kept_word);
    PulseSums own{};
    each_pulse(team, key.rng, array, event, cells, [&](std::uint32_t item, const Pulse& pulse) {
      const bool confirmed = is_confirmed(first, pulse.sensor);
      if (output_ == Output::features) {
        own.add(pulse.charge);
        if (confirmed) own.add(place_of(array, pulse.sensor), pulse.time);
      } else {
        const int place = kept.place(item);
        if (place >= 0) write(array, pulse, confirmed, place, row);
      }
    });
    if (output_ == Output::features) own.share(team, shared.sums);
    team.sync();
    if (output_ == Output::features) {
      if (team.rank() == 0) summarise(shared, pulses, row);
    } else {
      row.set_count(static_cast<int>(pulses));
    }
    if (team.rank() == 0) tell(shared, pulses, pulses - cells[sensors()], truth);
    team.sync();  // the next event reuses the cells
  }

 private:
  struct Pulse {
    int sensor;
    float time, charge;
    float geometric_time, delay;
    bool light;
  };
  struct Particle {
    telescope::Event event;
    float cosine, azimuth, energy, log_energy;
    std::uint32_t kept_word;  ///< random word that selects the kept pulses
  };

  struct Shared {
    Particle particle;
    PulseSums sums;
    std::uint32_t modules, saturated;
  };

  WS_HD std::int32_t sensors() const { return array_.strings * array_.modules; }

  WS_INLINE static telescope::Vector place_of(const telescope::Array& array, int sensor) {
    return array.place(sensor / array.modules, sensor % array.modules);
  }

  WS_INLINE Particle particle(const SampleRng& rng) const {
    const Philox4 way = rng.block(Purpose::scene, 0), place = rng.block(Purpose::scene, 1);
    Particle made{};
    telescope::Event& event = made.event;
    const bool upper = (rng.block(Purpose::label, 0).word[0] >> 31) != 0;
    const bool track = hypotheses_ == Hypotheses::both ? upper : hypotheses_ == Hypotheses::track;
    event.hypothesis = track ? telescope::Hypothesis::track : telescope::Hypothesis::cascade;
    made.cosine = math::clamp(math::fma(unit_float(way.word[0]), cosine_span_, cosine_low_), -1, 1);
    const float sine = math::sqrt((1 - made.cosine) * (1 + made.cosine));
    made.azimuth = math::fma(unit_float(way.word[1]), azimuth_span_, azimuth_low_);
    const math::SinCos turn = math::sincos_turns(made.azimuth);
    // The latents point to the particle's origin; `direction` points along its travel.
    event.direction = {-(sine * turn.cosine), -(sine * turn.sine), -made.cosine};
    made.log_energy = math::fma(unit_float(way.word[2]), log_span_, log_low_);
    made.energy = math::clamp(math::exp(made.log_energy), energy_low_, energy_high_);
    event.start = start_ * math::fma(2, unit_float(way.word[3]), -1);
    const float radius = vertex_radius_ * math::sqrt(unit_float(place.word[0]));
    const math::SinCos around = math::sincos_turns(unit_float(place.word[1]));
    event.vertex = {radius * around.cosine, radius * around.sine,
                    vertex_height_ * math::fma(2, unit_float(place.word[2]), -1)};
    telescope::light_up(optics_, made.energy, event);
    made.kept_word = place.word[3];
    return made;
  }

  /// Counts pulses: light per module, then noise per string.
  template <class Team>
  WS_INLINE void count(Team& team, const SampleRng& rng, const telescope::Array& array,
                       const telescope::Event& event, Shared& shared, EventCell* cells) const {
    // Most modules are too far away to see light, so a whole run of blocks is tested at once; each
    // block serves four modules.
    constexpr int kRun = WS_EVENT_LANES;
    const telescope::Event seen = event;  // copies, so that stores cannot alias them
    const telescope::Optics optics = optics_;
    const int fours = (array.modules + 3) / 4, runs = (fours + kRun - 1) / kRun;
    std::uint32_t saturated = 0;
    for (int g = team.rank(); g < array.strings * runs; g += team.size()) {
      const int string = g / runs, first = g % runs * kRun;
      const auto words = consecutive_blocks<kRun>(
          rng, Purpose::texture,
          kFirstModules + static_cast<std::uint32_t>(string * fours + first));
      WS_UNROLL(4)
      for (int word = 0; word < 4; ++word) {
        float u[kRun];
        std::int32_t may_expect[kRun];
        in_lanes<kRun>([&](int i) WS_INLINED {
          u[i] = unit_float_open(words.word[word][i]);
          const telescope::Vector place = array.place(string, 4 * (first + i) + word);
          const float squared = telescope::distance_squared(seen, place);
          may_expect[i] = telescope::may_expect(optics, seen, squared, 1 - u[i]) ? 1 : 0;
        });
        for (int i = 0; i < kRun; ++i) {
          const int module = 4 * (first + i) + word;
          if (module >= array.modules) break;
          std::uint32_t photons = 0;
          if (may_expect[i] != 0) {
            const telescope::Ray ray = telescope::ray(optics_, event, array.place(string, module));
            const float expected = telescope::expected_photons(optics_, event, ray);
            photons = poisson(rng, string * array.modules + module, u[i], expected);
          }
          saturated += photons == saturation_ ? 1 : 0;
          cells[string * array.modules + module] = photons;
        }
      }
    }
    for (int s = team.rank(); s < array.strings; s += team.size())
      cells[sensors() + s] =
          each_noise(rng, array, s, 0, kMostNoise, [](std::uint32_t, const Pulse&) {});
    if (saturated > 0) team.atomic_add(&shared.saturated, saturated);
  }

  /// Number of photons in a Poisson process with exponential gaps, at most `saturation`. The first
  /// gap comes from `u`.
  WS_INLINE std::uint32_t poisson(const SampleRng& rng, int sensor, float u, float expected) const {
    if (expected < telescope::kFewest) return 0;
    double sum = double{-math::log(u)};
    std::uint32_t photons = 0;
    Philox4 words{};
    while (sum < double{expected} && ++photons < saturation_) {
      const std::uint32_t gap = photons - 1;
      if (gap % 4 == 0) {
        words = rng.block(
            Purpose::texture,
            kFirstGap + static_cast<std::uint32_t>(sensor) * (kMostPhotons / 4) + gap / 4);
      }
      sum += double{-math::log(unit_float_open(words.word[0]))};
      words = {{words.word[1], words.word[2], words.word[3], 0}};
    }
    return photons;
  }

  /// Calls `take(item, pulse)` for this member's pulses.
  template <class Team, class Take>
  WS_INLINE void each_pulse(Team& team, const SampleRng& rng, const telescope::Array& array,
                            const telescope::Event& event, const EventCell* cells,
                            const Take& take) const {
    constexpr int kRun = WS_EVENT_LANES;
    const std::uint32_t light = cells[sensors()];
    for (auto first = static_cast<std::uint32_t>(team.rank() * kRun); first < light;
         first += static_cast<std::uint32_t>(team.size() * kRun)) {
      const std::uint32_t left = light - first;
      const int here = kRun > 1 && left < kRun ? static_cast<int>(left) : kRun;
      Photons<kRun> photons;
      for (int i = 0; i < kRun; ++i) {  // pads with the last pulse
        const std::uint32_t item = first + static_cast<std::uint32_t>(i < here ? i : here - 1);
        const int sensor = sensor_of(cells, item);
        const telescope::Vector place = place_of(array, sensor);
        photons.sensor[i] = sensor;
        photons.number[i] =
            static_cast<std::uint32_t>(sensor) * kMostPhotons + item - cells[sensor];
        photons.x[i] = place.x;
        photons.y[i] = place.y;
        photons.z[i] = place.z;
      }
      draw(rng, event, photons);
      for (int i = 0; i < here; ++i) take(first + static_cast<std::uint32_t>(i), photons.of(i));
    }
    for (int s = team.rank(); s < array.strings; s += team.size()) {
      const std::uint32_t begin = cells[sensors() + s], past = cells[sensors() + s + 1];
      each_noise(rng, array, s, begin, past, take);
    }
  }

  /// The module of a light pulse: the last module whose pulses start at or before it.
  WS_INLINE int sensor_of(const EventCell* cells, std::uint32_t item) const {
    int low = 0, high = sensors() - 1;
    while (low < high) {
      const int middle = (low + high + 1) / 2;
      if (cells[middle] <= item) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

  /// N light pulses; `number` is the index among all possible pulses.
  template <int N>
  struct Photons {
    int sensor[N];
    std::uint32_t number[N];
    alignas(N * sizeof(float)) float x[N], y[N], z[N];
    float time[N], charge[N], geometric_time[N], delay[N];

    WS_INLINE Pulse of(int i) const {
      return {sensor[i], time[i], charge[i], geometric_time[i], delay[i], true};
    }
  };

  template <int N>
  WS_INLINE void draw(const SampleRng& rng, const telescope::Event& event,
                      Photons<N>& photons) const {
    const telescope::Event seen = event;  // copies, so that stores cannot alias them
    const telescope::Optics optics = optics_;
    float shape[N];
    in_lanes<N>([&](int i) WS_INLINED {
      const telescope::Vector place = {photons.x[i], photons.y[i], photons.z[i]};
      const telescope::Ray ray = telescope::ray(optics, seen, place);
      shape[i] = telescope::delay_shape(optics, ray);
      photons.geometric_time[i] = telescope::geometric_time(optics, seen, ray);
    });
    draw_gammas<N>(rng, Purpose::texture, photons.number, kAllPhotons, shape, photons.delay);
    const PhiloxRun<N> random = blocks_of_draws<N>(rng, Purpose::noise, photons.number);
    in_lanes<N>([&](int i) WS_INLINED {
      const math::NormalPair normal = math::box_muller(random.word[0][i], random.word[1][i]);
      photons.delay[i] /= optics.rho;
      photons.time[i] =
          math::fma(jitter_, normal.first, photons.geometric_time[i] + photons.delay[i]);
      photons.charge[i] = charge(normal.second);
    });
  }

  WS_INLINE float charge(float normal) const {
    return math::max(math::fma(charge_width_, normal, 1.0f), kLeastCharge);
  }

  /// Calls `take(item, pulse)` for the noise of a string. The noise is a Poisson process along the
  /// modules, with exponential gaps. Items start at `begin` and stay below `past`; returns the end.
  template <class Take>
  WS_INLINE std::uint32_t each_noise(const SampleRng& rng, const telescope::Array& array,
                                     int string, std::uint32_t begin, std::uint32_t past,
                                     const Take& take) const {
    if (noise_mean_ == 0) return begin;
    const std::uint32_t first_block = kFirstNoise + static_cast<std::uint32_t>(string) * kMostNoise;
    double sum = 0;
    std::uint32_t item = begin;
    for (; item < past; ++item) {
      const Philox4 random = rng.block(Purpose::noise, first_block + (item - begin));
      sum += double{-math::log(unit_float_open(random.word[0]))};
      const double module = sum / noise_mean_;  // position along the string, in modules
      if (!(module < double{static_cast<float>(array.modules)})) break;
      Pulse pulse;
      pulse.sensor = string * array.modules + static_cast<int>(module);
      pulse.time = math::fma(unit_float(random.word[1]), window_span_, window_low_);
      pulse.charge = charge(math::box_muller(random.word[2], random.word[3]).first);
      pulse.geometric_time = pulse.delay = 0;
      pulse.light = false;
      take(item, pulse);
    }
    return item;
  }

  /// True if a nearby module on the same string has its first pulse at about the same time.
  WS_INLINE bool is_confirmed(const EventCell* first, int sensor) const {
    const int module = sensor % array_.modules;
    const float time = telescope::time_of(first[sensor]);
    bool confirmed = false;
    for (int off = -kCompany; off <= kCompany; ++off) {
      if (off == 0 || module + off < 0 || module + off >= array_.modules) continue;
      const std::uint32_t key = first[sensor + off];
      confirmed |= key != 0 && math::abs(telescope::time_of(key) - time) <= coincidence_;
    }
    return confirmed;
  }

  template <class Team>
  WS_INLINE void count_modules(Team& team, const EventCell* first, Shared& shared) const {
    std::uint32_t modules = 0;
    for (int i = team.rank(); i < sensors(); i += team.size()) modules += first[i] != 0 ? 1 : 0;
    if (modules > 0) team.atomic_add(&shared.modules, modules);
  }

  template <class Row>
  WS_INLINE void write(const telescope::Array& array, const Pulse& pulse, bool confirmed, int item,
                       Row& row) const {
    const telescope::Vector place = place_of(array, pulse.sensor);
    row.set_item(item, {place.x * per_unit_, place.y * per_unit_, place.z * per_unit_,
                        pulse.time * per_time_unit_, pulse.charge, confirmed ? 0.0f : 1.0f});
    if (output_ != Output::truth) return;
    row.set_item(item,
                 {static_cast<float>(pulse.sensor), pulse.geometric_time * per_time_unit_,
                  pulse.delay * per_time_unit_, pulse.light ? 1.0f : 0.0f},
                 kSensor);
  }

  template <class Row>
  WS_INLINE void summarise(const Shared& shared, std::uint32_t pulses, Row& row) const {
    const LineFit fit = shared.sums.fit();
    row.set(kLogPulses, math::log(1 + static_cast<float>(pulses)));
    row.set(kLogCoincident, math::log(1 + fit.pulses));
    row.set(kLogModules, math::log(1 + static_cast<float>(shared.modules)));
    row.set(kLogCharge, math::log(1 + fit.charge));
    WS_UNROLL(4)
    for (int i = 0; i < 4; ++i) {
      const float scale = i < 3 ? per_unit_ : per_time_unit_;
      row.set(kMeans + i, fit.mean[i] * scale);
      row.set(kSpreads + i, fit.spread[i] * scale);
      if (i < 3) row.set(kVelocity + i, fit.velocity[i]);
    }
  }

  WS_INLINE void tell(const Shared& shared, std::uint32_t pulses, std::uint32_t noise,
                      Truth<kLatents>& truth) const {
    const Particle& particle = shared.particle;
    const telescope::Event& event = particle.event;
    const bool track = event.hypothesis == telescope::Hypothesis::track;
    truth.label = hypotheses_ == Hypotheses::both && track ? 1 : 0;
    truth.latents[kHypothesis] = track ? 1.0f : 0.0f;
    truth.latents[kDirectionX] = -event.direction.x;
    truth.latents[kDirectionY] = -event.direction.y;
    truth.latents[kDirectionZ] = -event.direction.z;
    truth.latents[kAzimuth] = particle.azimuth * math::kTau;
    truth.latents[kZenith] = math::acos(particle.cosine);
    truth.latents[kVertexX] = event.vertex.x;
    truth.latents[kVertexY] = event.vertex.y;
    truth.latents[kVertexZ] = event.vertex.z;
    truth.latents[kEnergy] = particle.energy;
    truth.latents[kLogEnergy] = math::log(particle.energy) * 0x1.bcb7b2p-2f;  // 1 / ln 10
    truth.latents[kStart] = event.start;
    truth.latents[kHits] = static_cast<float>(pulses);
    truth.latents[kNoiseHits] = static_cast<float>(noise);
    truth.latents[kHitModules] = static_cast<float>(shared.modules);
    truth.latents[kSaturated] = static_cast<float>(shared.saturated);
  }

  telescope::Array array_;
  telescope::Optics optics_;
  double noise_mean_;                                            ///< per module
  float cosine_low_, cosine_span_, azimuth_low_, azimuth_span_;  ///< azimuth in turns
  float vertex_radius_, vertex_height_;
  float energy_low_, energy_high_, log_low_, log_span_;
  float start_, jitter_, charge_width_, window_low_, window_span_, coincidence_;
  float per_unit_, per_time_unit_;
  std::uint32_t saturation_;
  int items_, features_;
  Output output_;
  Hypotheses hypotheses_;
};

}  // namespace wellspring
