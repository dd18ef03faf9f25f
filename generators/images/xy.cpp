// Generator `xy`: parameter table, description and validation. Host only.
#include "generators/images/xy.h"

#include "core/error.h"
#include "core/text/text.h"

#include <algorithm>
#include <string>

namespace wellspring {

const ParamTable<Xy::Params>& Xy::table() {
  static const auto rows = [] {
    ParamTable<Params> table("xy");
    spins::add_lattice_rows(table, 0.05);
    table.real("coupling", &Params::coupling, {0, 4}, "J",
               "coupling of vertical bonds; 0: each row is an independent chain");
    spins::add_class_rows(table, kCritical,
                          "Beach, Golubeva and Melko, PRB 97 (2018) 045207: phase");
    return table
        .integer("rounds", &Params::rounds, {1, kMostRounds}, "",
                 "rounds per sample; each has one heat-bath and several over-relaxation sweeps",
                 "Best and Fisher, Appl. Stat. 28 (1979) 152")
        .integer("mirrors", &Params::mirrors, {-1, spins::kMostSide}, "per round",
                 "maximum number of over-relaxation sweeps, which varies between rounds from 0 to "
                 "this; -1: a quarter of the lattice's side",
                 "Creutz, PRD 36 (1987) 515")
        .choice("start", static_cast<Start Params::*>(&Params::start),
                {{"cold", Start::cold}, {"hot", Start::hot}},
                "initial spins. cold: all equal; hot: independent random directions")
        .choice("colour", &Params::colour, {{"hue", Colour::hue}, {"vector", Colour::vector}},
                "colour of an angle. hue: 0 red, 1/3 turn green, 2/3 turn blue; vector: red (1 + "
                "cosine) / 2, green (1 + sine) / 2, blue 1/2");
  }();
  return rows;
}

namespace {

/// Lower bound of the helicity. For arbitrary angles, S is at most one per bond. In equilibrium at
/// T it is much smaller. Twisting all bonds along a direction by an angle a multiplies exp(-E / T)
/// by exp(K (C (cos a - 1) - S sin a)), with K = coupling / T. The mean of this factor is Z(a) /
/// Z(0) <= 1, because Z(a) is the sum over currents that gives Z(0), except that its terms
/// (products of I_n(K) > 0) have phases. With C <= spins and the best a, K S^2 / spins > x /
/// (sqrt(2) - 1) has probability at most 2 exp(-x). From a cold start, S grows from 0 to its
/// equilibrium value; from a hot start, it may stay trapped in windings of the torus.
float lowest_helicity(const Xy::Params& params, float side) {
  const float g = params.coupling;
  const float of_cosines = -(1 + g) / 2;
  const float any = of_cosines - 1.001f * side * side * (1 + g * g) / (2 * params.t_low);
  if (params.start == Xy::Start::hot) return any;
  constexpr float kX = 30;  // exceeded by 4e-13 of all samples, counting both directions
  return std::max(any, of_cosines * (1 + kX / 0.41421356f));
}

}  // namespace

SampleInfo Xy::describe(const Params& params) {
  SampleInfo info;
  info.name = "xy";
  info.summary = "The 2D XY model in equilibrium; class: phase or temperature range";
  info.reference = "Kosterlitz and Thouless, J. Phys. C 6 (1973) 1181; Creutz, PRD 36 (1987) 515";
  if (params.label == Label::phase) {
    info.classes = {"bound vortices", "free vortices"};
  } else {
    info.classes = spins::range_names(params);
  }
  const float g = params.coupling,
              side = static_cast<float>(params.side > 0 ? params.side : spins::kMostSide);
  info.latents = {
      {"temperature", "temperature T", "J / k", params.t_low, params.t_high},
      rarely_reached({"energy", "energy per spin: - sum of cos(a_i - a_j) over neighbours / spins",
                      "J", -1 - g, 1 + g}),
      {"magnetisation", "length of the mean spin", "", 0, 1},
      rarely_reached(
          {"helicity",
           "(C - S S / T) / spins, with C and S the sums of cosines and sines along the bonds, "
           "averaged over both directions; the mean over samples is the helicity modulus",
           "J", lowest_helicity(params, side), (1 + g) / 2}),
      rarely_reached({"vortices",
                      "vortices per spin: plaquettes with winding +1; as many have winding -1", "",
                      0, 0.5f})};
  // Blocks for the phase, T and the first direction; with a hot start, one block per four spins;
  // then two blocks per spin and round. The lattice has at most spins::kMostSide more spins than
  // the image has pixels; see side_for.
  const auto of = [&](std::int64_t spins) {
    return spins * params.rounds * xy::kBlocks + (params.start == Start::hot ? (spins + 3) / 4 : 0);
  };
  if (params.side > 0) {
    info.draws = {.scene = 1 + of(XyShape{params.side}.sites())};
  } else {
    info.draws = {.scene = 1 + of(spins::kMostSide), .pixel = of(1)};
  }
  return info;
}

Xy::Xy(const Params& params) : params_(params) {
  if (params.label == Label::phase && params.coupling != 1) {
    fail(ErrorKind::config, {"xy: label: phase cannot have coupling = " + shortest(params.coupling),
                             "the critical temperature 0.8929 holds for equal couplings only",
                             "set label: temperature, or coupling: 1"});
  }
  spins::expect_spins("xy", params, kCritical);
}

std::int64_t Xy::lattice_words(SampleShape shape) const {
  const std::int32_t side = spins::side_for(params_, shape);
  spins::expect_lattice("xy", shape, side);
  return XyWork::words_of({side});
}

}  // namespace wellspring
