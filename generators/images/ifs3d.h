// Generator `ifs3d`: attractors of iterated function systems in 3D, shown as white points viewed by
// a camera. The class is a random system of 2 to 7 maps that extends along every axis. Samples are
// 145 variations of the coefficients, viewed from twelve directions or from anywhere. Called
// through the registry; host and device.
//
// Sources: H. Kataoka et al., "Replacing labeled real-image datasets with auto-generated contours",
// CVPR 2022 (ExFractalDB), with its program, and R. Yamada et al., "MV-FractalDB: formula-driven
// supervised learning for multi-view image recognition", IROS 2021. Differences: systems are our
// own (ifs3d_categories.h); many walkers that start on the attractor draw each sample's points;
// variations that diverge or collapse are left out.
#pragma once

#include "core/config/params.h"
#include "generators/images/ifs3d_categories.h"
#include "generators/images/ifs3d_system.h"
#include "generators/sample_info.h"
#include "generators/table_cache.h"
#include "kernels/emission/canvas.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/stream.h"

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring {

struct Ifs3d {
  enum class Views : std::uint8_t { twelve, random };
  enum class Palette : std::uint8_t { white, depth };

  struct Params {
    int categories = 60;
    std::int64_t category_seed = 1;
    double variance = 0.05;
    Views views = Views::random;
    float jitter = 3.1415927f;
    float elevation = 90;
    Palette palette = Palette::white;
    int points = 0;
    int walkers = 256;
    int burn_in = 32;
  };
  static const ParamTable<Params>& table();

  static constexpr int kLatents = 4;
  static constexpr forms::Canvas kForm = {.plane = true};
  static constexpr GeneratorHooks kHooks = {.tables = true};
  static constexpr int kViews = 12;
  /// Published density of points per pixel.
  static constexpr float kDensity = 10000.0f / (224 * 224);
  static constexpr int kMostPoints = 1 << 23;

  static SampleInfo describe(const Params& params);

  /// The categories and their frames, computed once and cached on disk.
  class Tables {
   public:
    explicit Tables(const Params& params) : params_(params) {}
    std::vector<std::string> prepare(TableCache& cache);
    void plan(MemoryPlan& memory);
    void load(Stream& stream);
    void bind(Ifs3d& functor) const { functor.read({category_.data(), frame_.data()}); }

   private:
    Params params_;
    ifs3d::CategoryTable table_;
    Planned<ifs3d::Category> category_;
    Planned<ifs3d::Frame> frame_;
  };
  /// Tables of categories that the device reads.
  struct Rows {
    const ifs3d::Category* category = nullptr;
    const ifs3d::Frame* frame = nullptr;  ///< ifs3d::kVariations per category
  };
  void read(const Rows& rows) { rows_ = rows; }

  struct Scene {
    ifs3d::System system;
    ifs3d::Walk walk;
    ifs3d::Camera camera;
    std::int32_t width, height;
    SampleRng rng;
  };

  explicit Ifs3d(const Params& params) : params_(params) {}

  // Canvas: nearness of the nearest point in each pixel; 0 if there is no point.
  using Cell = std::uint32_t;
  std::int64_t cells(SampleShape shape) const { return std::int64_t{shape.height} * shape.width; }
  /// One team moves 512 walkers at once.
  int painters() const { return (params_.walkers + 511) / 512; }

  WS_INLINE Scene draw(const SampleKey& key, Truth<kLatents>& truth) const {
    RngStream draw(key.rng, Purpose::label);
    const auto k = static_cast<int>(draw.integer(static_cast<std::uint32_t>(params_.categories)));
    const std::uint32_t which = draw.next();
    const auto view = static_cast<int>(draw.integer(kViews));
    const float around = draw.uniform(), above = draw.uniform(-1.0f, 1.0f);

    const ifs3d::Category& category = rows_.category[k];
    const int variation = category.variation[below(which, category.usable)];
    const ifs3d::Frame frame = rows_.frame[k * ifs3d::kVariations + variation];

    // A full turn is 12 views; the first is at 30 degrees.
    const bool anywhere = params_.views == Views::random;
    const float jitter = math::fma(2.0f, around, -1.0f) * (params_.jitter / 360);
    const float turns =
        math::fract(anywhere ? around : static_cast<float>(view + 1) / kViews + jitter);
    // Uniform on the part of the sphere between the two elevations.
    const float highest = math::sin_turns(params_.elevation / 360);
    const float sine = anywhere ? above * highest : 0.0f;
    const math::SinCos elevation = {sine, math::sqrt(math::fma(-sine, sine, 1.0f))};

    Scene scene;
    scene.width = key.shape.width;
    scene.height = key.shape.height;
    scene.rng = key.rng;
    scene.system = category.system;
    ifs3d::vary(scene.system, variation);
    const std::int32_t count = points(key.shape);
    scene.walk = {walkers_for(count),
                  params_.burn_in,
                  count,
                  {frame.start[0], frame.start[1], frame.start[2]}};
    scene.camera =
        ifs3d::camera(frame, math::sincos_turns(turns), elevation, scene.width, scene.height, 0);

    truth.label = k;
    truth.latents[0] = static_cast<float>(variation);
    truth.latents[1] = static_cast<float>(anywhere ? 0 : view);
    truth.latents[2] = turns < 1 ? turns * math::kTau : 0.0f;
    truth.latents[3] = math::atan2(sine, elevation.cosine);
    return scene;
  }

  template <class Team>
  WS_INLINE void paint(Team& team, const Scene& scene, ScatterWork work, Cell* cells) const {
    ifs3d::walk(work.first, work.stride, scene.system, scene.walk, scene.camera, scene.width,
                scene.height, scene.rng,
                [&](std::int32_t cell, Cell near) { team.atomic_max(&cells[cell], near); });
  }

  template <int N>
  WS_INLINE void shade(const Scene& scene, const Cell* cells, const PixelRun<N>& run,
                       ColourRun<N>& colour) const {
    colour.grey = true;
    for (int i = 0; i < N; ++i) {
      const float x = run.x[i] - 0.5f, y = run.y[i] - 0.5f;
      const float left = math::floor(x), top = math::floor(y);
      const int column = static_cast<int>(left), row = static_cast<int>(top);
      const float here = texel(scene, cells, column, row);
      float value = here;
      if (x != left || y != top) {
        const float u = x - left, v = y - top;
        const float above = math::lerp(here, texel(scene, cells, column + 1, row), u);
        const float below = math::lerp(texel(scene, cells, column, row + 1),
                                       texel(scene, cells, column + 1, row + 1), u);
        value = math::lerp(above, below, v);
      }
      colour.r[i] = value;
    }
  }

  /// Depth of the pixel at each point; 0 if the pixel is empty.
  template <int N>
  WS_INLINE void plane(const Scene& scene, const Cell* cells, const PixelRun<N>& run,
                       float (&value)[N]) const {
    const auto width = static_cast<float>(scene.width), height = static_cast<float>(scene.height);
    for (int i = 0; i < N; ++i) {
      const float x = math::floor(run.x[i]), y = math::floor(run.y[i]);
      const bool inside = x >= 0 && x < width && y >= 0 && y < height;
      const Cell near = inside ? cells[static_cast<int>(y) * scene.width + static_cast<int>(x)] : 0;
      value[i] = near == 0 ? 0 : ifs3d::depth_of(near);
    }
  }

  /// The grey level of a pixel; black outside the image.
  WS_INLINE float texel(const Scene& scene, const Cell* cells, int x, int y) const {
    if (x < 0 || x >= scene.width || y < 0 || y >= scene.height) return 0;
    const Cell near = cells[y * scene.width + x];
    if (near == 0) return 0;
    if (params_.palette == Palette::white) return 1;
    // 1 at a depth of 2.5, 1/4 at 5.5 and beyond: the model is about 4 away and 3 deep.
    return math::clamp((6.5f - ifs3d::depth_of(near)) / 4, 0.25f, 1.0f);
  }

 private:
  WS_INLINE std::int32_t points(SampleShape shape) const {
    if (params_.points > 0) return params_.points;
    const auto side = static_cast<float>(shape.height > shape.width ? shape.height : shape.width);
    const float count = math::floor(math::fma(kDensity * side, side, 0.5f));
    return static_cast<std::int32_t>(math::clamp(count, 1, static_cast<float>(kMostPoints)));
  }
  /// Number of walkers, limited so that each draws at least four points.
  WS_INLINE std::int32_t walkers_for(std::int32_t count) const {
    const std::int32_t most = count < 8 ? 1 : count / 4;
    return params_.walkers < most ? params_.walkers : most;
  }

  Params params_;
  Rows rows_;
};

}  // namespace wellspring
