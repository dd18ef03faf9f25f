// Generator `sprites`: scenes with known factors; every combination of factors is a sample. A scene
// is a white shape on black as in dSprites, or a solid in a coloured room as in 3D Shapes. The
// class is the shape. Called through the registry; host and device.
//
// Sources: L. Matthey, I. Higgins, D. Hassabis, A. Lerchner, "dSprites: Disentanglement testing
// Sprites dataset", 2017, and C. Burgess, H. Kim, "3D Shapes Dataset", 2018 (H. Kim, A. Mnih, ICML
// 2018). The factors, their order and their numbers of values are as published. The renderers are
// not published, so sizes, room and light are our own.
#pragma once

#include "core/config/params.h"
#include "core/error.h"
#include "generators/images/hues.h"
#include "generators/images/solids.h"
#include "generators/sample_info.h"
#include "kernels/emission/pixels.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring {

struct Sprites {
  using Solid = solids::Solid;
  enum class Mode : std::uint8_t { dsprites, shapes3d };
  enum class Order : std::uint8_t { random, enumerated };
  enum class Edges : std::uint8_t { smooth, hard };
  enum class Angles : std::uint8_t { published, distinct };
  enum class Shape : std::uint8_t { square, ellipse, heart };

  struct Params {
    Mode mode = Mode::dsprites;
    Order order = Order::random;
    bool grid = true;
    Angles angles = Angles::published;
    Edges edges = Edges::smooth;
  };
  static const ParamTable<Params>& table() {
    static const char* const kMatthey = "Matthey et al., dSprites, 2017";
    static const auto rows =
        ParamTable<Params>("sprites")
            .choice("mode", &Params::mode,
                    {{"dsprites", Mode::dsprites}, {"shapes3d", Mode::shapes3d}},
                    "dsprites: a white shape on black (737280 combinations); shapes3d: a solid in "
                    "a room (480000)",
                    "Matthey et al., dSprites, 2017; Burgess and Kim, 3D Shapes, 2018")
            .choice("order", &Params::order,
                    {{"random", Order::random}, {"enumerated", Order::enumerated}},
                    "random: factors are drawn independently; enumerated: sample i shows "
                    "combination i modulo their number, in the published order")
            .flag("grid", &Params::grid,
                  "on: factors take only the published values; off: any value in between")
            .choice("angles", &Params::angles,
                    {{"published", Angles::published}, {"distinct", Angles::distinct}},
                    "rotations of dsprites. published: 40 values from 0 to a full turn inclusive, "
                    "so the last equals the first; distinct: 40 multiples of 1/41 turn, all "
                    "different for every shape",
                    kMatthey)
            .only_where([](const Params& p) { return p.mode == Mode::dsprites; }, "mode: dsprites")
            .choice("edges", &Params::edges, {{"smooth", Edges::smooth}, {"hard", Edges::hard}},
                    "smooth: anti-aliased; hard: a pixel shows the point at its centre",
                    "hard: as published, dSprites")
            .preset("dsprites", {{"mode", "dsprites"}, {"edges", "hard"}},
                    "factors and binary pixels of Matthey et al. 2017; use order: enumerated for "
                    "their order")
            .preset("shapes3d", {{"mode", "shapes3d"}, {"edges", "smooth"}},
                    "factors of Burgess and Kim 2018; use order: enumerated for their order");
    return rows;
  }

  /// Factors as indices into their lists of values; integers on the grid.
  struct Factors {
    std::int32_t shape = 0;
    float scale = 0, turn = 0;
    float x = 0, y = 0;                     ///< dsprites only
    float floor = 0, wall = 0, object = 0;  ///< hues, shapes3d only
  };
  // Number of values per factor.
  static constexpr std::uint32_t kShapes = 3, kScales = 6, kTurns = 40, kPlaces = 32;
  static constexpr std::uint32_t kSolids = 4, kHues = 10, kSizes = 8, kViews = 15;
  static constexpr std::uint64_t kSprites =
      std::uint64_t{kShapes} * kScales * kTurns * kPlaces * kPlaces;
  static constexpr std::uint64_t kRooms =
      std::uint64_t{kHues} * kHues * kHues * kSizes * kSolids * kViews;
  static_assert(kSprites == 737280 && kRooms == 480000);

