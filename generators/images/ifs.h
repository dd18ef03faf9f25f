// Generator `ifs`: attractors of iterated function systems, drawn by the chaos game. Mode
// `fractaldb`: a class is a random system of 2 to 7 affine maps that fills enough of a picture; its
// samples are 25 variations of the coefficients, in four flips, with a random 3x3 patch at every
// point. Called through the registry; host and device.
//
// After H. Kataoka et al., "Pre-training without natural images", ACCV 2020 (FractalDB), and the
// program published with it. What differs: categories are our own (ifs_categories.h); points come
// from many walkers that begin on the attractor instead of one that begins at the origin, and each
// sample draws its own; patches are centred on their points; variations that diverge or leave
// almost nothing to see are drawn again.
#pragma once

#include "core/error.h"
#include "core/params.h"
#include "generators/images/ifs_categories.h"
#include "generators/images/ifs_system.h"
#include "kernels/emission.h"

#include <cstdint>

namespace wellspring {

struct Ifs {
  enum class Mode : std::uint8_t { fractaldb };
  enum class Stamp : std::uint8_t { patch, point };
  enum class Palette : std::uint8_t { grey, colour };

  struct Params {
    Mode mode = Mode::fractaldb;
    int categories = 60;
    std::int64_t category_seed = 1;
    double rate = 0.2;
    float weight_step = 0.4f;
    bool keep_degenerate = false;
    double least_fill = 0.02;
    int patches = 0;
    Stamp stamp = Stamp::patch;
    Palette palette = Palette::grey;
    int points = 0;
    float picture = 1;
    float margin = 6.0f / 362;
    int walkers = 256;
    int burn_in = 32;
  };
  static const ParamTable<Params>& table() {
    static const auto rows =
        ParamTable<Params>("ifs")
            .choice("mode", &Params::mode, {{"fractaldb", Mode::fractaldb}},
                    "family of systems: random affine maps, chosen by how much they fill")
            .integer("categories", &Params::categories, {1, 100000}, "",
                     "number of classes; class k does not depend on it",
                     "FractalDB-60, -1k and -10k: 60, 1000, 10000")
            .integer("category_seed", &Params::category_seed, {0}, "",
                     "of the random systems; the same classes under every seed of samples")
            .real("rate", &Params::rate, {0.01, 0.25}, "share of pixels",
                  "filling rate that a class needs, of 512x512 pixels by 100,000 points",
                  "FractalDB: 0.2")
            .real("weight_step", &Params::weight_step, {0, 0.5}, "",
                  "variations multiply a coefficient by 1 - 2w, 1 - w, 1 + w, 1 + 2w",
                  "FractalDB: 0.4 (0.1 where its program is not told)")
            .flag("keep_degenerate", &Params::keep_degenerate,
                  "keep variations that diverge or leave almost nothing to see", "FractalDB: true")
            .real("least_fill", &Params::least_fill, {0, 0.2}, "share of pixels",
                  "filling rate below which a variation counts as degenerate")
            .integer("patches", &Params::patches, {0, 1000000}, "",
                     "drawings of each variation: their points and patches; 0: fresh every sample",
                     "FractalDB: 10, whose points are the same in all")
            .choice("stamp", &Params::stamp, {{"patch", Stamp::patch}, {"point", Stamp::point}},
                    "what is drawn at a point: a random 3x3 patch, which hides what lies below, or "
                    "its pixel",
                    "FractalDB: patch")
            .choice("palette", &Params::palette,
                    {{"grey", Palette::grey}, {"colour", Palette::colour}},
                    "grey: 127 of 255; colour: a hue by the point's number", "FractalDB: grey")
            .integer("points", &Params::points, {0, ifs::kMostPoints}, "",
                     "0: as densely as published, 200,000 on 362x362 pixels of the picture",
                     "FractalDB: 200,000 at 362 pixels")
            .real("picture", &Params::picture, {1, 4}, "image side",
                  "side of the whole picture; above 1 a random part of it is seen",
                  "FractalDB is trained on 224 of 362 pixels: 1.616")
            .real("margin", &Params::margin, {0, 0.25}, "picture side",
                  "left free around the points", "FractalDB: 6 of 362 pixels")
            .integer("walkers", &Params::walkers, {1, 65536}, "",
                     "points that wander at the same time; part of what a sample is")
            .integer("burn_in", &Params::burn_in, {0, 4096}, "",
                     "steps of each walker that are not drawn");
    return rows;
  }

