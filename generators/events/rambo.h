// Generator `rambo`: momenta of n bodies, uniform in phase space, as sets. Massless by the RAMBO
// method, whose events all weigh the same; massive ones by scaling those, with a weight or with
// rejection by a proven bound. Bodies may decay further (decay_chain.h). Host and device.
//
// Source: R. Kleiss, W. J. Stirling, S. D. Ellis, "A new Monte Carlo treatment of multiparticle
// phase space at high energies", Comput. Phys. Commun. 40 (1986) 359. Each body gets a direction
// and an energy of density q exp(-q); one boost and one scale bring the sum to (w, 0, 0, 0).
#pragma once

#include "core/error.h"
#include "core/params.h"
#include "core/text.h"
#include "generators/events/decay_chain.h"
#include "generators/sample_info.h"
#include "kernels/emission/events.h"
#include "kernels/math.h"
#include "kernels/philox.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace wellspring {

struct Rambo {
  static constexpr int kFeatures = 4, kLatents = 3;
  static constexpr int kMostBodies = 8;
  static constexpr int kMostTries = 10000;
  /// Newton's steps from the largest possible scale; the function is convex, so they come down to
  /// the root from above.
  static constexpr int kNewtonSteps = 8;

  enum class Weights : std::uint8_t { keep, unweight };

  struct Params {
    int bodies_low = 4, bodies_high = 4;
    double energy_low = 500, energy_high = 500;
    std::vector<double> masses;
    std::vector<std::string> decays;
    Weights weights = Weights::keep;
    double unit = 1;
  };
  static const ParamTable<Params>& table() {
    static const auto rows =
        ParamTable<Params>("rambo")
            .integer("bodies_low", &Params::bodies_low, {2, kMostBodies}, "",
                     "smallest number of bodies; each number is a class, equally often")
            .integer("bodies_high", &Params::bodies_high, {2, kMostBodies}, "", "largest number")
            .real("energy_low", &Params::energy_low, {1e-3, 1e6}, "GeV",
                  "smallest total energy, in the frame where the bodies are at rest together")
            .real("energy_high", &Params::energy_high, {1e-3, 1e6}, "GeV",
                  "largest; uniform between the two")
            .real_list("masses", &Params::masses, {0, 1e6}, "GeV",
                       "of the first bodies; those beyond the list have none")
            .text_list("decays", &Params::decays,
                       "of heavy bodies and of what they decay into: the mass of what decays and "
                       "those of two or three products, 172.5 -> 80.377 + 4.78, in GeV; each is "
                       "uniform in its phase space")
            .choice(
                "weights", &Params::weights,
                {{"keep", Weights::keep}, {"unweight", Weights::unweight}},
                "of events with masses. keep: the weight is a column, and its mean the volume of "
                "phase space, of the massless one; unweight: drawn again until all weigh 1")
            .real("unit", &Params::unit, {1e-6, 1e6}, "GeV", "what 1 means in x")
            .preset("top_pair",
                    {{"bodies_low", "2"},
                     {"bodies_high", "2"},
                     {"masses", "[172.5, 172.5]"},
                     {"energy_low", "500"},
                     {"energy_high", "500"}},
                    "two top quarks at 500 GeV")
            .preset("top_pair_decays",
                    {{"bodies_low", "2"},
                     {"bodies_high", "2"},
                     {"masses", "[172.5, 172.5]"},
                     {"energy_low", "500"},
                     {"energy_high", "500"},
                     {"decays", "[172.5 -> 4.78 + 80.377, 80.377 -> 0 + 0]"}},
                    "two top quarks at 500 GeV, each to b W and on to b q q'; masses: Particle "
                    "Data Group")
            .preset("tau_pair",
                    {{"bodies_low", "2"},
                     {"bodies_high", "2"},
                     {"masses", "[1.77686, 1.77686]"},
                     {"energy_low", "91.1876"},
                     {"energy_high", "91.1876"},
                     {"decays", "[1.77686 -> 0.105658 + 0 + 0]"}},
                    "two taus at the mass of the Z, each to a muon and two neutrinos; masses: "
                    "Particle Data Group")
            .preset("d_to_k_pi_pi",
                    {{"bodies_low", "3"},
                     {"bodies_high", "3"},
                     {"masses", "[0.493677, 0.13957, 0.13957]"},
                     {"energy_low", "1.86966"},
                     {"energy_high", "1.86966"},
                     {"weights", "unweight"}},
                    "D+ to K- pi+ pi+, uniform in its Dalitz plot; masses: Particle Data Group");
    return rows;
  }

