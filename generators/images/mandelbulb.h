// Generator `mandelbulb`: sets of points in space whose orbits z -> (power of z) + c do not escape.
// They are viewed from any direction, lit, and coloured by how near their orbits come to planes and
// to the origin. The class is the power and the rule that selects its angles. Called through the
// registry; host and device.
//
// Source: B. N. Chiche, Y. Horikawa, R. Fujita, "Pre-training Vision Models with Mandelbulb
// Variations", CVPR 2024, pp. 22062-22071 (rules, powers, colours, camera);
// docs/generators/algorithms/mandelbulb.md lists the differences.
#pragma once

#include "core/config/params.h"
#include "generators/images/mandelbulb_march.h"
#include "generators/sample_info.h"
#include "kernels/emission/pixels.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"

#include <cstdint>

namespace wellspring {

struct Mandelbulb {
  enum class Form : std::uint8_t { variations, classic };
  enum class Light : std::uint8_t { random, fixed };
  enum class Background : std::uint8_t { white, black };
  enum class Palette : std::uint8_t { colour, grey, depth };

  struct Params {
    Form form = Form::variations;
    int power_low = mandelbulb::kLeastPower, power_high = mandelbulb::kMostPower;
    int rules = kRules;
    int second_rules = 0;
    float latitude = 90;
    Light light = Light::random;
    bool shadow = true;
    Background background = Background::white;
    Palette palette = Palette::colour;
    int rays = 1;
    float precision = 0.3f;
    float pace = 0.7f;
    int iterations = 12;
    int steps = 96;
  };
  static const ParamTable<Params>& table();

  static constexpr int kRules = 61, kSecondRules = 4;
  static constexpr int kLatents = 8 + 9;
  static constexpr forms::Pixels kForm = {.plane = true, .blocks = 2};  // needs 128 registers
  static SampleInfo describe(const Params& params);

  /// Throws config errors for a lower limit above its upper limit, or rules with the classic form.
  explicit Mandelbulb(const Params& params);

  struct Rules {
    std::int16_t at[kRules];
  };
  /// The published rules, in the published order.
  WS_INLINE static constexpr Rules published_rules() {
    return {{107, 106, 263, 334, 205, 271, 434, 225, 331, 413, 141, 167, 424, 196, 222, 461,
             488, 109, 151, 232, 42,  188, 507, 32,  451, 132, 190, 481, 143, 96,  180, 388,
             397, 68,  135, 197, 360, 40,  465, 243, 506, 160, 327, 175, 105, 223, 198, 332,
             452, 174, 281, 395, 238, 386, 161, 168, 204, 416, 244, 418, 297}};
  }
  /// The same rules, but those not used in the first formula of the published hybrids come last.
  WS_INLINE static constexpr Rules first_rules() {
    constexpr Rules kAll = published_rules();
    constexpr std::int16_t kLast[] = {434, 222, 109, 151, 507, 32,  190, 96, 68,
                                      360, 40,  243, 506, 105, 223, 332, 297};
    Rules sorted{};
    int count = 0;
    for (int last = 0; last < 2; ++last) {
      for (const std::int16_t rule : kAll.at) {
        int found = 0;
        for (const std::int16_t other : kLast) found |= static_cast<int>(rule == other);
        if (found == last) sorted.at[count++] = rule;
      }
    }
    return sorted;
  }
  WS_INLINE static std::int32_t rule_at(std::int32_t i) {
    constexpr Rules kList = published_rules();
    return kList.at[i];
  }
  WS_INLINE static std::int32_t first_rule_at(std::int32_t i) {
    constexpr Rules kList = first_rules();
    return kList.at[i];
  }
  /// Rules for the second formula of the published hybrids.
  WS_INLINE static std::int32_t second_rule_at(std::int32_t i) {
    return i == 0 ? 32 : (i == 1 ? 109 : (i == 2 ? 222 : 434));
  }