  static constexpr int kLatents = 6;
  /// Published density of points, per pixel of the picture.
  static constexpr double kDensity = 200000.0 / (362.0 * 362.0);
  /// The grey of the published pictures, of 255.
  static constexpr float kGrey = 127.0f / 255;

  /// Numbered drawings have ids of their own under the categories' seed, beyond all categories.
  static constexpr std::uint64_t kDrawings = std::uint64_t{1} << 63;

  /// What the device reads.
  struct Tables {
    const ifs::Category* category = nullptr;
    const ifs::Window* window = nullptr;  ///< ifs::kVariations of each category
  };

  struct Scene {
    ifs::System system;
    ifs::Walk walk;
    ifs::Placing placing;
    SampleRng rng;
    std::int32_t width, height;
  };

  explicit Ifs(const Params& params) : params_(params) {}

  // ---- the canvas: image cells with a border of one around, whose patches reach into the image

  static constexpr int kBorder = 1;
  WS_INLINE static constexpr std::int64_t cells(int height, int width) {
    return std::int64_t{height + 2 * kBorder} * (width + 2 * kBorder);
  }

  WS_INLINE Scene draw(const SampleKey& key, Truth<kLatents>& truth) const {
    RngStream draw(key.rng, Purpose::label);
    const auto k = static_cast<int>(draw.integer(static_cast<std::uint32_t>(params_.categories)));
    const std::uint32_t which = draw.next();
    const std::uint32_t patch = draw.next();
    const std::uint32_t flips = draw.integer(4);
    const float part_x = draw.uniform(), part_y = draw.uniform();

    const ifs::Category& category = tables.category[k];
    const int variation = params_.keep_degenerate
                              ? static_cast<int>(below(which, ifs::kVariations))
                              : category.variation[below(which, category.usable)];
    const ifs::Window& window = tables.window[k * ifs::kVariations + variation];
    const auto drawing =
        params_.patches == 0 ? 0u : below(patch, static_cast<std::uint32_t>(params_.patches));

    Scene scene;
    scene.width = key.shape.width;
    scene.height = key.shape.height;
    // A numbered drawing is the same for every sample that has its number.
    scene.rng = params_.patches == 0
                    ? key.rng
                    : SampleRng{static_cast<std::uint64_t>(params_.category_seed),
                                kDrawings + drawing};
    scene.system = category.system;
    WS_UNROLL(7)
    for (int i = 0; i < ifs::kMaxMaps; ++i) {
      scene.system.map[i] = ifs::vary(category.system.map[i], variation, params_.weight_step);
    }
    scene.walk = {params_.walkers, params_.burn_in, points(key.shape), window.point_x,
                  window.point_y};
    const bool flip_x = (flips & 1u) != 0, flip_y = (flips & 2u) != 0;
    scene.placing = {};
    place(static_cast<float>(scene.width), window.x0, window.x1, part_x, flip_x, scene.placing.sx,
          scene.placing.ox);
    // The y axis points up.
    place(static_cast<float>(scene.height), window.y0, window.y1, part_y, !flip_y, scene.placing.sy,
          scene.placing.oy);

    truth.label = k;
    truth.latents[0] = static_cast<float>(variation);
    truth.latents[1] = static_cast<float>(drawing);
    truth.latents[2] = flip_x ? 1.0f : 0.0f;
    truth.latents[3] = flip_y ? 1.0f : 0.0f;
    truth.latents[4] = params_.picture > 1 ? part_x : 0.0f;
    truth.latents[5] = params_.picture > 1 ? part_y : 0.0f;
    return scene;
  }

  /// All members: the points of a sample, into cells that are 0.
  template <class Team>
  WS_HD void paint(Team& team, const Scene& scene, std::uint32_t* cells) const {
    ifs::walk(team, scene.system, scene.walk, scene.placing, scene.width + 2 * kBorder,
              scene.height + 2 * kBorder, scene.rng, [&](std::int32_t cell, std::uint32_t value) {
                team.atomic_max(&cells[cell], value);
              });
  }

