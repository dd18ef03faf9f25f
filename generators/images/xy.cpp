// Generator `xy`: what is known of it, and what it refuses. Host only.
#include "generators/images/xy.h"

#include "core/error.h"
#include "core/text.h"

#include <string>

namespace wellspring {

const ParamTable<Xy::Params>& Xy::table() {
  static const auto rows =
      ParamTable<Params>("xy")
          .integer("side", &Params::side, {0, kMostSide}, "spins",
                   "of the periodic lattice, even; a pixel shows a spin, so a smaller image is a "
                   "window, and a larger one repeats it; 0: the image's side, or the next even "
                   "number, 4 at least")
          .real("t_low", &Params::t_low, {0.05, 20}, "J / k", "lowest temperature")
          .real("t_high", &Params::t_high, {0.05, 20}, "J / k", "highest temperature")
          .real("coupling", &Params::coupling, {0, 4}, "J",
                "of vertical bonds; 0: each row is a chain of its own")
          .choice("label", &Params::label,
                  {{"phase", Label::phase}, {"temperature", Label::temperature}},
                  "what the class is. phase: below or above 0.8929, equally often, uniform in "
                  "either; temperature: the range of temperatures, uniform in all",
                  "Beach, Golubeva and Melko, PRB 97 (2018) 045207: phase")
          .integer("bins", &Params::bins, {1, 64}, "",
                   "equal ranges of temperature, the classes of label: temperature")
          .integer("rounds", &Params::rounds, {1, kMostRounds}, "",
                   "of a sweep of heat bath and some of over-relaxation before a sample is shown",
                   "Best and Fisher, Appl. Stat. 28 (1979) 152")
          .integer("mirrors", &Params::mirrors, {-1, kMostSide}, "a round",
                   "sweeps of over-relaxation in a round, from 0 to so many by turns; -1: to a "
                   "quarter of the lattice's side",
                   "Creutz, PRD 36 (1987) 515")
          .choice("start", &Params::start, {{"cold", Start::cold}, {"hot", Start::hot}},
                  "before the first round: all spins equal, or each of any direction")
          .choice("colour", &Params::colour, {{"hue", Colour::hue}, {"vector", Colour::vector}},
                  "how an angle is shown. hue: 0 red, a third of a turn green, two blue; vector: "
                  "(1 + cosine) / 2 red, (1 + sine) / 2 green, 1 / 2 blue");
  return rows;
}

SampleInfo Xy::describe(const Params& params) {
  SampleInfo info;
  info.name = "xy";
  info.summary = "The XY model in equilibrium; the class is the phase or the temperature";
  info.reference = "Kosterlitz and Thouless, J. Phys. C 6 (1973) 1181; Creutz, PRD 36 (1987) 515";
  if (params.label == Label::phase) {
    info.classes = {"bound vortices", "free vortices"};
  } else {
    for (int i = 0; i < params.bins; ++i) {
      info.classes.push_back("T " + shortest(edge(params, i)) + " to " +
                             shortest(edge(params, i + 1)));
    }
  }
  const float g = params.coupling,
              side = static_cast<float>(params.side > 0 ? params.side : kMostSide);
  info.latents = {
      {"temperature", "T, with the coupling J and Boltzmann's constant k as units", "J / k",
       params.t_low, params.t_high},
      {"energy", "a spin, - sum of cos(a_i - a_j) over neighbours / spins", "J", -1 - g, 1 + g},
      {"magnetisation", "length of the mean of all spins", "", 0, 1},
      {"helicity",
       "(C - S S / T) / spins, C the sum of cosines and S that of sines along the bonds, "
       "mean of both directions; its mean over samples is the helicity modulus",
       "J", -(1 + g) / 2 - 1.001f * side * side * (1 + g * g) / (2 * params.t_low), (1 + g) / 2},
      {"vortices", "a spin, plaquettes around which angles turn once, as many as turn back", "", 0,
       0.5f}};
  // The phase, T and the first direction; where the start is hot, four spins'; two a spin and
  // round. Beyond a spin for each of the image's pixels there are at most kMostSide, see side_for.
  const auto of = [&](std::int64_t spins) {
    return spins * params.rounds * xy::kBlocks + (params.start == Start::hot ? (spins + 3) / 4 : 0);
  };
  if (params.side > 0) {
    info.draws = {.scene = 1 + of(XyShape{params.side}.sites())};
  } else {
    info.draws = {.scene = 1 + of(kMostSide), .pixel = of(1)};
  }
  return info;
}

Xy::Xy(const Params& params) : params_(params) {
  if (params.side != 0 && (params.side < 4 || params.side % 2 != 0)) {
    const int nearest = params.side < 4 ? 4 : params.side + 1;
    fail(ErrorKind::config, {"xy: side = " + std::to_string(params.side),
                             "two colours of a periodic checkerboard need an even side, 4 at least",
                             "take " + std::to_string(nearest) + ", or 0 for the image's"});
  }
  if (!(params.t_low < params.t_high)) {
    fail(ErrorKind::config,
         {"xy: t_low is not below t_high", "temperatures are uniform between the two",
          "exchange them, or move them apart"});
  }
  if (params.label != Label::phase) return;
  if (params.coupling != 1) {
    fail(ErrorKind::config, {"xy: label: phase with coupling = " + shortest(params.coupling),
                             "where vortices unbind, 0.8929, is known for equal couplings alone",
                             "set label: temperature, or coupling: 1"});
  }
  if (!(params.t_low < kCritical && kCritical < params.t_high)) {
    fail(ErrorKind::config,
         {"xy: temperatures from " + shortest(params.t_low) + " to " + shortest(params.t_high) +
              " lie in one phase",
          "the classes are below and above 0.8929",
          std::string(params.t_low < kCritical ? "raise t_high above" : "lower t_low below") +
              " 0.8929, or set label: temperature"});
  }
}

std::int64_t Xy::lattice_words(SampleShape shape) const {
  if (side_for(shape) > kMostSide) {
    fail(ErrorKind::config, {"xy: an image of " + std::to_string(shape.width) + " pixels a side",
                             "with side = 0 its lattice has as many spins, and 1024 are the most",
                             "take a smaller image, or name a side"});
  }
  return XyWork::words_of({side_for(shape)});
}

}  // namespace wellspring
