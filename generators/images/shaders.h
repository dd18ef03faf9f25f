// Generator `shaders`: a formula per pixel, composed of a deformation of the plane, a program drawn
// on it, and a colour gradient. The class combines the program, the deformation and the cell of the
// program's parameters. Called through the registry; host and device.
//
// Pretraining on classes of procedural programs follows M. Baradad et al., "Procedural Image
// Programs for Representation Learning", NeurIPS 2022. Their programs are third-party; all programs
// here are our own.
#pragma once

#include "core/config/params.h"
#include "generators/images/hues.h"
#include "generators/images/shader_domains.h"
#include "generators/images/shader_form.h"
#include "generators/images/shader_programs.h"
#include "generators/sample_info.h"
#include "kernels/emission/pixels.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring {

struct Shaders {
  using Program = shaders::Program;
  using Domain = shaders::Domain;
  enum class Palette : std::uint8_t { colour, grey };

  struct Params {
    int programs = shaders::kPrograms;
    int domains = shaders::kDomains;
    int cells = 1;
    Palette palette = Palette::colour;
  };
  static const ParamTable<Params>& table() {
    static const auto rows =
        ParamTable<Params>("shaders")
            .integer("programs", &Params::programs, {1, shaders::kPrograms}, "",
                     "number of programs used, in the order of the class list")
            .integer("domains", &Params::domains, {1, shaders::kDomains}, "",
                     "number of deformations of the plane used; 1: only the plain plane")
            .integer("cells", &Params::cells, {1, 8}, "",
                     "number of cells per program parameter (each program has two); class: "
                     "program, deformation and both cells")
            .choice("palette", &Params::palette,
                    {{"colour", Palette::colour}, {"grey", Palette::grey}},
                    "colour: four random colours per sample; grey: shades of grey")
            .preset("programs-16", {{"domains", "1"}}, "one class per program, on the plain plane")
            .preset("programs-1k", {{"cells", "3"}},
                    "1152 classes: 16 programs, 8 deformations, 9 cells");
    return rows;
  }

  static constexpr int kLatents = 14;
  static constexpr forms::Pixels kForm = {};
  static SampleInfo describe(const Params& params) {
    SampleInfo info;
    info.name = "shaders";
    info.summary =
        "Programs drawn on a deformed plane; class: program, deformation and parameter cell";
    info.reference = "our own; classes of programs: Baradad et al., NeurIPS 2022";
    const std::vector<std::string> programs = {"stripes",      "rings",  "checker",   "plasma",
                                               "metaballs",    "moire",  "honeycomb", "truchet",
                                               "weave",        "flow",   "rosette",   "spirals",
                                               "quasicrystal", "scales", "bricks",    "halftone"};
    const std::vector<std::string> domains = {"plain", "fold", "swirl",     "kaleidoscope",
                                              "polar", "warp", "inversion", "quilt"};
    for (int program = 0; program < params.programs; ++program) {
      for (int domain = 0; domain < params.domains; ++domain) {
        for (int cell = 0; cell < params.cells * params.cells; ++cell) {
          std::string name = programs[static_cast<std::size_t>(program)];
          if (params.domains > 1) name += "-" + domains[static_cast<std::size_t>(domain)];
          if (params.cells > 1) name += "-" + std::to_string(cell);
          info.classes.push_back(name);
        }
      }
    }
    info.latents = {
        {"program", "number of the program", "", 0, static_cast<float>(params.programs - 1)},
        {"domain", "number of the deformation", "", 0, static_cast<float>(params.domains - 1)},
        {"fine", "first parameter of the program: fineness", "", 0, 1},
        {"form", "second parameter of the program: form", "", 0, 1},
        {"bend", "strength of the deformation", "", 0, 1},
        {"x", "origin of the plane, from the left of the largest central square", "image side",
         0.25f, 0.75f, LatentRole::position_x},
        {"y", "origin of the plane, from the top of that square", "image side", 0.25f, 0.75f,
         LatentRole::position_y},
        {"unit", "unit of the plane", "image side", kSmallestUnit, kLargestUnit,
         LatentRole::length},
        {"turn", "direction of the plane's first axis, counterclockwise from the right", "rad", 0,
         math::kTau, LatentRole::direction},
        {"phase0", "phase of the first set of waves", "turns", 0, 1},
        {"phase1", "phase of the second set of waves", "turns", 0, 1},
        {"phase2", "phase of the third set of waves and of the deformation along x", "turns", 0, 1},
        {"phase3", "phase of the program's fourth waves, and of the deformation along y", "turns",
         0, 1},
        {"hue", "hue of the darkest colour", "turns", 0, 1, LatentRole::colour}};
    info.draws = {.scene = 1 + 3 + 3};
    return info;
  }