  /// Combination number `id` modulo the number of combinations. The last factor varies fastest:
  /// shape, scale, orientation, x, y; or floor, wall, object, scale, shape, orientation.
  WS_INLINE static constexpr Factors combination(Mode mode, std::uint64_t id) {
    auto rest = static_cast<std::uint32_t>(id % (mode == Mode::dsprites ? kSprites : kRooms));
    const auto take = [&](std::uint32_t count) {
      const std::uint32_t value = rest % count;
      rest /= count;
      return static_cast<float>(static_cast<std::int32_t>(value));
    };
    Factors factors;
    if (mode == Mode::dsprites) {
      factors.y = take(kPlaces);
      factors.x = take(kPlaces);
      factors.turn = take(kTurns);
      factors.scale = take(kScales);
      factors.shape = static_cast<std::int32_t>(rest);
    } else {
      factors.turn = take(kViews);
      factors.shape = static_cast<std::int32_t>(rest % kSolids);
      rest /= kSolids;
      factors.scale = take(kSizes);
      factors.object = take(kHues);
      factors.wall = take(kHues);
      factors.floor = static_cast<float>(static_cast<std::int32_t>(rest));
    }
    return factors;
  }

  static constexpr int kLatents = 8;
  static constexpr forms::Pixels kForm = {.plane = true, .blocks = 2};  // needs 128 registers
  static SampleInfo describe(const Params& params) {
    const bool flat = params.mode == Mode::dsprites;
    SampleInfo info;
    info.name = "sprites";
    info.summary = "A shape on black or a solid in a room, with known factors; class: the shape";
    info.reference = "Matthey et al., dSprites, 2017; Burgess and Kim, 3D Shapes, 2018";
    info.classes = flat ? std::vector<std::string>{"square", "ellipse", "heart"}
                        : std::vector<std::string>{"cube", "cylinder", "sphere", "pill"};
    if (params.grid) info.distinct = flat ? kSprites : kRooms;
    const float hues = flat ? 0 : (params.grid ? 0.9f : 1);
    info.latents = {
        {"shape", "the class", "", 0, static_cast<float>(info.classes.size() - 1)},
        {"scale",
         flat ? "scale; at 1 the disc of equal area has a radius of 11/64 of the image"
              : "scale of the solid",
         "", flat ? 0.5f : 0.75f, flat ? 1 : 1.25f, LatentRole::length},
        {"orientation",
         flat ? "rotation from upright, counterclockwise" : "azimuth of the camera, to the right",
         "rad", flat ? 0 : -kLargestView, flat ? kLargestTurn(params) : kLargestView,
         flat ? LatentRole::angle : LatentRole::unmapped},
        {"x", "centre, from the left of the largest central square", "image side",
         flat ? kFirstPlace / 64 : 0.5f, flat ? kLastPlace / 64 : 0.5f, LatentRole::position_x},
        {"y", "centre, from the top of that square", "image side", flat ? kFirstPlace / 64 : 0.4f,
         flat ? kLastPlace / 64 : 0.6f, LatentRole::position_y},
        {"floor_hue", "hue of the floor: 0 red, 1/3 green, 2/3 blue; 0 without a floor", "", 0,
         hues, LatentRole::colour},
        {"wall_hue", "hue of the walls", "", 0, hues, LatentRole::colour},
        {"object_hue", "hue of the solid", "", 0, hues, LatentRole::colour}};
    if (flat) {
      info.plane = {"shape",
                    "number of the class + 1 where the shape covers at least half of a pixel", "",
                    PlaneInfo::Kind::class_number};
    } else {
      info.plane = {
          "depth",
          "depth along the viewing axis; the camera is 2.6 from the centre of a room of width 6",
          "", PlaneInfo::Kind::depth};
    }
    info.draws = {.scene = params.order == Order::enumerated ? 0 : (flat ? 2 : 3)};
    return info;
  }

