// Generator `shapes`: one anti-aliased shape on a plain or textured background. The class is the
// shape. All shapes have the same area at the same scale, so only their form distinguishes them.
// Called through the registry; host and device.
#pragma once

#include "core/config/params.h"
#include "generators/images/periodic.h"
#include "generators/sample_info.h"
#include "kernels/emission/pixels.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace wellspring {

struct Shapes {
  enum class Shape : std::uint8_t {
    circle,
    ring,
    crescent,
    triangle,
    square,
    pentagon,
    hexagon,
    star,
    cross,
    heart
  };
  static constexpr int kShapes = 10;

  enum class Texture : std::uint8_t { none, gradient, stripes, grain, any };

  struct Params {
    int classes = kShapes;
    float scale_low = 0.12f;
    float scale_high = 0.28f;
    float contrast = 0.3f;
    float softness = 0;
    Texture texture = Texture::none;
    float texture_strength = 0.5f;
  };
  static const ParamTable<Params>& table() {
    static const auto rows =
        ParamTable<Params>("shapes")
            .integer("classes", &Params::classes, {1, kShapes}, "",
                     "number of shapes used, in the order of the class list")
            .real("scale_low", &Params::scale_low, {0.01, kLargestScale}, "image side",
                  "smallest scale: radius of the disc of equal area")
            .real("scale_high", &Params::scale_high, {0.01, kLargestScale}, "image side",
                  "largest scale; every shape at this scale fits into the image")
            .real("contrast", &Params::contrast, {0, 0.9}, "",
                  "smallest difference between the shape's and the background's first colour, in "
                  "at least one channel")
            .real("softness", &Params::softness, {0, 1}, "scale",
                  "additional width of the edge, beyond one pixel of anti-aliasing")
            .choice("texture", &Params::texture,
                    {{"none", Texture::none},
                     {"gradient", Texture::gradient},
                     {"stripes", Texture::stripes},
                     {"grain", Texture::grain},
                     {"any", Texture::any}},
                    "background: plain, or a mix of two colours; any: one of the four per sample. "
                    "Gradient and stripes mix by 3 w^2 - 2 w^3, where w is a triangle wave in "
                    "[0, 1]; grain mixes by a uniform number per pixel")
            .real("texture_strength", &Params::texture_strength, {0, 1}, "",
                  "largest share of the second colour in the background")
            .only_where([](const Params& p) { return p.texture != Texture::none; }, "a texture");
    return rows;
  }

  static constexpr int kLatents = 17;
  static constexpr forms::Pixels kForm = {.plane = true, .band = 32768};
  static SampleInfo describe(const Params& params) {
    SampleInfo info;
    info.name = "shapes";
    info.version = 3;
    info.summary =
        "One anti-aliased shape of random position, scale, angle and colours; class: the shape";
    info.reference = "our own signed distances of regular polygons, stars and discs";
    const std::vector<std::string> names = {"circle",   "ring",    "crescent", "triangle", "square",
                                            "pentagon", "hexagon", "star",     "cross",    "heart"};
    info.classes.assign(names.begin(), names.begin() + params.classes);
    const bool any = params.texture == Texture::any;
    const bool gradients = any || params.texture == Texture::gradient;
    const bool waves = gradients || params.texture == Texture::stripes;
    const float longest = gradients ? 1 / kGradientWaves : (waves ? 0.35f : 0);
    const float shortest = any ? 0 : (gradients ? longest : (waves ? 0.05f : 0));
    info.latents = {
        rarely_reached({"x", "centre, from the left of the largest central square", "image side", 0,
                        1, LatentRole::position_x}),
        rarely_reached({"y", "centre, from the top of that square", "image side", 0, 1,
                        LatentRole::position_y}),
        {"scale", "radius of the disc of equal area", "image side", params.scale_low,
         params.scale_high, LatentRole::length},
        {"angle", "rotation from upright, counterclockwise", "rad", 0, 6.2831855f,
         LatentRole::angle},
        {"shape_r", "colour of the shape: red", "", 0, 1, LatentRole::colour},
        {"shape_g", "colour of the shape: green", "", 0, 1, LatentRole::colour},
        {"shape_b", "colour of the shape: blue", "", 0, 1, LatentRole::colour},
        {"background_r", "first colour of the background: red", "", 0, 1, LatentRole::colour},
        {"background_g", "first colour of the background: green", "", 0, 1, LatentRole::colour},
        {"background_b", "first colour of the background: blue", "", 0, 1, LatentRole::colour},
        {"texture", "0 none, 1 gradient, 2 stripes, 3 grain", "",
         any ? 0 : static_cast<float>(params.texture),
         any ? 3 : static_cast<float>(params.texture)},
        {"second_r", "second colour of the background: red", "", 0, 1, LatentRole::colour},
        {"second_g", "second colour of the background: green", "", 0, 1, LatentRole::colour},
        {"second_b", "second colour of the background: blue", "", 0, 1, LatentRole::colour},
        {"texture_period", "wavelength of the gradient or stripes; 0 if there is neither",
         "image side", shortest, longest, LatentRole::wave_period},
        {"texture_angle", "direction of the wave, counterclockwise from the right", "rad", 0,
         waves ? 6.2831855f : 0, LatentRole::wave_angle},
        {"texture_phase",
         "phase at the top left corner; the second colour is strongest at whole numbers", "period",
         0, waves ? 1.f : 0.f, LatentRole::wave_phase}};
    info.plane = {"shape",
                  "number of the class + 1 where the shape covers at least half of a pixel", "",
                  PlaneInfo::Kind::class_number};
    const bool grain = params.texture == Texture::grain || params.texture == Texture::any;
    info.draws = {.scene = 1 + 5, .pixel = grain ? 1 : 0};  // the label, then 19 words of the scene
    return info;
  }