  /// A class: two alternating formulas, or one formula used twice.
  struct Kind {
    std::int32_t power[2] = {0, 0}, rule[2] = {0, 0};
  };
  WS_INLINE static Kind kind_of(const Params& params, std::int32_t label) {
    const std::int32_t powers = params.power_high - params.power_low + 1;
    Kind kind;
    std::int32_t rest = label;
    if (params.second_rules > 0) {
      kind.rule[1] = second_rule_at(rest % params.second_rules);
      rest /= params.second_rules;
      kind.power[1] = params.power_low + rest % powers;
      rest /= powers;
    }
    if (params.form != Form::classic) {
      const std::int32_t i = rest % params.rules;
      kind.rule[0] = params.second_rules > 0 ? first_rule_at(i) : rule_at(i);
    }
    kind.power[0] = params.power_low + rest / (params.form == Form::classic ? 1 : params.rules);
    if (params.second_rules == 0) {
      kind.rule[1] = kind.rule[0];
      kind.power[1] = kind.power[0];
    }
    return kind;
  }
  static constexpr int classes_of(const Params& params) {
    const int powers = params.power_high - params.power_low + 1;
    return powers * (params.form == Form::classic ? 1 : params.rules) *
           (params.second_rules > 0 ? powers * params.second_rules : 1);
  }

  struct Scene {
    mandelbulb::Bulb bulb;
    solids::Vector3 right, up, back;  ///< axes of the image; the camera is at kDistance * back
    solids::Vector3 light;            ///< towards the light, in the solid's axes
    float centre_x, centre_y;         ///< image centre in pixels
    float tangent;                    ///< width of a pixel at unit distance
    Rgb colour[3];                    ///< colours of the three orbit traps
  };

  WS_INLINE Scene draw(const SampleKey& key, Truth<kLatents>& truth) const {
    using solids::Vector3;
    const auto label =
        static_cast<std::int32_t>(RngStream(key.rng, Purpose::label)
                                      .integer(static_cast<std::uint32_t>(classes_of(params_))));
    const Kind kind = kind_of(params_, label);
    RngStream draw(key.rng, Purpose::scene);
    const float highest = params_.latitude / 360;
    const float latitude = draw.uniform(-highest, highest), longitude = draw.uniform();
    const float light_turns = draw.uniform(), light_cosine = draw.uniform(0.3f, 0.9f);

    Scene scene;
    scene.bulb.classic = params_.form == Form::classic;
    scene.bulb.iterations = params_.iterations;
    scene.bulb.pace = params_.pace;
    WS_UNROLL(2)
    for (int i = 0; i < 2; ++i) {
      // In the classic form, x has cos phi, y has sin phi and z has cos theta.
      const std::int32_t rule = scene.bulb.classic ? 0b000'100'010 : kind.rule[i];
      scene.bulb.formula[i] = mandelbulb::Formula::of(kind.power[i], rule);
    }
    const math::SinCos north = math::sincos_turns(latitude), east = math::sincos_turns(longitude);
    scene.right = {-east.sine, east.cosine, 0};
    scene.up = {-(north.sine * east.cosine), -(north.sine * east.sine), north.cosine};
    scene.back = {north.cosine * east.cosine, north.cosine * east.sine, north.sine};

    // Unit direction of the light in the axes of the image.
    Vector3 seen;
    if (params_.light == Light::random) {
      const float across = math::sqrt(math::fma(-light_cosine, light_cosine, 1.f));
      const math::SinCos turn = math::sincos_turns(light_turns);
      seen = {across * turn.cosine, across * turn.sine, light_cosine};
      const auto axis = [&](float r, float u, float b) {
        return math::fma(seen.x, r, math::fma(seen.y, u, seen.z * b));
      };
      scene.light = {axis(scene.right.x, scene.up.x, scene.back.x),
                     axis(scene.right.y, scene.up.y, scene.back.y),
                     axis(scene.right.z, scene.up.z, scene.back.z)};
    } else {
      constexpr float kThird = 0.57735027f;  // towards (-10, 10, 10)
      scene.light = {-kThird, kThird, kThird};
      seen = {solids::dot(scene.light, scene.right), solids::dot(scene.light, scene.up),
              math::clamp(solids::dot(scene.light, scene.back), -1.f, 1.f)};
    }
    const float width = static_cast<float>(key.shape.width);
    const float height = static_cast<float>(key.shape.height);
    scene.centre_x = 0.5f * width;
    scene.centre_y = 0.5f * height;
    scene.tangent = 1 / (width < height ? width : height);

    RngStream colours(key.rng, Purpose::colour);
    WS_UNROLL(3)
    for (int i = 0; i < 3; ++i) {
      scene.colour[i].r = colours.uniform();
      scene.colour[i].g = colours.uniform();
      scene.colour[i].b = colours.uniform();
    }

    truth.label = label;
    truth.latents[0] = static_cast<float>(kind.power[0]);
    truth.latents[1] = static_cast<float>(kind.rule[0]);
    truth.latents[2] = static_cast<float>(kind.power[1]);
    truth.latents[3] = static_cast<float>(kind.rule[1]);
    truth.latents[4] = latitude * math::kTau;
    truth.latents[5] = longitude * math::kTau;
    const float turn = math::atan2(seen.y, seen.x);
    const float positive = turn < 0 ? turn + math::kTau : turn;
    truth.latents[6] = positive >= math::kTau ? 0.f : positive;
    truth.latents[7] = seen.z;
    WS_UNROLL(3)
    for (int i = 0; i < 3; ++i) {
      truth.latents[8 + 3 * i] = scene.colour[i].r;
      truth.latents[9 + 3 * i] = scene.colour[i].g;
      truth.latents[10 + 3 * i] = scene.colour[i].b;
    }
    return scene;
  }

