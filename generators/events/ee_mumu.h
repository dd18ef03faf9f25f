// Generator `ee_mumu`: angles of single e+ e- -> mu+ mu- events at tree level (photon and Z); the
// class is the centre-of-mass energy. It samples the exact angular distribution without rejection,
// and the best accuracy is known in closed form. Created through the registry; host and device.
#pragma once

#include "core/config/params.h"
#include "core/error.h"
#include "core/text/text.h"
#include "generators/events/event_record.h"
#include "generators/sample_info.h"
#include "kernels/emission/events.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/simd.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

namespace wellspring {

/// Electroweak constants at tree level.
struct ElectroweakConstants {
  double inverse_alpha = 128.952;  ///< 1 / alpha at the Z mass, effective on-shell value
  double sin2_theta_w = 0.23153;   ///< sine squared of the effective weak mixing angle
  double z_mass = 91.1876;         ///< GeV
  double z_width = 2.4952;         ///< GeV
};

/// Cross section of e+ e- -> mu+ mu- with massless leptons, from helicity amplitudes
///     A_ab = e^2 / s + g_a g_b / (s - MZ^2 + i MZ GZ),   a, b in {L, R},
///     |M|^2 = s^2 / 4 [same (1 + c)^2 + opposite (1 - c)^2],   c = cos(angle between mu- and e-)
/// (M. Peskin, D. Schroeder, An Introduction to Quantum Field Theory, sections 5.2 and 20.2).
struct MuonPairRates {
  double same;      ///< |A_LL|^2 + |A_RR|^2, GeV^-4
  double opposite;  ///< |A_LR|^2 + |A_RL|^2, GeV^-4

  static MuonPairRates at(double sqrt_s, const ElectroweakConstants& constants) {
    const double s = sqrt_s * sqrt_s;
    const double e2 = 4 * std::numbers::pi / constants.inverse_alpha;
    const double sw2 = constants.sin2_theta_w;
    const double g2 = e2 / (sw2 * (1 - sw2));  // couplings g_a = sqrt(g2) (T3 - Q sw2), Q = -1
    const double left = -0.5 + sw2, right = sw2;
    const std::complex<double> propagator =
        1.0 / std::complex<double>(s - constants.z_mass * constants.z_mass,
                                   constants.z_mass * constants.z_width);
    const auto amplitude = [&](double a, double b) {
      return std::norm(e2 / s + g2 * a * b * propagator);
    };
    return {amplitude(left, left) + amplitude(right, right), 2 * amplitude(left, right)};
  }

  /// Total cross section in pb: dsigma/dOmega = |M|^2 / (64 pi^2 s), integrated. (hbar c)^2:
  /// CODATA 2018, in GeV^2 pb.
  double cross_section(double sqrt_s) const {
    constexpr double kPicobarns = 3.893793721e8;
    return kPicobarns * sqrt_s * sqrt_s / (48 * std::numbers::pi) * (same + opposite);
  }
  /// Fraction of events distributed as (1 + c)^2; the others are distributed as (1 - c)^2.
  double forward_share() const { return same / (same + opposite); }
  /// A_FB; the density of c is 3/8 (1 + c^2) + A_FB c.
  double forward_backward_asymmetry() const { return 0.75 * (2 * forward_share() - 1); }
};

struct EeMumu {
  static constexpr int kFeatures = 2, kLatents = 3;
  static constexpr forms::Events kForm = {};
  static constexpr GeneratorHooks kHooks = {.best_accuracy = true};
  static constexpr int kMaxEnergies = 16;

  enum class Columns : std::uint8_t { angles, record };