  struct Scene {
    SampleRng rng;
    Shape shape;
    Texture texture;
    float x, y;          ///< centre, source pixels
    float radius;        ///< radius of the disc with the same area, source pixels
    float cosine, sine;  ///< cosine and sine of the angle, divided by radius
    float softness;      ///< extra width of the edge, source pixels
    Rgb front, back, second;
    float wave_x, wave_y, phase;  ///< texture coordinate: wave . position + phase, in periods
    float strength;
  };

  explicit Shapes(const Params& params) : params_(params) {
    table().expect_ordered(params, {"scale"});
  }

  WS_INLINE Scene draw(const SampleKey& key, Truth<kLatents>& truth) const {
    const std::uint32_t shape =
        RngStream(key.rng, Purpose::label).integer(static_cast<std::uint32_t>(params_.classes));
    RngStream draw(key.rng, Purpose::scene);
    const float side =
        static_cast<float>(key.shape.width < key.shape.height ? key.shape.width : key.shape.height);
    const float scale = draw.uniform(params_.scale_low, params_.scale_high);
    const float margin = kReach * scale;  // the same for all shapes, to hide the class
    const float x = draw.uniform(margin, 1 - margin), y = draw.uniform(margin, 1 - margin);
    const float turns = draw.uniform();

    Scene scene;
    scene.rng = key.rng;
    scene.shape = static_cast<Shape>(shape);
    scene.x = 0.5f * (static_cast<float>(key.shape.width) - side) + x * side;
    scene.y = 0.5f * (static_cast<float>(key.shape.height) - side) + y * side;
    scene.radius = scale * side;
    scene.cosine = math::cos_turns(turns) / scene.radius;
    scene.sine = math::sin_turns(turns) / scene.radius;
    scene.softness = params_.softness * scene.radius;
    draw_colours(draw, scene);
    const Wave wave = draw_texture(draw, side, scene);

    truth.label = static_cast<std::int32_t>(shape);
    const float latents[kLatents] = {x,
                                     y,
                                     scale,
                                     turns * 6.2831855f,
                                     scene.front.r,
                                     scene.front.g,
                                     scene.front.b,
                                     scene.back.r,
                                     scene.back.g,
                                     scene.back.b,
                                     static_cast<float>(scene.texture),
                                     scene.second.r,
                                     scene.second.g,
                                     scene.second.b,
                                     wave.period,
                                     wave.angle,
                                     wave.phase};
    WS_UNROLL(17)
    for (int i = 0; i < kLatents; ++i) truth.latents[i] = latents[i];
    return scene;
  }

  template <int N>
  WS_INLINE void shade(const Scene& scene, const PixelRun<N>& run, ColourRun<N>& colour) const {
    float cover[N];
    cover_run(scene, run, cover);
    if (scene.texture == Texture::none) {
      WS_LANES
      for (int i = 0; i < N; ++i) colour.set(i, lerp(scene.back, scene.front, cover[i]));
    } else {
      float share[N];
      texture(scene, run, share);
      WS_LANES
      for (int i = 0; i < N; ++i) {
        colour.set(i, lerp(lerp(scene.back, scene.second, share[i]), scene.front, cover[i]));
      }
    }
  }

  template <int N>
  WS_INLINE void plane(const Scene& scene, const PixelRun<N>& run, float (&value)[N]) const {
    float cover[N];
    cover_run(scene, run, cover);
    const auto number = static_cast<float>(static_cast<std::int32_t>(scene.shape) + 1);
    WS_LANES
    for (int i = 0; i < N; ++i) value[i] = cover[i] >= 0.5f ? number : 0;
  }

