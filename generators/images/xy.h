// Generator `xy`: configurations of the two-dimensional XY model in equilibrium, each from its own
// Markov chain. The class is the phase or the temperature range. Host and device.
//
// A sample starts with identical spins in a random direction. Rounds of one heat-bath sweep and
// several over-relaxation sweeps thermalise it (xy_lattice.h). The number of over-relaxation sweeps
// varies between rounds, so that waves of every length are damped; docs/generators/algorithms/xy.md
// gives the remaining bias. Below T_KT = 0.8929, vortices are bound in pairs (V. Berezinskii, Sov.
// Phys. JETP 32 (1971) 493; J. Kosterlitz, D. Thouless, J. Phys. C 6 (1973) 1181).
#pragma once

#include "core/config/params.h"
#include "generators/images/hues.h"
#include "generators/images/periodic.h"
#include "generators/images/spin_model.h"
#include "generators/images/xy_lattice.h"
#include "generators/sample_info.h"
#include "kernels/emission/lattice.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"

#include <cstdint>

namespace wellspring {

struct Xy {
  using Label = SpinParams::Label;
  using Start = SpinParams::Start;
  enum class Colour : std::uint8_t { hue, vector };

  /// T_KT, where vortices unbind on the infinite lattice: 1 / 1.1199 (M. Hasenbusch, J. Phys. A 38
  /// (2005) 5869; 0.89294 +- 0.00008).
  static constexpr float kCritical = 0.8929f;
  static constexpr int kMostRounds = 256;

  struct Params : SpinParams {
    Params() {
      t_low = 0.4f;
      t_high = 1.4f;
    }
    float coupling = 1;
    int rounds = 32;
    int mirrors = -1;
    Colour colour = Colour::hue;
  };
  static const ParamTable<Params>& table();

  static constexpr int kLatents = 5, kMeasured = 4;
  static constexpr forms::Lattice kForm = {};
  static SampleInfo describe(const Params& params);
  /// Throws config errors for an invalid side, temperature range or label.
  explicit Xy(const Params& params);

  struct Scene {
    SampleRng rng;
    float temperature, turns;
    std::int32_t side;
  };

  WS_INLINE Scene draw(const SampleKey& key, Truth<kLatents>& truth) const {
    const Philox4 random = key.rng.block(Purpose::scene, 0);
    const spins::Draw drawn = spins::draw(params_, kCritical, random);
    truth.label = drawn.label;
    truth.latents[0] = drawn.temperature;
    return {key.rng, drawn.temperature, unit_float(random.word[2]),
            spins::side_for(params_, key.shape)};
  }

  /// Throws a config error if the image needs a lattice that is too large.
  std::int64_t lattice_words(SampleShape shape) const;
  /// At least two spins of a colour per thread.
  int lattice_members(SampleShape shape) const {
    const int spins = XyShape{spins::side_for(params_, shape)}.of_a_colour() / 2;
    return spins >= 512 ? 512 : (spins + 31) / 32 * 32;
  }

  template <class Team>
  WS_HD void relax(Team& team, const Scene& scene, std::uint32_t* words,
                   float (&measured)[kMeasured]) const {
    const XyLattice lattice = {{scene.side}, 1 / scene.temperature, params_.coupling, scene.rng};
    const XyWork work = XyWork::in(lattice.shape, words);
    lattice.begin(team, work, params_.start == Start::hot, scene.turns);
    for (int round = 0; round < params_.rounds; ++round) {
      lattice.heat_bath(team, work, static_cast<std::uint32_t>(round));
      const int mirrors = mirrors_of(round, scene.side);
      for (int i = 0; i < mirrors; ++i) lattice.over_relax(team, work);
    }
    lattice.measure(team, work);
    measure(*work.sums, scene, measured);
  }

  /// Number of over-relaxation sweeps in a round, from 0 to the maximum: spread evenly for any
  /// number of rounds (multiples of the golden ratio, modulo 1).
  WS_INLINE int mirrors_of(int round, std::int32_t side) const {
    const std::int32_t most = params_.mirrors >= 0 ? params_.mirrors : side / 4;
    return static_cast<int>(below(static_cast<std::uint32_t>(round) * 0x9e3779b9u,
                                  static_cast<std::uint32_t>(most) + 1));
  }

  /// Colour of the angle of the spin under a pixel's centre.
  template <int N>
  WS_INLINE void shade(const Scene& scene, const std::uint32_t* angles, const PixelRun<N>& run,
                       ColourRun<N>& colour) const {
    WS_READ_AGAIN();
    const XyShape shape = {scene.side};
    for (int i = 0; i < N; ++i) {
      const std::int32_t x = periodic::cell(run.x[i], scene.side);
      const std::int32_t y = periodic::cell(run.y[i], scene.side);
      const float turns = xy::turns_of(angles[shape.place(x, y)]);
      if (params_.colour == Colour::hue) {
        colour.set(i, hue_colour(turns, 0, 1));
      } else {
        const math::SinCos at = math::sincos_turns(turns);
        colour.set(i, {math::fma(0.5f, at.cosine, 0.5f), math::fma(0.5f, at.sine, 0.5f), 0.5f});
      }
    }
  }

 private:
  /// Energy, magnetisation and vortices per site, and the helicity modulus: the second derivative
  /// of the free energy per site with respect to a twist (S. Teitel, C. Jayaprakash, PRB 27 (1983)
  /// 598). This is the contribution of one configuration, averaged over both directions. Sums are
  /// below 2^53, so they are exact in double precision.
  WS_INLINE void measure(const XySums& sums, const Scene& scene,
                         float (&measured)[kMeasured]) const {
    const double sites = static_cast<double>(scene.side) * scene.side, g = params_.coupling;
    const double unit = 1 / (static_cast<double>(XySums::kUnit) * sites);
    const auto mean = [unit](std::int64_t sum) { return static_cast<double>(sum) * unit; };
    const double bonds = mean(sums.cosine_x) + g * mean(sums.cosine_y);
    const double x = mean(sums.sine_x), y = g * mean(sums.sine_y);
    const double mx = mean(sums.total_x), my = mean(sums.total_y);
    measured[0] = static_cast<float>(-bonds);
    const float size = math::sqrt(static_cast<float>(mx * mx + my * my));
    measured[1] = math::min(size, 1.f);
    measured[2] = static_cast<float>(
        0.5 * (bonds - (x * x + y * y) * sites / static_cast<double>(scene.temperature)));
    measured[3] = static_cast<float>(static_cast<double>(sums.vortices) / sites);
  }

  Params params_;
};

}  // namespace wellspring
