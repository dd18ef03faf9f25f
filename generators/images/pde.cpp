// Generator `pde`: parameter table, description and validation. Host only.
#include "generators/images/pde.h"

#include "core/error.h"

#include <string>

namespace wellspring {

const ParamTable<Pde::Params>& Pde::table() {
  constexpr auto kSpreads = [](const Params& p) { return p.equation != Equation::wave; };
  constexpr auto kCarries = [](const Params& p) {
    return p.equation == Equation::mixed || p.equation == Equation::advection;
  };
  constexpr auto kWaves = [](const Params& p) {
    return p.equation == Equation::mixed || p.equation == Equation::wave;
  };
  static const auto rows =
      ParamTable<Params>("pde")
          .choice("equation", &Params::equation,
                  {{"mixed", Equation::mixed},
                   {"heat", Equation::heat},
                   {"advection", Equation::advection},
                   {"wave", Equation::wave}},
                  "heat: u_t = kappa lap u; advection: u_t = kappa lap u - v . grad u; wave: u_tt "
                  "= c^2 lap u, initially at rest; mixed: each with equal probability")
          .integer("cells", &Params::cells, {0, kMostSide}, "cells",
                   "side of the periodic square, which has length 1; one cell per pixel, so a "
                   "smaller image is a window and a larger one repeats the square; 0: the image's "
                   "side, or four times `highest` if that is larger")
          .integer("waves", &Params::waves, {1, kMostWaves}, "",
                   "number of waves in the initial field")
          .integer("highest", &Params::highest, {1, 64}, "",
                   "largest number of periods of a wave per side, in either direction")
          .real("time_low", &Params::time_low, {0, 1e4}, "time", "shortest evolution time")
          .real("time_high", &Params::time_high, {1e-6, 1e4}, "time",
                "longest evolution time; uniform between the two")
          .real("diffusivity_low", &Params::diffusivity_low, {1e-9, 10}, "side^2 / time",
                "smallest kappa")
          .only_where(kSpreads, "equation: mixed, heat or advection")
          .real("diffusivity_high", &Params::diffusivity_high, {1e-9, 10}, "side^2 / time",
                "largest kappa; log-uniform between the two")
          .only_where(kSpreads, "equation: mixed, heat or advection")
          .real("velocity", &Params::velocity, {0, 1e3}, "side / time",
                "largest absolute value of v_x and v_y; uniform")
          .only_where(kCarries, "equation: mixed or advection")
          .real("speed_low", &Params::speed_low, {0, 1e3}, "side / time", "smallest wave speed c")
          .only_where(kWaves, "equation: mixed or wave")
          .real("speed_high", &Params::speed_high, {1e-6, 1e3}, "side / time",
                "largest wave speed; uniform between the two")
          .only_where(kWaves, "equation: mixed or wave")
          .choice("show", &Params::show, {{"pair", Show::pair}, {"last", Show::last}},
                  "pair: initial field red, final field green; last: final field only, grey");
  return rows;
}

SampleInfo Pde::describe(const Params& params) {
  SampleInfo info;
  info.name = "pde";
  info.version = 2;
  info.summary = "A field evolved by heat conduction, advection or waves; class: the equation";
  info.reference = "Evans, Partial Differential Equations, 2010, chapter 2";
  const Equation which = params.equation;
  const bool mixed = which == Equation::mixed;
  if (mixed || which == Equation::heat) info.classes.push_back("heat");
  if (mixed || which == Equation::advection) info.classes.push_back("advection");
  if (mixed || which == Equation::wave) info.classes.push_back("wave");
  const bool spreads = which != Equation::wave, waves = mixed || which == Equation::wave;
  const bool carries = mixed || which == Equation::advection;
  const float v = carries ? params.velocity : 0;
  info.latents = {
      {"time", "evolution time", "time", params.time_low, params.time_high},
      {"diffusivity", "kappa; 0 for waves", "side^2 / time",
       mixed ? 0 : (spreads ? params.diffusivity_low : 0), spreads ? params.diffusivity_high : 0,
       LatentRole::unmapped},
      {"velocity_x", "velocity to the right; 0 without advection", "side / time", -v, v,
       LatentRole::unmapped},
      {"velocity_y", "velocity downwards; 0 without advection", "side / time", -v, v,
       LatentRole::unmapped},
      {"speed", "wave speed c; 0 without waves", "side / time",
       mixed || !waves ? 0 : params.speed_low, waves ? params.speed_high : 0, LatentRole::unmapped},
      {"contrast", "RMS of the final field divided by that of the initial field", "", 0, 1}};
  info.draws = {.scene = 2 + params.waves};
  return info;
}

Pde::Pde(const Params& params) : params_(params) {
  table().expect_ordered(params, {"time", "diffusivity", "speed"});
  if (params.cells != 0 && params.cells <= 2 * params.highest) {
    fail(ErrorKind::config,
         {"pde: cells = " + std::to_string(params.cells) +
              " with highest = " + std::to_string(params.highest),
          "a wave of " + std::to_string(params.highest) +
              " periods needs more than two cells per period",
          "use cells: " + std::to_string(2 * params.highest + 1) + " or more, or a lower highest"});
  }
}

}  // namespace wellspring
