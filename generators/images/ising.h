// Generator `ising`: configurations of the two-dimensional Ising model in equilibrium, each from a
// chain of its own; the class is the phase or a range of temperatures. Host and device.
//
// A sample begins with equal spins and is brought to equilibrium by rounds of cluster updates,
// which forget where they began within a few rounds at any temperature, and checkerboard sweeps
// (ising_lattice.h). Exact to compare with: L. Onsager, Phys. Rev. 65 (1944) 117; B. Kaufman, Phys.
// Rev. 76 (1949) 1232, for finite lattices; docs/generators/ising.md has the bias that is left.
#pragma once

#include "core/error.h"
#include "core/params.h"
#include "core/text.h"
#include "generators/images/ising_lattice.h"
#include "generators/sample_info.h"
#include "kernels/emission/lattice.h"
#include "kernels/math.h"
#include "kernels/philox.h"

#include <algorithm>
#include <cstdint>
#include <string>

namespace wellspring {

struct Ising {
  enum class Label : std::uint8_t { phase, temperature };
  enum class Start : std::uint8_t { cold, hot };

  /// 2 / log(1 + sqrt 2), where long order ends on an endless lattice (Onsager 1944).
  static constexpr float kCritical = 2.269185314213022f;
  static constexpr int kMostSide = 1024, kMostRounds = 256, kMostUpdates = 64;

  struct Params {
    int side = 0;
    float t_low = 1.5f;
    float t_high = 3.5f;
    Label label = Label::phase;
    int bins = 8;
    int rounds = 24;
    int clusters = 1;
    int sweeps = 1;
    Start start = Start::cold;
  };
  static const ParamTable<Params>& table() {
    static const auto rows =
        ParamTable<Params>("ising")
            .integer("side", &Params::side, {0, kMostSide}, "spins",
                     "of the periodic lattice, even; a pixel shows a spin, so a smaller image is a "
                     "window, and a larger one repeats it; 0: the image's side, or the next even "
                     "number, 4 at least")
            .real("t_low", &Params::t_low, {0.5, 20}, "J / k", "lowest temperature")
            .real("t_high", &Params::t_high, {0.5, 20}, "J / k", "highest temperature")
            .choice("label", &Params::label,
                    {{"phase", Label::phase}, {"temperature", Label::temperature}},
                    "what the class is. phase: below or above 2.2692, equally often, uniform in "
                    "either; temperature: the range of temperatures, uniform in all",
                    "Carrasquilla and Melko, Nature Phys. 13 (2017) 431: phase")
            .integer("bins", &Params::bins, {1, 64}, "",
                     "equal ranges of temperature, the classes of label: temperature")
            .integer("rounds", &Params::rounds, {1, kMostRounds}, "",
                     "of cluster updates and sweeps before a sample is shown")
            .integer("clusters", &Params::clusters, {0, kMostUpdates}, "a round",
                     "cluster updates; with 0, large lattices near 2.27 stay far from equilibrium",
                     "Swendsen and Wang, PRL 58 (1987) 86")
            .integer("sweeps", &Params::sweeps, {0, kMostUpdates}, "a round",
                     "checkerboard sweeps by Metropolis' rule, after them",
                     "Metropolis et al., J. Chem. Phys. 21 (1953) 1087")
            .choice("start", &Params::start, {{"cold", Start::cold}, {"hot", Start::hot}},
                    "before the first round: all spins up, or each by even chances");
    return rows;
  }