  static SampleInfo describe(const Params& params) {
    SampleInfo info;
    info.name = "rambo";
    info.summary = "n bodies uniform in phase space, with or without masses; the class is n";
    info.reference = "Kleiss, Stirling, Ellis, Comput. Phys. Commun. 40 (1986) 359";
    for (int n = params.bodies_low; n <= params.bodies_high; ++n)
      info.classes.push_back(std::to_string(n) + " bodies");
    const std::string unit = params.unit == 1 ? "GeV" : shortest(params.unit) + " GeV";
    info.features = {{"E", unit}, {"px", unit}, {"py", unit}, {"pz", unit}};
    info.latents = {
        {"energy", "total, in the rest frame", "GeV", static_cast<float>(params.energy_low),
         static_cast<float>(params.energy_high)},
        {"bodies", "their number", "", static_cast<float>(params.bodies_low),
         static_cast<float>(params.bodies_high)},
        rarely_reached({"log_weight",
                        "logarithm of the event's weight before rejection; 0 without masses", "",
                        kLowestLogWeight, 0}),
    };
    info.high = static_cast<float>(params.energy_high / params.unit);
    info.low = -info.high;
    const bool rejects = params.weights == Weights::unweight && any_mass(params);
    // The class and the energy; a block a body, and one a try; decays.
    const DecayChain chain("rambo", params.masses, params.bodies_high, params.decays);
    info.draws = {.scene = 1 + chain.blocks() +
                           std::int64_t{params.bodies_high + (rejects ? 1 : 0)} *
                               (rejects ? kMostTries : 1)};
    return info;
  }

  explicit Rambo(const Params& params)
      : low_(params.bodies_low),
        high_(params.bodies_high),
        energy_low_(static_cast<float>(params.energy_low)),
        energy_high_(static_cast<float>(params.energy_high)),
        per_unit_(1 / params.unit),
        massive_(any_mass(params)),
        rejects_(massive_ && params.weights == Weights::unweight) {
    if (params.bodies_low > params.bodies_high) {
      fail(ErrorKind::config,
           {"rambo: bodies_low is above bodies_high", "numbers of bodies are drawn between the two",
            "exchange them, or give both the same value"});
    }
    if (params.energy_low > params.energy_high) {
      fail(ErrorKind::config,
           {"rambo: energy_low is above energy_high", "energies are uniform between the two",
            "exchange them, or give both the same value"});
    }
    if (params.masses.size() > static_cast<std::size_t>(params.bodies_high)) {
      const std::string bodies = std::to_string(params.bodies_high);
      fail(ErrorKind::config,
           {"rambo: masses has " + std::to_string(params.masses.size()) + " values",
            "bodies_high is " + bodies, "give no more than " + bodies + " masses"});
    }
    decays_ = DecayChain("rambo", params.masses, high_, params.decays);
    items_ = decays_.any() ? decays_.finals(high_) : high_;
    double sum = 0;
    for (std::size_t i = 0; i < params.masses.size(); ++i) {
      mass_[i] = params.masses[i];
      sum += params.masses[i];
    }
    if (sum > kLargestShare * params.energy_low) {
      fail(ErrorKind::config,
           {"rambo: the masses add up to " + shortest(sum) + " GeV, energy_low is " +
                shortest(params.energy_low) + " GeV",
            "what is left for motion must be 1 % of the energy at least",
            "raise energy_low to " + shortest(sum / kLargestShare) + " or more, or lower masses"});
    }
  }

  SampleLayout layout() const { return SampleLayout::set(items_, kFeatures); }