  struct Params {
    std::vector<double> energies = {80, 110};
    Columns columns = Columns::angles;
    double inverse_alpha = ElectroweakConstants{}.inverse_alpha;
    double sin2_theta_w = ElectroweakConstants{}.sin2_theta_w;
    double z_mass = ElectroweakConstants{}.z_mass;
    double z_width = ElectroweakConstants{}.z_width;
  };
  static const ParamTable<Params>& table() {
    static const auto rows =
        ParamTable<Params>("ee_mumu")
            .real_list("energies", &Params::energies, {1, 1e5}, "GeV",
                       "centre-of-mass energies, one class each; 1 to 16 values")
            .choice("columns", &Params::columns,
                    {{"angles", Columns::angles}, {"record", Columns::record}},
                    std::string("angles: an event of the muon's two angles; ") + record::kHelp)
            .preset("lep_scan", {{"energies", "[89.4, 91.2, 93]"}},
                    "the three points of the 1993 and 1995 LEP scans (ALEPH, DELPHI, L3, OPAL and "
                    "SLD, Phys. Rept. 427 (2006) 257)")
            .real("inverse_alpha", &Params::inverse_alpha, {50, 200}, "",
                  "inverse fine-structure constant",
                  "at the Z mass; effective on-shell value; MSbar: 127.95")
            .real("sin2_theta_w", &Params::sin2_theta_w, {0.01, 0.99}, "",
                  "sine squared of the weak mixing angle",
                  "effective leptonic value, LEP and SLD, Phys. Rept. 427 (2006) 257")
            .real("z_mass", &Params::z_mass, {1, 1000}, "GeV", "mass of the Z boson",
                  "Particle Data Group")
            .real("z_width", &Params::z_width, {0.001, 100}, "GeV", "width of the Z boson",
                  "Particle Data Group");
    return rows;
  }

  static ElectroweakConstants constants(const Params& params) {
    return {params.inverse_alpha, params.sin2_theta_w, params.z_mass, params.z_width};
  }

  static SampleInfo describe(const Params& params) {
    SampleInfo info;
    info.name = "ee_mumu";
    info.version = 2;
    info.summary = "Angles of single e+ e- -> mu+ mu- events; class: energy";
    info.reference = "tree-level helicity amplitudes of photon and Z, massless leptons";
    for (const double energy : params.energies) {
      info.classes.push_back(shortest(energy) + " GeV");
      info.cross_sections.push_back(
          MuonPairRates::at(energy, constants(params)).cross_section(energy));
    }
    const auto [low, high] = std::minmax_element(params.energies.begin(), params.energies.end());
    info.latents = {
        {"sqrt_s", "centre-of-mass energy", "GeV", static_cast<float>(*low),
         static_cast<float>(*high)},
        {"cos_theta", "cosine of the angle between mu- and e-", "", -1, 1},
        {"phi", "azimuth of the mu- about the beam", "rad", -std::numbers::pi_v<float>,
         std::numbers::pi_v<float>},
    };
    if (params.columns == Columns::record) {
      info.features = record::columns("GeV");
      info.high = std::max(13.0f, static_cast<float>(0.5001 * *high));
    } else {
      info.features = {{"cos_theta", ""}, {"phi / pi", ""}};
    }
    info.low = -info.high;
    info.draws = {.scene = 2};
    return info;
  }

  explicit EeMumu(const Params& params)
      : energies_(static_cast<int>(params.energies.size())),
        record_(params.columns == Columns::record) {
    if (params.energies.empty() || params.energies.size() > kMaxEnergies) {
      fail(ErrorKind::config,
           {"ee_mumu: energies has " + std::to_string(params.energies.size()) + " values",
            "each is a class; the maximum is 16", "give 1 to 16 energies"});
    }
    for (int i = 0; i < energies_; ++i) {
      const double energy = params.energies[static_cast<std::size_t>(i)];
      for (int k = 0; k < i; ++k) {
        if (sqrt_s_[k] != static_cast<float>(energy)) continue;
        fail(ErrorKind::config, {"ee_mumu: energies lists " + shortest(energy) + " GeV twice",
                                 "each energy is a class", "list each energy once"});
      }
      const MuonPairRates rates = MuonPairRates::at(energy, constants(params));
      sqrt_s_[i] = static_cast<float>(energy);
      forward_share_[i] = static_cast<float>(rates.forward_share());
      const double asymmetry = rates.forward_backward_asymmetry();
      lowest_asymmetry_ = i == 0 ? asymmetry : std::min(lowest_asymmetry_, asymmetry);
      highest_asymmetry_ = i == 0 ? asymmetry : std::max(highest_asymmetry_, asymmetry);
    }
  }

