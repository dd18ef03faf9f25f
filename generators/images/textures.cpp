#include "generators/images/textures.h"

#include "core/error.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

namespace wellspring {

namespace {

constexpr const char* kKindNames[] = {"perlin", "simplex", "worley_f1", "worley_f2",
                                      "worley_edges"};

/// One cell of a range as text: "2-5.7".
std::string cell_text(double low, double high) {
  return low == high ? fmt::format("{:.3g}", low) : fmt::format("{:.3g}-{:.3g}", low, high);
}

}  // namespace

const ParamTable<Textures::Params>& Textures::table() {
  static const auto rows =
      ParamTable<Params>("textures")
          .choice("kind", &Params::kind,
                  {{"perlin", Kind::perlin},
                   {"simplex", Kind::simplex},
                   {"worley_f1", Kind::worley_f1},
                   {"worley_f2", Kind::worley_f2},
                   {"worley_edges", Kind::worley_edges},
                   {"any", Kind::any}},
                  "perlin: gradient noise on squares; simplex: on triangles; worley_f1, worley_f2: "
                  "distance to the nearest or second-nearest feature of a cellular pattern; "
                  "worley_edges: their difference; any: all five, as classes",
                  "Perlin, SIGGRAPH 1985 and 2002; Worley, SIGGRAPH 1996")
          .real("frequency_low", &Params::frequency_low, {0.25, 64}, "cells / image side",
                "lowest frequency of the coarsest lattice")
          .real("frequency_high", &Params::frequency_high, {0.25, 64}, "cells / image side",
                "highest frequency of the coarsest lattice; log-uniform between the two")
          .integer("scale_cells", &Params::scale_cells, {1, 16}, "classes",
                   "number of frequency classes of equal logarithmic width")
          .integer("octaves_low", &Params::octaves_low, {1, kMostOctaves}, "", "fewest octaves")
          .integer("octaves_high", &Params::octaves_high, {1, kMostOctaves}, "", "most octaves")
          .integer("octave_cells", &Params::octave_cells, {1, kMostOctaves}, "classes",
                   "number of octave classes")
          .real("warp_low", &Params::warp_low, {0, 8}, "cells",
                "smallest domain warp: maximum displacement along either axis")
          .real("warp_high", &Params::warp_high, {0, 8}, "cells", "largest domain warp")
          .integer("warp_cells", &Params::warp_cells, {1, 16}, "classes",
                   "number of equal-width warp classes")
          .real("gain_low", &Params::gain_low, {0, 1}, "",
                "smallest ratio of an octave's amplitude to that of the previous one",
                "usually 0.5")
          .real("gain_high", &Params::gain_high, {0, 1}, "", "largest gain")
          .real("lacunarity_low", &Params::lacunarity_low, {1, 4}, "",
                "smallest ratio of an octave's frequency to that of the previous one", "usually 2")
          .real("lacunarity_high", &Params::lacunarity_high, {1, 4}, "", "largest lacunarity")
          .choice("palette", &Params::palette,
                  {{"colour", Palette::colour}, {"grey", Palette::grey}},
                  "colour: a gradient of four random colours per sample; grey: from black to white")
          .preset(
              "perlin-fbm",
              {{"kind", "perlin"},
               {"octaves_low", "6"},
               {"octaves_high", "6"},
               {"octave_cells", "1"},
               {"warp_high", "0"},
               {"warp_cells", "1"},
               {"gain_low", "0.5"},
               {"gain_high", "0.5"},
               {"lacunarity_low", "2"},
               {"lacunarity_high", "2"}},
              "fractional Brownian motion of gradient noise with the usual constants; class: scale")
          .preset("worley-1996",
                  {{"kind", "worley_f1"},
                   {"octaves_high", "1"},
                   {"octave_cells", "1"},
                   {"warp_high", "0"},
                   {"warp_cells", "1"}},
                  "the plain cellular pattern; class: scale");
  return rows;
}

SampleInfo Textures::describe(const Params& params) {
  SampleInfo info;
  info.name = "textures";
  info.summary = "Warped Perlin, simplex and Worley noise; class: kind, scale, octaves and warp";
  info.reference =
      "Perlin, Improving noise, SIGGRAPH 2002; Worley, A cellular texture basis function, "
      "SIGGRAPH 1996";
  const bool any = params.kind == Kind::any;
  const int first = any ? 0 : static_cast<int>(params.kind), last = any ? kKinds - 1 : first;
  const double low = params.frequency_low, high = params.frequency_high;
  const auto scale_edge = [&](int i) {
    return low * std::pow(high / low, 1.0 * i / params.scale_cells);
  };
  const auto warp_edge = [&](int i) {
    return params.warp_low +
           (static_cast<double>(params.warp_high) - params.warp_low) * i / params.warp_cells;
  };
  for (int kind = first; kind <= last; ++kind) {
    for (int s = 0; s < params.scale_cells; ++s) {
      for (int o = 0; o < params.octave_cells; ++o) {
        for (int w = 0; w < params.warp_cells; ++w) {
          info.classes.push_back(
              fmt::format("{}, {} cells, octaves {}, warp {}", kKindNames[kind],
                          cell_text(scale_edge(s), scale_edge(s + 1)),
                          cell_text(octaves_from(params, o), octaves_from(params, o + 1) - 1),
                          cell_text(warp_edge(w), warp_edge(w + 1))));
        }
      }
    }
  }
  info.latents = {
      {"kind", "0 perlin, 1 simplex, 2 worley_f1, 3 worley_f2, 4 worley_edges", "",
       static_cast<float>(first), static_cast<float>(last)},
      {"period", "cell side of the coarsest lattice", "image side", 1 / params.frequency_high,
       1 / params.frequency_low, LatentRole::length},
      {"octaves", "number of lattices summed", "", static_cast<float>(params.octaves_low),
       static_cast<float>(params.octaves_high)},
      {"gain", "amplitude of an octave, relative to the previous one", "", params.gain_low,
       params.gain_high},
      {"lacunarity", "frequency of an octave, relative to the previous one", "",
       params.lacunarity_low, params.lacunarity_high},
      {"warp", "maximum displacement along either axis of the lattice", "cells", params.warp_low,
       params.warp_high},
      {"direction", "direction of the lattice's first axis, counterclockwise from the right", "rad",
       0, 6.2831855f, LatentRole::direction}};
  const char* const places[] = {"of the lowest values", "a third of the way up",
                                "two thirds of the way up", "of the highest values"};
  const char* const channels[] = {"red", "green", "blue"};
  for (int i = 0; i < kStops; ++i) {
    for (int c = 0; c < 3; ++c) {
      info.latents.push_back({fmt::format("colour{}_{}", i, channels[c][0]),
                              fmt::format("colour {}: {}", places[i], channels[c]), "", 0, 1,
                              LatentRole::colour});
    }
  }
  info.draws.scene = 1 + 3 + 3;  // the label, ten words of the scene, twelve of the colours
  return info;
}

Textures::Textures(const Params& params) : params_(params) {
  const Params& p = params;
  table().expect_ordered(p, {"frequency", "octaves", "warp", "gain", "lacunarity"});
  const int numbers = p.octaves_high - p.octaves_low + 1;
  if (p.octave_cells > numbers) {
    fail(ErrorKind::config, {fmt::format("textures: octave_cells = {} for octaves from {} to {}",
                                         p.octave_cells, p.octaves_low, p.octaves_high),
                             "some classes would have no samples",
                             fmt::format("use octave_cells: {} or fewer", numbers)});
  }
  const auto refuse_cells = [](const char* what, float value, int cells) {
    fail(ErrorKind::config,
         {fmt::format("textures: {0}_cells = {1}, but all samples have the same {0}, {2}", what,
                      cells, value),
          "the classes would be identical", fmt::format("use {}_cells: 1", what)});
  };
  if (p.frequency_low == p.frequency_high && p.scale_cells > 1)
    refuse_cells("scale", p.frequency_low, p.scale_cells);
  if (p.warp_low == p.warp_high && p.warp_cells > 1) refuse_cells("warp", p.warp_low, p.warp_cells);
}

}  // namespace wellspring