  struct Scene {
    shaders::Form form;
    float bend;
    float centre_x, centre_y;  ///< source pixels
    float cosine, sine;  ///< direction of the first axis, divided by the unit in source pixels
    float per_pixel;     ///< 1 / unit
    Rgb low, middle, high, over;
    std::int32_t program, domain;
  };

  explicit Shaders(const Params& params) : params_(params) {}

  WS_INLINE Scene draw(const SampleKey& key, Truth<kLatents>& truth) const {
    const int parts = params_.cells, cells = parts * parts;
    const auto label = static_cast<std::int32_t>(
        RngStream(key.rng, Purpose::label)
            .integer(static_cast<std::uint32_t>(params_.programs * params_.domains * cells)));
    const std::int32_t cell = label % cells, pair = label / cells;
    Scene scene;
    scene.program = pair / params_.domains;
    scene.domain = pair % params_.domains;

    RngStream draw(key.rng, Purpose::scene);
    const float width = static_cast<float>(key.shape.width);
    const float height = static_cast<float>(key.shape.height);
    const float side = width < height ? width : height;
    const float part = 1 / static_cast<float>(parts);
    scene.form.a = part * (static_cast<float>(cell / parts) + draw.uniform());
    scene.form.b = part * (static_cast<float>(cell % parts) + draw.uniform());
    scene.bend = draw.uniform();
    const float x = draw.uniform(0.25f, 0.75f), y = draw.uniform(0.25f, 0.75f);
    const float unit = draw.uniform(kSmallestUnit, kLargestUnit);
    const float turns = draw.uniform();
    WS_UNROLL(4)
    for (int k = 0; k < 4; ++k) scene.form.phase[k] = draw.uniform();
    scene.form.seed = draw.next();
    scene.form.pixel = 0;  // set in shade()
    scene.centre_x = math::fma(x, side, 0.5f * (width - side));
    scene.centre_y = math::fma(y, side, 0.5f * (height - side));
    scene.per_pixel = 1 / (unit * side);
    scene.cosine = math::cos_turns(turns) * scene.per_pixel;
    scene.sine = math::sin_turns(turns) * scene.per_pixel;
    const float hue = draw_colours(key.rng, scene);

    truth.label = label;
    const float latents[kLatents] = {static_cast<float>(scene.program),
                                     static_cast<float>(scene.domain),
                                     scene.form.a,
                                     scene.form.b,
                                     scene.bend,
                                     x,
                                     y,
                                     unit,
                                     turns * math::kTau,
                                     scene.form.phase[0],
                                     scene.form.phase[1],
                                     scene.form.phase[2],
                                     scene.form.phase[3],
                                     hue};
    WS_UNROLL(14)
    for (int i = 0; i < kLatents; ++i) truth.latents[i] = latents[i];
    return scene;
  }

  template <int N>
  WS_INLINE void shade(const Scene& scene, const PixelRun<N>& run, ColourRun<N>& colour) const {
    shaders::Form form = scene.form;
    form.pixel = run.footprint * scene.per_pixel;
    float x[N], y[N];
    WS_LANES
    for (int i = 0; i < N; ++i) {
      const float dx = run.x[i] - scene.centre_x, dy = scene.centre_y - run.y[i];
      x[i] = math::fma(scene.cosine, dx, scene.sine * dy);
      y[i] = math::fma(scene.cosine, dy, -(scene.sine * dx));
    }
    // Program and deformation are the same for all pixels of an image.
    bend_by(static_cast<Domain>(scene.domain), form, scene.bend, x, y);
    // After this, x is the level and y the tint.
    tone_by(static_cast<Program>(scene.program), form, x, y);
    WS_LANES
    for (int i = 0; i < N; ++i) {
      const float level = 2 * x[i];
      const float lower = math::clamp(level, 0.f, 1.f), upper = math::clamp(level - 1, 0.f, 1.f);
      const float tint = math::clamp(y[i], 0.f, 1.f);
      const Rgb base = lerp(lerp(scene.low, scene.middle, lower), scene.high, upper);
      colour.set(i, lerp(base, scene.over, tint));
    }
  }

 private:
  static constexpr float kSmallestUnit = 0.3f, kLargestUnit = 0.5f;

