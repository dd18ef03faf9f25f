// Generator `xy`: what is known of it, and what it refuses. Host only.
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
               "of vertical bonds; 0: each row is a chain of its own");
    spins::add_class_rows(table, kCritical,
                          "Beach, Golubeva and Melko, PRB 97 (2018) 045207: phase");
    return table
        .integer("rounds", &Params::rounds, {1, kMostRounds}, "",
                 "of a sweep of heat bath and some of over-relaxation before a sample is shown",
                 "Best and Fisher, Appl. Stat. 28 (1979) 152")
        .integer("mirrors", &Params::mirrors, {-1, spins::kMostSide}, "a round",
                 "sweeps of over-relaxation in a round, from 0 to so many by turns; -1: to a "
                 "quarter of the lattice's side",
                 "Creutz, PRD 36 (1987) 515")
        .choice("start", static_cast<Start Params::*>(&Params::start),
                {{"cold", Start::cold}, {"hot", Start::hot}},
                "before the first round: all spins equal, or each of any direction")
        .choice("colour", &Params::colour, {{"hue", Colour::hue}, {"vector", Colour::vector}},
                "how an angle is shown. hue: 0 red, a third of a turn green, two blue; vector: "
                "(1 + cosine) / 2 red, (1 + sine) / 2 green, 1 / 2 blue");
  }();
  return rows;
}

namespace {

/// The lowest helicity. Whatever the angles are, S is at most a bond each. In equilibrium at T much
/// less: a twist by an angle a of all bonds along a direction multiplies exp(-E / T) by
/// exp(K (C (cos a - 1) - S sin a)), K = coupling / T, whose mean is Z(a) / Z(0) <= 1, since Z(a)
/// is Z(0)'s sum over currents (of products of I_n(K) > 0) with phases. With C <= spins and the
/// best a that leaves K S^2 / spins > x / (sqrt(2) - 1) a chance of 2 exp(-x). From a cold start S
/// grows from 0 to its law; from a hot one it may stay caught in turns around the torus.
float lowest_helicity(const Xy::Params& params, float side) {
  const float g = params.coupling;
  const float of_cosines = -(1 + g) / 2;
  const float any = of_cosines - 1.001f * side * side * (1 + g * g) / (2 * params.t_low);
  if (params.start == Xy::Start::hot) return any;
  constexpr float kX = 30;  // 4e-13 of all samples, for both directions
  return std::max(any, of_cosines * (1 + kX / 0.41421356f));
}

}  // namespace

SampleInfo Xy::describe(const Params& params) {
  SampleInfo info;
  info.name = "xy";
  info.summary = "The XY model in equilibrium; the class is the phase or the temperature";
  info.reference = "Kosterlitz and Thouless, J. Phys. C 6 (1973) 1181; Creutz, PRD 36 (1987) 515";
  if (params.label == Label::phase) {
    info.classes = {"bound vortices", "free vortices"};
  } else {
    info.classes = spins::range_names(params);
  }
  const float g = params.coupling,
              side = static_cast<float>(params.side > 0 ? params.side : spins::kMostSide);
  info.latents = {
      {"temperature", "T, with the coupling J and Boltzmann's constant k as units", "J / k",
       params.t_low, params.t_high},
      rarely_reached({"energy", "a spin, - sum of cos(a_i - a_j) over neighbours / spins", "J",
                      -1 - g, 1 + g}),
      {"magnetisation", "length of the mean of all spins", "", 0, 1},
      rarely_reached(
          {"helicity",
           "(C - S S / T) / spins, C the sum of cosines and S that of sines along the bonds, "
           "mean of both directions; its mean over samples is the helicity modulus",
           "J", lowest_helicity(params, side), (1 + g) / 2}),
      rarely_reached({"vortices",
                      "a spin, plaquettes around which angles turn once, as many as turn back", "",
                      0, 0.5f})};
  // The phase, T and the first direction; where the start is hot, four spins'; two a spin and
  // round. Beyond a spin for each of the image's pixels there are at most spins::kMostSide, see
  // side_for.
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
    fail(ErrorKind::config, {"xy: label: phase with coupling = " + shortest(params.coupling),
                             "where vortices unbind, 0.8929, is known for equal couplings alone",
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