  template <int N>
  WS_INLINE void shade(const Scene& scene, const PixelRun<N>& run, ColourRun<N>& colour) const {
    look_together(
        run, [&](const auto& places) { return look(scene, places, run.footprint); },
        [&](int i, Rgb seen) { colour.set(i, seen); });
  }

  template <int N>
  WS_INLINE void plane(const Scene& scene, const PixelRun<N>& run, float (&value)[N]) const {
    look_together(
        run, [&](const auto& places) { return measure(scene, places, run.footprint); },
        [&](int i, Rgb seen) { value[i] = seen.r; });
  }

 private:
  static constexpr float kDistance = 2.5f;  ///< distance from camera to origin, as published
  static constexpr float kBall = 1.5f;      ///< radius of the ball in which rays search for the set
  static constexpr float kAmbient = 0.25f, kDiffuse = 0.75f;
  static constexpr float kLeastColour = 0.12f;
  static constexpr int kHostLanes = 8;

  /// A few pixels: positions as input, colours as output.
  template <int M>
  struct Looks {
    float x[M], y[M];
    float r[M], g[M], b[M];
  };

  /// Processes the run a few pixels at a time: `look` computes values, `take` stores them.
  template <int N, class Look, class Take>
  WS_INLINE static void look_together(const PixelRun<N>& run, const Look& look, const Take& take) {
#if WS_DEVICE_CODE
    constexpr int kLanes = 1;
#else
    constexpr int kLanes = N < kHostLanes ? N : kHostLanes;
#endif
    static_assert(N % kLanes == 0);
    WS_UNROLL(8)
    for (int first = 0; first < N; first += kLanes) {
      Looks<kLanes> looks;
      for (int i = 0; i < kLanes; ++i) {
        looks.x[i] = run.x[first + i];
        looks.y[i] = run.y[first + i];
      }
      looks = look(looks);
      for (int i = 0; i < kLanes; ++i) take(first + i, {looks.r[i], looks.g[i], looks.b[i]});
    }
  }

  /// Length of the ray through each pixel's centre, written to the red channel; 0 without a hit.
  template <int M>
  WS_HD __attribute__((noinline)) Looks<M> measure(const Scene& scene, Looks<M> looks,
                                                   float footprint) const {
    mandelbulb::Rays<M> rays;
    int going[M], hit[M];
    float near[M];
    aim(scene, looks, rays, going);
    for (int i = 0; i < M; ++i) near[i] = 0;
    // Uses the same precision as the rays of the image.
    const float breadth = footprint * (1 / static_cast<float>(params_.rays));
    mandelbulb::march(scene.bulb, rays, near, slope_of(scene, breadth), params_.steps, going, hit);
    for (int i = 0; i < M; ++i) looks.r[i] = looks.g[i] = looks.b[i] = hit[i] != 0 ? rays.t[i] : 0;
    return looks;
  }