  static constexpr int kLatents = 3, kMeasured = 2;
  static SampleInfo describe(const Params& params) {
    SampleInfo info;
    info.name = "ising";
    info.summary = "The Ising model in equilibrium; the class is the phase or the temperature";
    info.reference = "Onsager, Phys. Rev. 65 (1944) 117; Swendsen and Wang, PRL 58 (1987) 86";
    if (params.label == Label::phase) {
      info.classes = {"ordered", "disordered"};
    } else {
      for (int i = 0; i < params.bins; ++i) {
        info.classes.push_back("T " + shortest(edge(params, i)) + " to " +
                               shortest(edge(params, i + 1)));
      }
    }
    info.latents = {{"temperature", "T, with the coupling J and Boltzmann's constant k as units",
                     "J / k", params.t_low, params.t_high},
                    {"energy", "a spin, - sum of s_i s_j over neighbours / spins", "J", -2, 2},
                    {"magnetisation", "mean spin, white up", "", -1, 1}};
    // The phase and T; where the start is hot, its spins; two directions of bonds, their flips and
    // two colours. Beyond the lattice of the image's pixels there are at most 32 words, see side.
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

  explicit Ising(const Params& params) : params_(params) {
    if (params.side != 0 && (params.side < 4 || params.side % 2 != 0)) {
      const int nearest = params.side < 4 ? 4 : params.side + 1;
      fail(ErrorKind::config,
           {"ising: side = " + std::to_string(params.side),
            "two colours of a periodic checkerboard need an even side, 4 at least",
            "take " + std::to_string(nearest) + ", or 0 for the image's"});
    }
    if (!(params.t_low < params.t_high)) {
      fail(ErrorKind::config,
           {"ising: t_low is not below t_high", "temperatures are uniform between the two",
            "exchange them, or move them apart"});
    }
    if (params.label == Label::phase && !(params.t_low < kCritical && kCritical < params.t_high)) {
      fail(ErrorKind::config,
           {"ising: temperatures from " + shortest(params.t_low) + " to " +
                shortest(params.t_high) + " lie in one phase",
            "the classes are below and above 2.2692",
            std::string(params.t_low < kCritical ? "raise t_high above" : "lower t_low below") +
                " 2.2692, or set label: temperature"});
    }
  }

  struct Scene {
    SampleRng rng;
    IsingChances chances;
    std::int32_t side;
  };

  WS_INLINE Scene draw(const SampleKey& key, Truth<kLatents>& truth) const {
    const Philox4 random = key.rng.block(Purpose::scene, 0);
    const bool phase = params_.label == Label::phase;
    const auto classes = static_cast<std::uint32_t>(phase ? 2 : params_.bins);
    const auto label = static_cast<std::int32_t>(below(random.word[0], classes));
    float low = params_.t_low, high = params_.t_high;
    if (phase) {
      (label == 0 ? high : low) = kCritical;
    } else {
      low = edge(params_, label);
      high = edge(params_, label + 1);
    }
    const float t =
        math::min(math::fma(unit_float(random.word[1]), high - low, low), params_.t_high);
    truth.label = label;
    truth.latents[0] = t;
    return {key.rng, chances(t), side_for(key.shape)};
  }

  /// Error (config) where the image asks for a lattice that is too large.
  std::int64_t lattice_words(SampleShape shape) const {
    if (side_for(shape) > kMostSide) {
      fail(ErrorKind::config,
           {"ising: an image of " + std::to_string(shape.width) + " pixels a side",
            "with side = 0 its lattice has as many spins, and 1024 are the most",
            "take a smaller image, or name a side"});
    }
    return IsingWork::words_of(IsingShape::of(side_for(shape)));
  }
  /// A thread a word of spins.
  int lattice_members(SampleShape shape) const {
    const int words = IsingShape::of(side_for(shape)).words();
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

  /// White for spins up, the spin that a pixel's centre falls on.
  template <int N>
  WS_INLINE void shade(const Scene& scene, const std::uint32_t* spins, const PixelRun<N>& run,
                       ColourRun<N>& colour) const {
    const std::int32_t across = IsingShape::of(scene.side).across;
    for (int i = 0; i < N; ++i) {
      const std::int32_t x = wrap(run.x[i], scene.side), y = wrap(run.y[i], scene.side);
      const std::uint32_t spin = spins[y * across + x / 32] >> (x % 32) & 1u;
      const float value = spin != 0 ? 1.f : 0.f;
      colour.r[i] = colour.g[i] = colour.b[i] = value;
    }
  }

  /// In 2^-32, rounded down; the arguments are below 1.
  WS_INLINE static IsingChances chances(float t) {
    const auto of = [](float chance) { return static_cast<std::uint32_t>(chance * 0x1p+32f); };
    return {of(1 - math::exp(-2 / t)), of(math::exp(-4 / t)), of(math::exp(-8 / t))};
  }

 private:
  WS_INLINE static float edge(const Params& params, int bin) {
    const float width = (params.t_high - params.t_low) / static_cast<float>(params.bins);
    return math::fma(static_cast<float>(bin), width, params.t_low);
  }
  WS_INLINE std::int32_t side_for(SampleShape shape) const {
    if (params_.side > 0) return params_.side;
    const std::int32_t longer = shape.width > shape.height ? shape.width : shape.height;
    return longer < 4 ? 4 : (longer + 1) / 2 * 2;
  }
  /// The cell of a coordinate, modulo `side`. Beyond 2^22 the horizon has no cells of its own.
  WS_INLINE static std::int32_t wrap(float at, std::int32_t side) {
    const auto cell = static_cast<std::int32_t>(math::floor(math::clamp(at, -0x1p+22f, 0x1p+22f)));
    if (cell >= 0 && cell < side) return cell;
    const std::int32_t rest = cell % side;
    return rest < 0 ? rest + side : rest;
  }

  Params params_;
};

}  // namespace wellspring