  struct Scene {
    std::int32_t shape;
    float centre_x, centre_y;  ///< centre of the sprite or image in pixels
    float radius;  ///< radius of the disc of equal area; for the room: pixels per unit tangent
    float cosine, sine;  ///< cosine and sine of the angle, divided by radius
    solids::Room room;
  };

  explicit Sprites(const Params& params) : params_(params) {
    if (params.order == Order::enumerated && !params.grid) {
      fail(ErrorKind::config,
           {"sprites: order is enumerated and grid is off",
            "only the values of the grid can be enumerated", "use grid: on, or order: random"});
    }
  }

  WS_INLINE Scene draw(const SampleKey& key, Truth<kLatents>& truth) const {
    const bool flat = params_.mode == Mode::dsprites;
    const Factors factors = params_.order == Order::enumerated
                                ? combination(params_.mode, key.rng.sample)
                                : drawn(key.rng);
    const float width = static_cast<float>(key.shape.width);
    const float height = static_cast<float>(key.shape.height);
    const float side = width < height ? width : height;
    Scene scene;
    scene.shape = factors.shape;
    truth.label = factors.shape;
    truth.latents[0] = static_cast<float>(factors.shape);
    if (flat) {
      const float scale = math::lerp(0.5f, 1, factors.scale / (kScales - 1));
      const float turns = factors.turn / turn_steps(params_);
      const float x = (kFirstPlace + factors.x) / 64, y = (kFirstPlace + factors.y) / 64;
      scene.centre_x = math::fma(x, side, 0.5f * (width - side));
      scene.centre_y = math::fma(y, side, 0.5f * (height - side));
      scene.radius = scale * (kRadius * side);
      scene.cosine = math::cos_turns(turns) / scene.radius;
      scene.sine = math::sin_turns(turns) / scene.radius;
      scene.room = {};
      truth.latents[1] = scale;
      truth.latents[2] = turns * math::kTau;
      truth.latents[3] = x;
      truth.latents[4] = y;
    } else {
      const float scale = math::lerp(0.75f, 1.25f, factors.scale / (kSizes - 1));
      const float turns = math::lerp(-30, 30, factors.turn / (kViews - 1)) / 360;
      const float floor = factors.floor / kHues, wall = factors.wall / kHues;
      const float object = factors.object / kHues;
      scene.centre_x = 0.5f * width;
      scene.centre_y = 0.5f * height;
      scene.radius = side * (0.5f / solids::Room::kHalfView);
      scene.cosine = scene.sine = 0;
      scene.room.cosine = math::cos_turns(turns);
      scene.room.sine = math::sin_turns(turns);
      scene.room.scale = scale;
      scene.room.floor = hue_colour(floor, 0.3f, 0.9f);
      scene.room.wall = hue_colour(wall, 0.4f, 1);
      scene.room.object = hue_colour(object, 0.15f, 1);
      truth.latents[1] = scale;
      truth.latents[2] = turns * math::kTau;
      truth.latents[3] = 0.5f;
      truth.latents[4] = math::fma(
          0.5f / solids::Room::kHalfView,
          solids::Room::below_middle(scale * solids::middle_of(static_cast<Solid>(factors.shape))),
          0.5f);
      truth.latents[5] = floor;
      truth.latents[6] = wall;
      truth.latents[7] = object;
    }
    return scene;
  }

