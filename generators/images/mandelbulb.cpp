#include "generators/images/mandelbulb.h"

#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>

namespace wellspring {

const ParamTable<Mandelbulb::Params>& Mandelbulb::table() {
  static const char* const kChiche = "Chiche et al., CVPR 2024";
  constexpr int kLeast = mandelbulb::kLeastPower, kMost = mandelbulb::kMostPower;
  constexpr auto kLit = [](const Params& p) { return p.palette != Palette::depth; };
  static const auto rows =
      ParamTable<Params>("mandelbulb")
          .choice("form", &Params::form,
                  {{"variations", Form::variations}, {"classic", Form::classic}},
                  "variations: a rule selects sine or cosine of one angle for each coordinate of a "
                  "power; classic: the Mandelbulb, without rules",
                  "Chiche et al., CVPR 2024; White and Nylander, 2009")
          .integer("power_low", &Params::power_low, {kLeast, kMost}, "",
                   "smallest power; class: power and rule", kChiche)
          .integer("power_high", &Params::power_high, {kLeast, kMost}, "", "largest power", kChiche)
          .integer("rules", &Params::rules, {1, kRules}, "",
                   "number of published rules used, in their order", kChiche)
          .only_where([](const Params& p) { return p.form == Form::variations; },
                      "form: variations")
          .integer("second_rules", &Params::second_rules, {0, kSecondRules}, "",
                   "0: one formula; otherwise two alternate, and the second has any power and this "
                   "many of the rules 32, 109, 222, 434; class: both formulas",
                   kChiche)
          .real("latitude", &Params::latitude, {0, 90}, "degrees",
                "largest latitude of the camera, uniform in [-latitude, latitude]", kChiche)
          .choice("light", &Params::light, {{"random", Light::random}, {"fixed", Light::fixed}},
                  "random: from around the camera, drawn per sample; fixed: from (-1, 1, 1) in the "
                  "solid's axes",
                  "fixed: Chiche et al., CVPR 2024")
          .flag("shadow", &Params::shadow, "on: the solid casts shadows on itself")
          .only_where(kLit, "palette: colour or grey")
          .choice("background", &Params::background,
                  {{"white", Background::white}, {"black", Background::black}},
                  "colour of the background", "white: Chiche et al., CVPR 2024")
          .only_where(kLit, "palette: colour or grey")
          .choice("palette", &Params::palette,
                  {{"colour", Palette::colour}, {"grey", Palette::grey}, {"depth", Palette::depth}},
                  "colour: a mix of three random colours per sample; grey: the same in grey; "
                  "depth: nearness, from 1 to 1/4; background 0")
          .integer("rays", &Params::rays, {1, 4}, "",
                   "rays along each side of a pixel: 2 averages 4 rays per pixel",
                   "2: Chiche et al., CVPR 2024")
          .real("precision", &Params::precision, {0.05, 2}, "pixels",
                "distance at which a ray stops at the solid, and length over which its normal is "
                "measured",
                "0.3 of 512 pixels: Chiche et al., CVPR 2024")
          .real("pace", &Params::pace, {0.1, 1}, "",
                "step of a ray as a share of the estimated distance; with larger steps more rays "
                "miss thin parts",
                "1: Chiche et al., CVPR 2024")
          .integer("iterations", &Params::iterations, {1, 100}, "",
                   "maximum number of iterations; an orbit that has not escaped by then "
                   "counts as inside",
                   "100: Chiche et al., CVPR 2024")
          .integer("steps", &Params::steps, {8, 1000}, "",
                   "maximum number of steps of a ray; a ray still going then counts as a hit",
                   "1000: Chiche et al., CVPR 2024")
          .preset("mandelbulbvar-1k",
                  {{"light", "fixed"},
                   {"rays", "2"},
                   {"pace", "1"},
                   {"iterations", "100"},
                   {"steps", "1000"}},
                  "1037 classes: 17 powers, 61 rules; published light, rays and limits")
          .preset("mandelbulbvar-hybrid",
                  {{"power_high", "12"},
                   {"rules", "44"},
                   {"second_rules", "4"},
                   {"latitude", "30"},
                   {"light", "fixed"},
                   {"rays", "2"},
                   {"pace", "1"},
                   {"iterations", "100"},
                   {"steps", "1000"}},
                  "21296 pairs, similar to the 20328 of MandelbulbVAR-Hybrid-21k")
          .preset("mandelbulb-8", {{"form", "classic"}, {"power_low", "8"}, {"power_high", "8"}},
                  "the Mandelbulb; one class");
  return rows;
}

SampleInfo Mandelbulb::describe(const Params& params) {
  SampleInfo info;
  info.name = "mandelbulb";
  info.version = 2;
  info.summary = "Mandelbulb solids from random views; class: power and rule";
  info.reference = "Chiche, Horikawa, Fujita, MandelbulbVAR, CVPR 2024";
  const bool classic = params.form == Form::classic;
  const int classes = classes_of(params);
  const auto name = [&](const Kind& kind, int which) {
    return classic ? fmt::format("power{}", kind.power[which])
                   : fmt::format("power{}-rule{}", kind.power[which], kind.rule[which]);
  };
  float least[2] = {511, 511}, most[2] = {0, 0};  // range of the rules in use
  for (int label = 0; label < classes; ++label) {
    const Kind kind = kind_of(params, label);
    for (int i = 0; i < 2; ++i) {
      least[i] = std::min(least[i], static_cast<float>(kind.rule[i]));
      most[i] = std::max(most[i], static_cast<float>(kind.rule[i]));
    }
    info.classes.push_back(params.second_rules == 0 ? name(kind, 0)
                                                    : name(kind, 0) + "_" + name(kind, 1));
  }
  const auto low = static_cast<float>(params.power_low);
  const auto high = static_cast<float>(params.power_high);
  const float north = params.latitude / 360 * math::kTau;
  const bool random = params.light == Light::random;
  info.latents = {
      {"power", "power of the first formula", "", low, high},
      {"rule", "rule of the first formula; 0 in the classic form", "", least[0], most[0]},
      {"second_power", "power of the second formula, if any; else of the first", "", low, high},
      {"second_rule", "rule of the second formula, if any; else of the first", "", least[1],
       most[1]},
      {"latitude", "latitude of the camera, from the x-y plane", "rad", -north, north,
       LatentRole::unmapped},
      {"longitude", "longitude of the camera, from x to y", "rad", 0, math::kTau,
       LatentRole::unmapped},
      {"light", "direction of the light in the image, counterclockwise from the right", "rad", 0,
       math::kTau, LatentRole::direction},
      {"light_height",
       "cosine of the angle between light and camera; below 0: light from the far side of the "
       "solid",
       "", random ? 0.3f : -1.f, random ? 0.9f : 1.f}};
  info.plane = {"depth",
                "distance along the ray; the camera is 2.5 from the centre of a ball of radius "
                "1.5; 0: no hit",
                "", PlaneInfo::Kind::depth};
  const char* const traps[] = {"near the plane z = 0", "near the origin in |x| + |y| + |z|",
                               "near the origin"};
  const char* const channels[] = {"red", "green", "blue"};
  for (int i = 0; i < 3; ++i) {
    for (const char* const channel : channels) {
      info.latents.push_back(
          {fmt::format("colour{}_{}", i, channel[0]),
           fmt::format("colour that fades where orbits come {}: {}", traps[i], channel), "", 0, 1,
           LatentRole::colour});
    }
  }
  info.draws.scene = 1 + 1 + 3;  // the label, four words of the scene, nine of the colours
  return info;
}

Mandelbulb::Mandelbulb(const Params& params) : params_(params) {
  table().expect_ordered(params, {"power"});
  if (params.form == Form::classic && params.second_rules > 0) {
    fail(ErrorKind::config,
         {fmt::format("mandelbulb: second_rules = {} in the classic form", params.second_rules),
          "the classic form has no rules", "use second_rules: 0, or form: variations"});
  }
}

}  // namespace wellspring