  /// The number + 1 of the point that is seen in a pixel, 0 for none.
  WS_INLINE std::uint32_t seen(const Scene& scene, const std::uint32_t* cells, int x, int y) const {
    const int stride = scene.width + 2 * kBorder;
    const std::uint32_t* const centre = cells + (y + kBorder) * stride + x + kBorder;
    if (params_.stamp == Stamp::point) return *centre >> ifs::kMaskBits;
    // The latest of the nine points whose patches cover the pixel decides, by its patch's bit for
    // the place of the pixel in it, which is moved to the lowest one.
    std::uint32_t latest = 0;
    WS_UNROLL(9)
    for (int i = 0; i < 9; ++i) {
      const std::uint32_t cell = centre[(i / 3 - 1) * stride + i % 3 - 1];
      const std::uint32_t number = cell >> ifs::kMaskBits << ifs::kMaskBits;
      const std::uint32_t candidate = number | (cell >> (8 - i) & 1u);
      latest = candidate > latest ? candidate : latest;
    }
    return (latest & 1u) != 0 ? latest >> ifs::kMaskBits : 0u;
  }

  /// The colour of a pixel; black beyond the image.
  WS_INLINE Rgb texel(const Scene& scene, const std::uint32_t* cells, int x, int y) const {
    if (x < 0 || x >= scene.width || y < 0 || y >= scene.height) return {};
    const std::uint32_t point = seen(scene, cells, x, y);
    if (point == 0) return {};
    if (params_.palette == Palette::grey) return {kGrey, kGrey, kGrey};
    return hue_of(point - 1);
  }

  /// The colour of point number t: 128 hues around the circle of HSV with value and saturation of
  /// 3/4, in whole steps of 1/255, as published (red and blue included, which change places there).
  WS_INLINE static Rgb hue_of(std::uint32_t t) {
    const std::uint32_t turn = (t % 128) * 6;
    const std::uint32_t sextant = turn / 128;
    const float along = static_cast<float>(static_cast<std::int32_t>(turn % 128)) / 128;
    constexpr float kValue = 0.75f * 255, kSaturation = 0.75f;
    const float high = math::floor(kValue) / 255;
    const float low = math::floor(kValue * (1 - kSaturation)) / 255;
    const float falling = math::floor(kValue * (1 - kSaturation * along)) / 255;
    const float rising = math::floor(kValue * (1 - kSaturation * (1 - along))) / 255;
    switch (sextant) {
      case 0:
        return {low, rising, high};
      case 1:
        return {low, high, falling};
      case 2:
        return {rising, high, low};
      case 3:
        return {high, falling, low};
      case 4:
        return {high, low, rising};
      default:
        return {falling, low, high};
    }
  }

  /// Points of a sample.
  WS_INLINE std::int32_t points(SampleShape shape) const {
    if (params_.points > 0) return params_.points;
    return points_by_size(shape.height > shape.width ? shape.height : shape.width, params_.picture);
  }
  WS_INLINE static std::int32_t points_by_size(int side, float picture) {
    const double across = static_cast<double>(side) * static_cast<double>(picture);
    const double count = kDensity * across * across + 0.5;
    return count < ifs::kMostPoints ? static_cast<std::int32_t>(count) : ifs::kMostPoints;
  }

 private:
  /// Scale and offset, in cells, of one axis: the window fills the picture but for its margin.
  WS_INLINE void place(float side, float low, float high, float part, bool flipped, float& scale,
                       float& offset) const {
    const float whole = side * params_.picture;
    const float margin = whole * params_.margin;
    const float width = high - low;
    // A window without width shows nothing; only degenerate ones that are kept have one.
    const float stretch = width > 0 ? (whole - 2 * margin) / width : 0.0f;
    const float begin = static_cast<float>(kBorder) - part * (whole - side);
    if (flipped) {
      scale = -stretch;
      offset = begin + (whole - margin) + stretch * low;
    } else {
      scale = stretch;
      offset = begin + margin - stretch * low;
    }
  }

  Params params_;

 public:
  Tables tables;
};

}  // namespace wellspring