  template <int N>
  WS_INLINE void shade(const Scene& scene, const PixelRun<N>& run, ColourRun<N>& colour) const {
    if (params_.mode == Mode::dsprites) {
      switch (static_cast<Shape>(scene.shape)) {
        case Shape::square:
          fill<Shape::square>(scene, run, colour);
          break;
        case Shape::ellipse:
          fill<Shape::ellipse>(scene, run, colour);
          break;
        case Shape::heart:
          fill<Shape::heart>(scene, run, colour);
          break;
      }
    } else {
      visit_solid(scene, [&]<Solid S>() { look<S>(scene, run, colour); });
    }
  }

  template <int N>
  WS_INLINE void plane(const Scene& scene, const PixelRun<N>& run, float (&value)[N]) const {
    if (params_.mode == Mode::dsprites) {
      ColourRun<N> cover;
      shade(scene, run, cover);
      const auto number = static_cast<float>(scene.shape + 1);
      WS_LANES
      for (int i = 0; i < N; ++i) value[i] = cover.r[i] >= 0.5f ? number : 0;
    } else {
      visit_solid(scene, [&]<Solid S>() { measure<S>(scene, run, value); });
    }
  }

 private:
  /// Radius of the disc of equal area at scale 1, in image sides. No shape extends beyond sqrt(2)
  /// radii, 15.6 of 64 pixels.
  static constexpr float kRadius = 11.f / 64;
  /// Positions in 64ths of the image, in steps of one: in a 64-pixel image, adjacent values are one
  /// pixel apart.
  static constexpr float kFirstPlace = 16.5f, kLastPlace = 47.5f;
  static constexpr float kLargestView = 0.5235988f;  ///< 30 degrees, rounded up

  static constexpr float turn_steps(const Params& params) {
    return params.angles == Angles::published ? 39 : 41;
  }
  static float kLargestTurn(const Params& params) {
    return params.grid && params.angles == Angles::distinct ? 39.f / 41 * math::kTau : math::kTau;
  }

  /// Draws the shape from the label's word and the other factors from the scene's words, in the
  /// order of Factors.
  WS_INLINE Factors drawn(SampleRng rng) const {
    const bool flat = params_.mode == Mode::dsprites;
    Factors factors;
    factors.shape =
        static_cast<std::int32_t>(RngStream(rng, Purpose::label).integer(flat ? kShapes : kSolids));
    RngStream draw(rng, Purpose::scene);
    // One of `count` values, or any number up to `span`.
    const auto take = [&](std::uint32_t count, float span) {
      const std::uint32_t word = draw.next();
      const auto whole = static_cast<float>(static_cast<std::int32_t>(below(word, count)));
      return params_.grid ? whole : span * unit_float(word);
    };
    if (flat) {
      factors.scale = take(kScales, kScales - 1);
      factors.turn = take(kTurns, turn_steps(params_));
      factors.x = take(kPlaces, kPlaces - 1);
      factors.y = take(kPlaces, kPlaces - 1);
    } else {
      factors.scale = take(kSizes, kSizes - 1);
      factors.turn = take(kViews, kViews - 1);
      factors.floor = take(kHues, kHues);
      factors.wall = take(kHues, kHues);
      factors.object = take(kHues, kHues);
    }
    return factors;
  }

  WS_INLINE static float length(float x, float y) { return math::sqrt(math::fma(x, x, y * y)); }

  /// Signed distance to the edge, negative inside and exact near the edge except for the ellipse. y
  /// points up, and the disc of equal area has radius 1: the constants follow from "area = pi".
  template <Shape S>
  WS_INLINE static float distance(float x, float y) {
    const float ax = math::abs(x), ay = math::abs(y);
    if constexpr (S == Shape::square) {
      return math::max(ax, ay) - 0.88622693f;
    } else if constexpr (S == Shape::ellipse) {
      // An ellipse twice as wide as high. Uses f / |grad f| with f = (x / a)^2 + (y / b)^2 - 1, a^2
      // = 2, b^2 = 1 / 2, which is correct to first order (G. Taubin, PAMI 13 (1991) 1115).
      const float gx = 0.5f * x, gy = 2 * y;
      return math::fma(gx, x, math::fma(gy, y, -1.f)) / (2 * length(gx, gy));
    } else {  // heart: a square on its corner, with discs on its upper sides
      const float diamond = math::fma(0.70710678f, ax + ay, -0.66325021f);
      const float disc = length(ax - 0.46898872f, y - 0.46898872f) - 0.66325021f;
      return math::min(diamond, disc);
    }
  }