  template <Domain D, int N>
  WS_INLINE static void bend(const shaders::Form& form, float strength, float (&x)[N],
                             float (&y)[N]) {
    WS_LANES
    for (int i = 0; i < N; ++i) {
      const shaders::Point p = shaders::bent<D>(form, strength, {x[i], y[i]});
      x[i] = p.x;
      y[i] = p.y;
    }
  }
  template <int N>
  WS_INLINE static void bend_by(Domain domain, const shaders::Form& form, float strength,
                                float (&x)[N], float (&y)[N]) {
    switch (domain) {
      case Domain::plain:
        break;
      case Domain::fold:
        return bend<Domain::fold>(form, strength, x, y);
      case Domain::swirl:
        return bend<Domain::swirl>(form, strength, x, y);
      case Domain::kaleidoscope:
        return bend<Domain::kaleidoscope>(form, strength, x, y);
      case Domain::polar:
        return bend<Domain::polar>(form, strength, x, y);
      case Domain::warp:
        return bend<Domain::warp>(form, strength, x, y);
      case Domain::inversion:
        return bend<Domain::inversion>(form, strength, x, y);
      case Domain::quilt:
        return bend<Domain::quilt>(form, strength, x, y);
    }
  }

  template <Program P, int N>
  WS_INLINE static void tone(const shaders::Form& form, float (&x)[N], float (&y)[N]) {
    WS_LANES
    for (int i = 0; i < N; ++i) {
      const shaders::Tone t = shaders::tone<P>(form, {x[i], y[i]});
      x[i] = t.level;
      y[i] = t.tint;
    }
  }
  template <int N>
  WS_INLINE static void tone_by(Program program, const shaders::Form& form, float (&x)[N],
                                float (&y)[N]) {
    switch (program) {
      case Program::stripes:
        return tone<Program::stripes>(form, x, y);
      case Program::rings:
        return tone<Program::rings>(form, x, y);
      case Program::checker:
        return tone<Program::checker>(form, x, y);
      case Program::plasma:
        return tone<Program::plasma>(form, x, y);
      case Program::metaballs:
        return tone<Program::metaballs>(form, x, y);
      case Program::moire:
        return tone<Program::moire>(form, x, y);
      case Program::honeycomb:
        return tone<Program::honeycomb>(form, x, y);
      case Program::truchet:
        return tone<Program::truchet>(form, x, y);
      case Program::weave:
        return tone<Program::weave>(form, x, y);
      case Program::flow:
        return tone<Program::flow>(form, x, y);
      case Program::rosette:
        return tone<Program::rosette>(form, x, y);
      case Program::spirals:
        return tone<Program::spirals>(form, x, y);
      case Program::quasicrystal:
        return tone<Program::quasicrystal>(form, x, y);
      case Program::scales:
        return tone<Program::scales>(form, x, y);
      case Program::bricks:
        return tone<Program::bricks>(form, x, y);
      case Program::halftone:
        return tone<Program::halftone>(form, x, y);
    }
  }

  /// A dark, a middle and a light colour of neighbouring hues, and one of roughly the opposite hue.
  /// The hues change in a random direction. Returns the hue of the first.
  WS_INLINE float draw_colours(SampleRng rng, Scene& scene) const {
    RngStream draw(rng, Purpose::colour);
    const float hue = draw.uniform(), away = draw.uniform(0.06f, 0.22f);
    const bool other_way = draw.integer(2) == 1, upside_down = draw.integer(2) == 1;
    const float step = other_way ? -away : away;
    const float dark_value = draw.uniform(0.12f, 0.35f), dark_white = draw.uniform(0, 0.5f);
    const float middle_value = draw.uniform(0.55f, 0.85f),
                middle_white = draw.uniform(0.05f, 0.45f);
    const float light_value = draw.uniform(0.88f, 1), light_white = draw.uniform(0.5f, 0.85f);
    const float over_hue = draw.uniform(0.35f, 0.65f), over_white = draw.uniform(0.05f, 0.4f);
    Rgb dark = hue_colour(hue, dark_white, dark_value);
    Rgb middle = hue_colour(hue + step, middle_white, middle_value);
    Rgb light = hue_colour(hue + 2 * step, light_white, light_value);
    Rgb over = hue_colour(hue + step + over_hue, over_white, 0.9f);
    if (params_.palette == Palette::grey) {
      dark = {dark_value, dark_value, dark_value};
      middle = {middle_value, middle_value, middle_value};
      light = {light_value, light_value, light_value};
      const float grey = 0.9f * over_hue;
      over = {grey, grey, grey};
    }
    scene.low = upside_down ? light : dark;
    scene.middle = middle;
    scene.high = upside_down ? dark : light;
    scene.over = over;
    return hue;
  }

  Params params_;
};

}  // namespace wellspring