  /// By one thread.
  template <class Row>
  WS_HD void make(const SampleKey& key, Row& row, Truth<kLatents>& truth) const {
    const Philox4 random = key.rng.block(Purpose::scene, 0);
    const auto label = static_cast<std::int32_t>(
        below(random.word[0], static_cast<std::uint32_t>(high_ - low_ + 1)));
    const int n = low_ + label;
    const float energy =
        math::min(math::fma(unit_float(random.word[1]), energy_high_ - energy_low_, energy_low_),
                  energy_high_);

    Event event{};
    for (std::uint32_t turn = 0;; ++turn) {
      massless(key.rng, turn, n, double{energy}, event);
      event.weight = 1;
      if (!massive_) break;
      give_masses(n, double{energy}, event);
      if (!rejects_) break;
      const float share = event.weight / event.bound;
      const float u = unit_float(key.rng.block(Purpose::noise, turn).word[0]);
      if (u < share || turn + 1 == kMostTries) break;
    }

    if (decays_.any()) {
      decay(key.rng, n, event, row);
    } else {
      WS_UNROLL(8)
      for (int i = 0; i < kMostBodies; ++i) {
        if (i < n) write(i, event.e[i], event.x[i], event.y[i], event.z[i], row);
      }
      row.set_count(n);
    }
    truth.label = label;
    truth.weight = rejects_ ? 1 : event.weight;
    truth.latents[0] = energy;
    truth.latents[1] = static_cast<float>(n);
    truth.latents[2] = math::clamp(math::log(event.weight), kLowestLogWeight, 0.f);
  }

 private:
  static constexpr double kLargestShare = 0.99;  ///< of the masses in the energy
  /// Weights fall to about (k / m)^(n - 2) x^(2 n - 3) near the threshold, x >= 0.14.
  static constexpr float kLowestLogWeight = -80;
  static constexpr std::uint32_t kFirstDecayBlock = 1;  ///< of the scene, behind energy and class

  struct Event {
    double e[kMostBodies], x[kMostBodies], y[kMostBodies], z[kMostBodies];
    float weight, bound;
  };

  static bool any_mass(const Params& params) {
    const auto end = params.masses.begin() +
                     std::min<std::ptrdiff_t>(params.bodies_high,
                                              static_cast<std::ptrdiff_t>(params.masses.size()));
    return std::any_of(params.masses.begin(), end, [](double mass) { return mass > 0; });
  }

  template <class Row>
  WS_INLINE void write(int item, double e, double x, double y, double z, Row& row) const {
    row.set(item, 0, static_cast<float>(e * per_unit_));
    row.set(item, 1, static_cast<float>(x * per_unit_));
    row.set(item, 2, static_cast<float>(y * per_unit_));
    row.set(item, 3, static_cast<float>(z * per_unit_));
  }

  /// Items are what the bodies end in, body after body. The bodies' own arrays stay in registers.
  template <class Row>
  WS_INLINE void decay(const SampleRng& rng, int n, const Event& event, Row& row) const {
    DecayChain::Particle waiting[DecayChain::kMostFinals];
    WS_UNROLL(8)
    for (int i = 0; i < kMostBodies; ++i) {
      if (i < n) waiting[n - 1 - i] = {event.e[i], event.x[i], event.y[i], event.z[i], i};
    }
    row.set_count(decays_.run(
        rng, kFirstDecayBlock, waiting, n,
        [&](int item, const DecayChain::Particle& p) { write(item, p.e, p.x, p.y, p.z, row); }));
  }