  /// Not inlined, because eight copies per run would dominate the code size.
  template <int M>
  WS_HD __attribute__((noinline)) Looks<M> look(const Scene& scene, Looks<M> looks,
                                                float footprint) const {
    for (int i = 0; i < M; ++i) looks.r[i] = looks.g[i] = looks.b[i] = 0;
    const float side = 1 / static_cast<float>(params_.rays), share = side * side;
    for (int ray = 0; ray < params_.rays * params_.rays; ++ray) {
      const float ox = (static_cast<float>(ray % params_.rays) + 0.5f) * side - 0.5f;
      const float oy = (static_cast<float>(ray / params_.rays) + 0.5f) * side - 0.5f;
      Looks<M> one;
      for (int i = 0; i < M; ++i) {
        one.x[i] = math::fma(footprint, ox, looks.x[i]);
        one.y[i] = math::fma(footprint, oy, looks.y[i]);
      }
      send(scene, one, footprint * side);
      for (int i = 0; i < M; ++i) {
        looks.r[i] = math::fma(share, one.r[i], looks.r[i]);
        looks.g[i] = math::fma(share, one.g[i], looks.g[i]);
        looks.b[i] = math::fma(share, one.b[i], looks.b[i]);
      }
    }
    return looks;
  }

  /// A ray counts as a hit where its distance to the set, divided by its length, is below this
  /// value. `breadth`: breadth of the ray in pixels.
  WS_INLINE float slope_of(const Scene& scene, float breadth) const {
    return params_.precision * breadth * scene.tangent;
  }

  /// The ray through each position, from its entry into the ball to its exit.
  template <int M>
  WS_INLINE static void aim(const Scene& scene, const Looks<M>& looks, mandelbulb::Rays<M>& rays,
                            int (&going)[M]) {
    WS_LANES
    for (int i = 0; i < M; ++i) {
      const float p = (looks.x[i] - scene.centre_x) * scene.tangent;
      const float q = (scene.centre_y - looks.y[i]) * scene.tangent;
      const float length = math::sqrt(math::fma(p, p, math::fma(q, q, 1.f)));
      const float inverse = 1 / length;
      const auto axis = [&](float r, float u, float b) {
        return (math::fma(p, r, q * u) - b) * inverse;
      };
      rays.d.x[i] = axis(scene.right.x, scene.up.x, scene.back.x);
      rays.d.y[i] = axis(scene.right.y, scene.up.y, scene.back.y);
      rays.d.z[i] = axis(scene.right.z, scene.up.z, scene.back.z);
      rays.from.x[i] = kDistance * scene.back.x;
      rays.from.y[i] = kDistance * scene.back.y;
      rays.from.z[i] = kDistance * scene.back.z;
      // The ball has radius kBall. The ray comes nearest to its centre at
      // kDistance / length from the camera.
      const float middle = kDistance * inverse;
      const float half2 = math::fma(middle, middle, kBall * kBall - kDistance * kDistance);
      const float half = math::sqrt(math::max(half2, 0.f));
      rays.t[i] = middle - half;
      rays.end[i] = middle + half;
      going[i] = half2 > 0 ? 1 : 0;
    }
  }