  template <Shape S, int N>
  WS_INLINE void fill(const Scene& scene, const PixelRun<N>& run, ColourRun<N>& colour) const {
    const float sharpness = scene.radius / run.footprint;
    const bool hard = params_.edges == Edges::hard;
    WS_LANES
    for (int i = 0; i < N; ++i) {
      const float dx = run.x[i] - scene.centre_x, dy = scene.centre_y - run.y[i];
      const float u = math::fma(scene.cosine, dx, scene.sine * dy);
      const float v = math::fma(scene.cosine, dy, -(scene.sine * dx));
      const float d = distance<S>(u, v);
      const float share = math::clamp(math::fma(-sharpness, d, 0.5f), 0.f, 1.f);
      const float cover = hard ? (d < 0 ? 1.f : 0.f) : share;
      colour.set(i, {cover, cover, cover});
    }
  }

  template <class Visit>
  WS_INLINE static void visit_solid(const Scene& scene, const Visit& visit) {
    switch (static_cast<Solid>(scene.shape)) {
      case Solid::cube:
        return visit.template operator()<Solid::cube>();
      case Solid::cylinder:
        return visit.template operator()<Solid::cylinder>();
      case Solid::sphere:
        return visit.template operator()<Solid::sphere>();
      case Solid::pill:
        return visit.template operator()<Solid::pill>();
    }
  }

  /// Depth of the ray through each pixel's centre.
  template <Solid S, int N>
  WS_INLINE static void measure(const Scene& scene, const PixelRun<N>& run, float (&depth)[N]) {
    const solids::Vector3 eye = scene.room.eye();
    const float tangent = 1 / scene.radius;  // per pixel
    WS_LANES
    for (int i = 0; i < N; ++i) {
      const float right = (run.x[i] - scene.centre_x) * tangent;
      const float up = (scene.centre_y - run.y[i]) * tangent;
      depth[i] = scene.room.depth<S>(eye, scene.room.ray(right, up));
    }
  }

  /// One ray per pixel through its centre, or the mean of four on a rotated grid.
  template <Solid S, int N>
  WS_INLINE void look(const Scene& scene, const PixelRun<N>& run, ColourRun<N>& colour) const {
    const solids::Vector3 eye = scene.room.eye();
    const float tangent = 1 / scene.radius;  // per pixel
    const bool hard = params_.edges == Edges::hard;
    const int rays = hard ? 1 : 4;
    const float share = hard ? 1.f : 0.25f, step = hard ? 0.f : 0.125f * run.footprint;
    WS_LANES
    for (int i = 0; i < N; ++i) colour.set(i, {0, 0, 0});
    for (int ray = 0; ray < rays; ++ray) {
      // (-1, -3), (3, -1), (-3, 1), (1, 3) eighths of a pixel.
      const float ox =
          step * static_cast<float>(ray == 1 ? 3 : (ray == 2 ? -3 : (ray == 3 ? 1 : -1)));
      const float oy = step * static_cast<float>(2 * ray - 3);
      WS_LANES
      for (int i = 0; i < N; ++i) {
        const float right = ((run.x[i] + ox) - scene.centre_x) * tangent;
        const float up = (scene.centre_y - (run.y[i] + oy)) * tangent;
        const Rgb c = scene.room.seen<S>(eye, scene.room.ray(right, up));
        colour.r[i] = math::fma(share, c.r, colour.r[i]);
        colour.g[i] = math::fma(share, c.g, colour.g[i]);
        colour.b[i] = math::fma(share, c.b, colour.b[i]);
      }
    }
  }

  Params params_;
};

}  // namespace wellspring