 private:
  /// Fraction of each pixel that the shape covers.
  template <int N>
  WS_INLINE static void cover_run(const Scene& scene, const PixelRun<N>& run, float (&cover)[N]) {
    switch (scene.shape) {
      case Shape::circle:
        fill<Shape::circle>(scene, run, cover);
        break;
      case Shape::ring:
        fill<Shape::ring>(scene, run, cover);
        break;
      case Shape::crescent:
        fill<Shape::crescent>(scene, run, cover);
        break;
      case Shape::triangle:
        fill<Shape::triangle>(scene, run, cover);
        break;
      case Shape::square:
        fill<Shape::square>(scene, run, cover);
        break;
      case Shape::pentagon:
        fill<Shape::pentagon>(scene, run, cover);
        break;
      case Shape::hexagon:
        fill<Shape::hexagon>(scene, run, cover);
        break;
      case Shape::star:
        fill<Shape::star>(scene, run, cover);
        break;
      case Shape::cross:
        fill<Shape::cross>(scene, run, cover);
        break;
      case Shape::heart:
        fill<Shape::heart>(scene, run, cover);
        break;
    }
  }

  /// Largest distance between a shape's centre and its edge, in units of the scale: the tips of the
  /// star.
  static constexpr float kReach = 1.672894f;
  /// Largest scale that fits into the image: 0.5 / kReach, rounded down.
  static constexpr double kLargestScale = 0.298;
  /// A gradient is a wave; the image spans about a third of its period.
  static constexpr float kGradientWaves = 0.35f;

  WS_INLINE static float larger(float a, float b) { return a > b ? a : b; }
  WS_INLINE static float smaller(float a, float b) { return a < b ? a : b; }
  WS_INLINE static float length(float x, float y) { return math::sqrt(math::fma(x, x, y * y)); }

  /// Signed distance to the edge, negative inside and exact near the edge. y points up, and the
  /// disc of equal area has radius 1: every constant follows from "area = pi". Each shape is
  /// symmetric about the y axis, so its angle is also defined in mirrored images.
  template <Shape S>
  WS_INLINE static float distance(float x, float y) {
    const float ax = math::abs(x), ay = math::abs(y);
    if constexpr (S == Shape::circle) {
      return length(x, y) - 1;
    } else if constexpr (S == Shape::ring) {  // radii 0.75 and 1.25
      return math::abs(length(x, y) - 1) - 0.25f;
    } else if constexpr (S == Shape::crescent) {
      // A disc minus a disc of 0.8 times its radius; the centres are 0.55 radii apart.
      return larger(length(x, y) - 1.3973045f, 1.1178436f - length(x, y - 0.76851746f));
    } else if constexpr (S == Shape::triangle) {  // half-planes at the inradius
      constexpr float kInradius = 0.77756015f;
      return larger(-y, math::fma(0.8660254f, ax, 0.5f * y)) - kInradius;
    } else if constexpr (S == Shape::square) {
      return larger(ax, ay) - 0.88622693f;
    } else if constexpr (S == Shape::pentagon) {  // normals at 90 +- 36, 90 +- 108 and 270 degrees
      const float upper = math::fma(0.58778525f, ax, 0.80901699f * y);
      const float lower = math::fma(0.95105652f, ax, -0.30901699f * y);
      return larger(larger(upper, lower), -y) - 0.92994960f;
    } else if constexpr (S == Shape::hexagon) {
      return larger(ax, math::fma(0.5f, ax, 0.8660254f * ay)) - 0.95231281f;
    } else if constexpr (S == Shape::star) {
      // Inside the pentagram {5/2}, a point is outside at most one of the five half-planes of the
      // inner pentagon, so the second largest of the five distances decides.
      const float upper_near = math::fma(0.58778525f, ax, -0.80901699f * y);
      const float upper_far = math::fma(-0.58778525f, ax, -0.80901699f * y);
      const float side_near = math::fma(0.95105652f, ax, 0.30901699f * y);
      const float side_far = math::fma(-0.95105652f, ax, 0.30901699f * y);
      float first = larger(upper_near, upper_far), second = smaller(upper_near, upper_far);
      second = larger(second, smaller(first, side_near));
      first = larger(first, side_near);
      second = larger(second, smaller(first, side_far));
      first = larger(first, side_far);
      second = larger(second, smaller(first, y));
      return second - 0.51695245f;
    } else if constexpr (S == Shape::cross) {  // bars three times as long as wide
      return larger(larger(ax, ay) - 1.1889982f, smaller(ax, ay) - 0.39633273f);
    } else {  // heart: a square on its corner, with discs on its upper sides
      const float diamond = math::fma(0.70710678f, ax + ay, -0.66325021f);
      const float disc = length(ax - 0.46898872f, y - 0.46898872f) - 0.66325021f;
      return smaller(diamond, disc);
    }
  }