  /// Massless momenta of total (energy, 0, 0, 0). Body i of try t has block 8 t + i. In double:
  /// where the bodies are nearly parallel, the boost takes away all but a small part of their
  /// energy.
  WS_INLINE void massless(const SampleRng& rng, std::uint32_t turn, int n, double energy,
                          Event& event) const {
    double sum_e = 0, sum_x = 0, sum_y = 0, sum_z = 0;
    WS_UNROLL(8)
    for (int i = 0; i < kMostBodies; ++i) {
      if (i >= n) continue;
      const Philox4 random =
          rng.block(Purpose::texture, turn * kMostBodies + static_cast<std::uint32_t>(i));
      const double cosine = 2 * double{unit_float(random.word[0])} - 1;
      const math::SinCos phi = math::sincos_turns(unit_float(random.word[1]));
      const double px = double{phi.cosine}, py = double{phi.sine};
      const double sine = math::sqrt((1 - cosine) * (1 + cosine) / (px * px + py * py));
      const double q =
          -double{math::log(unit_float_open(random.word[2]) * unit_float_open(random.word[3]))};
      event.e[i] = q;
      event.x[i] = q * sine * px;
      event.y[i] = q * sine * py;
      event.z[i] = q * cosine;
      sum_e += event.e[i];
      sum_x += event.x[i];
      sum_y += event.y[i];
      sum_z += event.z[i];
    }
    // To the rest frame of the sum, and to its energy.
    const double length = math::sqrt(sum_x * sum_x + sum_y * sum_y + sum_z * sum_z);
    const double mass = math::sqrt((sum_e - length) * (sum_e + length));
    const double bx = -sum_x / mass, by = -sum_y / mass, bz = -sum_z / mass;
    const double gamma = sum_e / mass, a = 1 / (1 + gamma), scale = energy / mass;
    WS_UNROLL(8)
    for (int i = 0; i < kMostBodies; ++i) {
      if (i >= n) continue;
      const double along = bx * event.x[i] + by * event.y[i] + bz * event.z[i];
      const double q = event.e[i], shift = q + a * along;
      event.e[i] = scale * (gamma * q + along);
      event.x[i] = scale * (event.x[i] + bx * shift);
      event.y[i] = scale * (event.y[i] + by * shift);
      event.z[i] = scale * (event.z[i] + bz * shift);
    }
  }

  /// Scales the momenta by x, so that the energies with masses add up to the same; the weight is
  ///   x^(2n-3) prod (k_i / E_i) w / sum (k_i^2 / E_i)   (Kleiss, Stirling, Ellis).
  /// x is at most sqrt(1 - (sum m / w)^2), by Minkowski's inequality, and the weight at most
  /// x^(2n-3): docs/generators/rambo.md.
  WS_INLINE void give_masses(int n, double energy, Event& event) const {
    double masses = 0;
    WS_UNROLL(8)
    for (int i = 0; i < kMostBodies; ++i) masses += i < n ? mass_[i] : 0.0;
    const double largest = math::sqrt((1 - masses / energy) * (1 + masses / energy));
    double scale = largest;
#if WS_DEVICE_CODE
#pragma unroll 1  // the loop over bodies inside is enough
#endif
    for (int step = 0; step < kNewtonSteps; ++step) {
      double sum = -energy, slope = 0;
      WS_UNROLL(8)
      for (int i = 0; i < kMostBodies; ++i) {
        if (i >= n) continue;
        const double k = scale * event.e[i], e = math::sqrt(k * k + mass_[i] * mass_[i]);
        sum += e;
        slope += e > 0 ? k / e * event.e[i] : 0.0;
      }
      scale -= sum / slope;
    }
    scale = scale < largest ? scale : largest;
    double product = 1, bound = 1, motion = 0;
    WS_UNROLL(8)
    for (int i = 0; i < kMostBodies; ++i) {
      if (i >= n) continue;
      const double k = scale * event.e[i], e = math::sqrt(k * k + mass_[i] * mass_[i]);
      const double speed = e > 0 ? k / e : 1.0;
      product *= speed;
      motion += k * speed;
      if (i >= 2) {
        product *= scale * scale;
        bound *= largest * largest;
      }
      event.e[i] = e;
      event.x[i] *= scale;
      event.y[i] *= scale;
      event.z[i] *= scale;
    }
    event.weight = static_cast<float>(scale * product * energy / motion);
    event.bound = static_cast<float>(largest * bound);
  }

  int low_, high_;
  float energy_low_, energy_high_;
  double per_unit_;
  bool massive_, rejects_;
  double mass_[kMostBodies] = {};
  DecayChain decays_;
  int items_ = 0;
};

}  // namespace wellspring