  /// Colours along a ray through each position; `breadth` is the ray's breadth in pixels.
  template <int M>
  WS_INLINE void send(const Scene& scene, Looks<M>& looks, float breadth) const {
    mandelbulb::Rays<M> rays;
    int going[M], hit[M];
    float near[M];
    aim(scene, looks, rays, going);
    for (int i = 0; i < M; ++i) near[i] = 0;
    const float near_slope = slope_of(scene, breadth);
    mandelbulb::march(scene.bulb, rays, near, near_slope, params_.steps, going, hit);
    if (params_.palette == Palette::depth) {
      show_depth(rays, hit, looks);
      return;
    }
    mandelbulb::Points<M> at, normal;
    rays.points(hit, at);
    float size[M], distance[M];
    WS_LANES
    for (int i = 0; i < M; ++i) size[i] = near_slope * rays.t[i];
    mandelbulb::normals(scene.bulb, at, size, normal);
    mandelbulb::Traps<M> traps;
    mandelbulb::estimate<true>(scene.bulb, at, distance, traps);
    int dark[M];
    for (int i = 0; i < M; ++i) dark[i] = 0;
    if (params_.shadow) cast_shadows(scene, at, normal, size, hit, dark);

    const float back = params_.background == Background::white ? 1.f : 0.f;
    WS_LANES
    for (int i = 0; i < M; ++i) {
      const float facing =
          math::fma(normal.x[i], scene.light.x,
                    math::fma(normal.y[i], scene.light.y, normal.z[i] * scene.light.z));
      const float direct = dark[i] != 0 ? 0.f : math::max(facing, 0.f);
      const float r2 = math::fma(at.x[i], at.x[i], math::fma(at.y[i], at.y[i], at.z[i] * at.z[i]));
      const float light = math::fma(kDiffuse, direct, kAmbient) * r2;
      const float first = weight(traps.level[i], 1);
      const float second = weight(traps.taxicab[i], scene.bulb.formula[0].power);
      const float third = weight(traps.norm[i], scene.bulb.formula[0].power);
      const auto mixed = [&](float one, float two, float three) {
        return math::fma(one, first, math::fma(two, second, three * third)) * light;
      };
      Rgb c = {mixed(scene.colour[0].r, scene.colour[1].r, scene.colour[2].r),
               mixed(scene.colour[0].g, scene.colour[1].g, scene.colour[2].g),
               mixed(scene.colour[0].b, scene.colour[1].b, scene.colour[2].b)};
      if (params_.palette == Palette::grey) c.r = c.g = c.b = (first + second + third) * light / 3;
      looks.r[i] = hit[i] != 0 ? math::clamp(c.r, 0.f, 1.f) : back;
      looks.g[i] = hit[i] != 0 ? math::clamp(c.g, 0.f, 1.f) : back;
      looks.b[i] = hit[i] != 0 ? math::clamp(c.b, 0.f, 1.f) : back;
    }
  }

  /// Linear in the ray's length: 1 at the nearest point of the ball, 1/4 at its
  /// far side, and 0 for the background.
  template <int M>
  WS_INLINE static void show_depth(const mandelbulb::Rays<M>& rays, const int (&hit)[M],
                                   Looks<M>& looks) {
    constexpr float kNearest = kDistance - kBall, kSlope = 0.75f / (2 * kBall);
    WS_LANES
    for (int i = 0; i < M; ++i) {
      const float value = math::clamp(math::fma(-kSlope, rays.t[i] - kNearest, 1.f), 0.25f, 1.f);
      looks.r[i] = looks.g[i] = looks.b[i] = hit[i] != 0 ? value : 0.f;
    }
  }

  /// Marks the points `at` that are in shadow.
  template <int M>
  WS_INLINE void cast_shadows(const Scene& scene, const mandelbulb::Points<M>& at,
                              const mandelbulb::Points<M>& normal, const float (&size)[M],
                              const int (&hit)[M], int (&dark)[M]) const {
    mandelbulb::Rays<M> rays;
    int going[M];
    WS_LANES
    for (int i = 0; i < M; ++i) {
      // Starts two sizes away from the surface, so that the ray does not hit it immediately.
      const float off = 2 * size[i];
      const solids::Vector3 from = {math::fma(off, normal.x[i], at.x[i]),
                                    math::fma(off, normal.y[i], at.y[i]),
                                    math::fma(off, normal.z[i], at.z[i])};
      rays.from.x[i] = from.x;
      rays.from.y[i] = from.y;
      rays.from.z[i] = from.z;
      rays.d.x[i] = scene.light.x;
      rays.d.y[i] = scene.light.y;
      rays.d.z[i] = scene.light.z;
      const float along = solids::dot(from, scene.light);
      const float c = solids::dot(from, from) - kBall * kBall;
      rays.t[i] = 0;
      rays.end[i] = math::sqrt(math::max(math::fma(along, along, -c), 0.f)) - along;
      const float facing =
          normal.x[i] * scene.light.x + (normal.y[i] * scene.light.y + normal.z[i] * scene.light.z);
      going[i] = facing > 0 ? hit[i] : 0;
    }
    mandelbulb::march(scene.bulb, rays, size, 0, params_.steps, going, dark);
  }

  /// Weight of a trap's colour; kLeastColour where an orbit touches the trap.
  WS_INLINE static float weight(float trap, std::int32_t power) {
    const float within = math::min(trap, 1.f);
    float share = within;
    for (std::int32_t i = 1; i < power; ++i) share = share * within;
    return math::lerp(kLeastColour, 1, share);
  }

  Params params_;
};

}  // namespace wellspring