  template <Shape S, int N>
  WS_INLINE static void fill(const Scene& scene, const PixelRun<N>& run, float (&cover)[N]) {
    const float sharpness = scene.radius / (run.footprint + scene.softness);
    WS_LANES
    for (int i = 0; i < N; ++i) {
      const float dx = run.x[i] - scene.x, dy = scene.y - run.y[i];
      const float u = math::fma(scene.cosine, dx, scene.sine * dy);
      const float v = math::fma(scene.cosine, dy, -(scene.sine * dx));
      const float inside = math::fma(-sharpness, distance<S>(u, v), 0.5f);
      cover[i] = smaller(larger(inside, 0.f), 1.f);
    }
  }

  /// Share of the second colour, in [0, strength].
  template <int N>
  WS_INLINE static void texture(const Scene& scene, const PixelRun<N>& run, float (&share)[N]) {
    if (scene.texture == Texture::grain) {
      WS_LANES
      for (int i = 0; i < N; ++i) {
        const auto ix = static_cast<std::uint32_t>(periodic::floor_int(run.x[i]));
        const auto iy = static_cast<std::uint32_t>(periodic::floor_int(run.y[i]));
        const Philox4 w = scene.rng.block(Purpose::texture, (iy << 16) | (ix & 0xffffu));
        share[i] = scene.strength * unit_float(w.word[0]);
      }
      return;
    }
    WS_LANES
    for (int i = 0; i < N; ++i) {
      const float t =
          math::fma(scene.wave_x, run.x[i], math::fma(scene.wave_y, run.y[i], scene.phase));
      const float wave =
          math::abs(math::fma(2.f, t - math::floor(t), -1.f));      // triangle wave, period 1
      const float soft = wave * wave * math::fma(-2.f, wave, 3.f);  // the wave without kinks
      share[i] = scene.strength * soft;
    }
  }

  /// The colours are uniform, except in one random channel. There, the pair is uniform among all
  /// pairs that differ by at least `contrast`: two uniform numbers from [0, 1 - contrast], of which
  /// the larger is moved up. The mean of every channel is 1/2.
  WS_INLINE void draw_colours(RngStream& draw, Scene& scene) const {
    float front[3], back[3];
    WS_UNROLL(3)
    for (int c = 0; c < 3; ++c) back[c] = draw.uniform();
    WS_UNROLL(3)
    for (int c = 0; c < 3; ++c) front[c] = draw.uniform();
    const auto apart = static_cast<int>(draw.integer(3));
    WS_UNROLL(3)
    for (int c = 0; c < 3; ++c) {
      if (c != apart) continue;
      const bool front_is_lower = front[c] < back[c];
      front[c] = front[c] * (1 - params_.contrast) + (front_is_lower ? 0.f : params_.contrast);
      back[c] = back[c] * (1 - params_.contrast) + (front_is_lower ? params_.contrast : 0.f);
    }
    scene.front = {front[0], front[1], front[2]};
    scene.back = {back[0], back[1], back[2]};
    scene.second.r = draw.uniform();
    scene.second.g = draw.uniform();
    scene.second.b = draw.uniform();
  }

  /// Latents of the wave; 0 without a texture.
  struct Wave {
    float period = 0, angle = 0, phase = 0;  ///< image sides, radians, periods at the corner
  };
  WS_INLINE Wave draw_texture(RngStream& draw, float side, Scene& scene) const {
    const auto any = static_cast<Texture>(draw.integer(4));
    const float turns = draw.uniform();
    const float period = draw.uniform(0.05f, 0.35f);
    scene.phase = draw.uniform();
    scene.texture = params_.texture == Texture::any ? any : params_.texture;
    const bool gradient = scene.texture == Texture::gradient;
    const float waves = gradient ? kGradientWaves : 1 / period;
    scene.wave_x = math::cos_turns(turns) * (waves / side);
    scene.wave_y = -(math::sin_turns(turns) * (waves / side));  // counterclockwise
    scene.strength = params_.texture_strength;
    if (!gradient && scene.texture != Texture::stripes) return {};
    return {gradient ? 1 / kGradientWaves : period, turns * 6.2831855f, scene.phase};
  }

  Params params_;
};

}  // namespace wellspring
