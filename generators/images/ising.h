// Generator `ising`: configurations of the two-dimensional Ising model in equilibrium, each from
// its own Markov chain. The class is the phase or the temperature range. Host and device.
//
// A sample starts with identical spins and is thermalised by rounds of cluster updates and sweeps
// (ising_lattice.h). Cluster updates decorrelate it within a few rounds at any temperature.
// Exact results for comparison: L. Onsager, Phys. Rev. 65 (1944) 117; B. Kaufman, Phys. Rev. 76
// (1949) 1232, for finite lattices. docs/generators/algorithms/ising.md gives the remaining bias.
#pragma once

#include "core/config/params.h"
#include "generators/images/ising_lattice.h"
#include "generators/images/periodic.h"
#include "generators/images/spin_model.h"
#include "generators/sample_info.h"
#include "kernels/emission/lattice.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"

#include <cstdint>

namespace wellspring {

struct Ising {
  using Label = SpinParams::Label;
  using Start = SpinParams::Start;
  /// 2 / log(1 + sqrt 2): critical temperature of the infinite lattice (Onsager 1944).
  static constexpr float kCritical = 2.269185314213022f;
  static constexpr int kMostRounds = 256, kMostUpdates = 64;

  struct Params : SpinParams {
    Params() {
      t_low = 1.5f;
      t_high = 3.5f;
    }
    int rounds = 24;
    int clusters = 1;
    int sweeps = 1;
  };
  static const ParamTable<Params>& table() {
    static const auto rows = [] {
      ParamTable<Params> table("ising");
      spins::add_lattice_rows(table, 0.5);
      spins::add_class_rows(table, kCritical,
                            "Carrasquilla and Melko, Nature Phys. 13 (2017) 431: phase");
      return table
          .integer("rounds", &Params::rounds, {1, kMostRounds}, "",
                   "rounds of cluster updates and sweeps per sample")
          .integer("clusters", &Params::clusters, {0, kMostUpdates}, "per round",
                   "Swendsen-Wang cluster updates; with 0, large lattices near 2.27 stay far from "
                   "equilibrium",
                   "Swendsen and Wang, PRL 58 (1987) 86")
          .integer("sweeps", &Params::sweeps, {0, kMostUpdates}, "per round",
                   "Metropolis checkerboard sweeps, after the cluster updates",
                   "Metropolis et al., J. Chem. Phys. 21 (1953) 1087")
          .choice("start", static_cast<Start Params::*>(&Params::start),
                  {{"cold", Start::cold}, {"hot", Start::hot}},
                  "initial spins. cold: all up; hot: independent and random");
    }();
    return rows;
  }

  static constexpr int kLatents = 3, kMeasured = 2;
  static constexpr forms::Lattice kForm = {};
  static SampleInfo describe(const Params& params) {
    SampleInfo info;
    info.name = "ising";
    info.summary = "The 2D Ising model in equilibrium; class: phase or temperature range";
    info.reference = "Onsager, Phys. Rev. 65 (1944) 117; Swendsen and Wang, PRL 58 (1987) 86";
    if (params.label == Label::phase) {
      info.classes = {"ordered", "disordered"};
    } else {
      info.classes = spins::range_names(params);
    }
    info.latents = {
        {"temperature", "temperature T", "J / k", params.t_low, params.t_high},
        rarely_reached(
            {"energy", "energy per spin: - sum of s_i s_j over neighbours / spins", "J", -2, 2}),
        {"magnetisation", "mean spin; up is white", "", -1, 1}};
    // Blocks for the phase and T and, with a hot start, for the spins; then for bonds in two
    // directions, their flips and two colours. The lattice has at most 32 more words than
    // the image's pixels need; see side.
    const std::int64_t a_word =
        1 + std::int64_t{params.rounds} * (params.clusters * (2 * ising::kDrawsAWord + 1) +
                                           params.sweeps * 2 * ising::kDrawsAWord);
    if (params.side > 0) {
      info.draws = {.scene = 1 + a_word * IsingShape::of(params.side).words()};
    } else {
      info.draws = {.scene = 1 + 32 * a_word, .pixel = (a_word + 31) / 32};
    }
    return info;
  }

  /// Throws config errors for an invalid side or invalid temperatures.
  explicit Ising(const Params& params) : params_(params) {
    spins::expect_spins("ising", params, kCritical);
  }

  struct Scene {
    SampleRng rng;
    IsingChances chances;
    std::int32_t side;
  };

  WS_INLINE Scene draw(const SampleKey& key, Truth<kLatents>& truth) const {
    const Philox4 random = key.rng.block(Purpose::scene, 0);
    const spins::Draw drawn = spins::draw(params_, kCritical, random);
    truth.label = drawn.label;
    truth.latents[0] = drawn.temperature;
    return {key.rng, chances(drawn.temperature), spins::side_for(params_, key.shape)};
  }

  /// Throws a config error if the image needs a lattice that is too large.
  std::int64_t lattice_words(SampleShape shape) const {
    const std::int32_t side = spins::side_for(params_, shape);
    spins::expect_lattice("ising", shape, side);
    return IsingWork::words_of(IsingShape::of(side));
  }
  /// One thread per word of spins.
  int lattice_members(SampleShape shape) const {
    const int words = IsingShape::of(spins::side_for(params_, shape)).words();
    return words >= 512 ? 512 : (words + 31) / 32 * 32;
  }

  template <class Team>
  WS_HD void relax(Team& team, const Scene& scene, std::uint32_t* words,
                   float (&measured)[kMeasured]) const {
    const IsingLattice lattice = {IsingShape::of(scene.side), scene.chances, scene.rng};
    const IsingWork work = IsingWork::in(lattice.shape, words);
    lattice.begin(team, work, params_.start == Start::hot);
    std::uint32_t clusters = 0, sweeps = 0;
    for (int round = 0; round < params_.rounds; ++round) {
      for (int i = 0; i < params_.clusters; ++i) lattice.update_clusters(team, work, clusters++);
      for (int i = 0; i < params_.sweeps; ++i) lattice.sweep(team, work, sweeps++);
    }
    lattice.measure(team, work);
    const std::int32_t spins = lattice.shape.spins();
    const auto count = static_cast<float>(spins);
    measured[0] = static_cast<float>(2 * (work.sums[0] - spins)) / count;
    measured[1] = static_cast<float>(2 * work.sums[1] - spins) / count;
  }

  /// Up spins are white; a pixel shows the spin under its centre.
  template <int N>
  WS_INLINE void shade(const Scene& scene, const std::uint32_t* spins, const PixelRun<N>& run,
                       ColourRun<N>& colour) const {
    const std::int32_t across = IsingShape::of(scene.side).across;
    colour.grey = true;
    for (int i = 0; i < N; ++i) {
      const std::int32_t x = periodic::cell(run.x[i], scene.side);
      const std::int32_t y = periodic::cell(run.y[i], scene.side);
      const std::uint32_t spin = spins[y * across + x / 32] >> (x % 32) & 1u;
      colour.r[i] = spin != 0 ? 1.f : 0.f;
    }
  }

  /// Probabilities in units of 2^-32, rounded down; the arguments are below 1.
  WS_INLINE static IsingChances chances(float t) {
    const auto of = [](float chance) { return static_cast<std::uint32_t>(chance * 0x1p+32f); };
    return {of(1 - math::exp(-2 / t)), of(math::exp(-4 / t)), of(math::exp(-8 / t))};
  }

 private:
  Params params_;
};

}  // namespace wellspring