  SampleLayout layout() const {
    return record_ ? SampleLayout::set(4, record::kColumns) : SampleLayout::event(kFeatures);
  }

  /// With n equally likely classes, the best guess given c is the class of highest density, so the
  /// accuracy is 1/n of the integral of the highest density. The densities differ only in A_FB c:
  /// the largest A_FB wins for c > 0, the smallest for c < 0. The integral is therefore 1 +
  /// (A_FB,max - A_FB,min) / 2. The azimuth carries no information. Event records reveal the class.
  double best_accuracy() const {
    if (record_) return 1;
    return (1 + 0.5 * (highest_asymmetry_ - lowest_asymmetry_)) / energies_;
  }

  /// The maximum of three uniform numbers has the distribution function u^3, which is exactly the
  /// distribution function of (1 + c) / 2 under (1 + c)^2. So no equation needs to be solved.
  template <class Run>
  WS_INLINE void make(Run& run) const {
    const auto first = run.blocks(Purpose::scene, 0), second = run.blocks(Purpose::scene, 1);
    if (record_) {
      run.each([&](int i, auto& row, auto& truth) WS_INLINED {
        const Angles angles = draw(first.of(i), second.of(i), truth);
        write_record(0.5f * truth.latents[0], angles, row);
      });
      return;
    }
    run.straight([&](int i, auto& row, auto& truth) WS_INLINED {
      const Angles angles = draw(first.of(i), second.of(i), truth);
      row.set_features(0, {angles.cosine, angles.phi});
    });
  }

 private:
  struct Angles {
    float cosine, phi;  ///< phi in units of pi
  };

  template <class Truth>
  WS_INLINE Angles draw(const Philox4& p, const Philox4& q, Truth& truth) const {
    const auto label = static_cast<int>(below(p.word[0], static_cast<std::uint32_t>(energies_)));
    const bool forward = unit_float(p.word[1]) < pick(forward_share_, label);
    const float u = unit_float(p.word[2]), v = unit_float(p.word[3]);
    const float w = unit_float(q.word[0]);
    const float largest = (u > v ? u : v) > w ? (u > v ? u : v) : w;
    const float cosine = forward ? 2 * largest - 1 : 1 - 2 * largest;
    const float phi = 2 * unit_float(q.word[1]) - 1;
    truth.label = label;
    truth.latents[0] = pick(sqrt_s_, label);
    truth.latents[1] = cosine;
    truth.latents[2] = phi * std::numbers::pi_v<float>;
    return {cosine, phi};
  }

  /// The massless beams e- and e+ along z, and the massless muons with energy `e`.
  template <class Row>
  WS_INLINE static void write_record(float e, const Angles& angles, Row& row) {
    using record::Status;
    const float sine = math::sqrt((1 - angles.cosine) * (1 + angles.cosine));
    const math::SinCos around = math::sincos_turns(0.5f * angles.phi);
    const float x = e * (sine * around.cosine), y = e * (sine * around.sine);
    const float z = e * angles.cosine;
    record::write(row, 0, e, 0, 0, e, {0, 11, Status::incoming, 0});
    record::write(row, 1, e, 0, 0, -e, {0, -11, Status::incoming, 0});
    record::write(row, 2, e, x, y, z, {0, 13, Status::final, 1, 2});
    record::write(row, 3, e, -x, -y, -z, {0, -13, Status::final, 1, 2});
    row.set_count(4);
  }

  int energies_;
  bool record_;
  float sqrt_s_[kMaxEnergies] = {};
  float forward_share_[kMaxEnergies] = {};
  double lowest_asymmetry_ = 0, highest_asymmetry_ = 0;
};

}  // namespace wellspring
