// Generator `scatter`: points around a few centres, as in a density plot. The class is the number of
// centres. Form: canvas, points are added to cells and pixels are read from them.
#pragma once

#include "core/config/params.h"
#include "generators/sample_info.h"
#include "kernels/emission/canvas.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"

#include <cstdint>

namespace wellspring {

struct Scatter {
  static constexpr int kMostCentres = 3;

  struct Params {
    int points = 400;
    float spread = 0.08f;
  };
  static const ParamTable<Params>& table() {
    static const auto rows =
        ParamTable<Params>("scatter")
            .integer("points", &Params::points, {1, 100000}, "", "points per sample")
            .real("spread", &Params::spread, {0, 1}, "image side", "standard deviation of a group");
    return rows;
  }

  static constexpr int kLatents = 1;
  static constexpr forms::Canvas kForm = {};
  static SampleInfo describe(const Params& params) {
    SampleInfo info;
    info.name = "scatter";
    info.version = 1;
    info.summary = "Points around one to three centres; class: the number of centres";
    info.classes = {"one", "two", "three"};
    info.latents = {{"centres", "number of centres", "", 1, kMostCentres}};
    info.draws = {.scene = 1 + kMostCentres + params.points};
    return info;
  }

  struct Scene {
    SampleRng rng;
    std::int32_t centres, width, height;
    float x[kMostCentres], y[kMostCentres];  // image sides
  };

  explicit Scatter(const Params& params) : params_(params) {}

  // A cell per pixel counts its points.
  using Cell = std::uint32_t;
  std::int64_t cells(SampleShape shape) const { return std::int64_t{shape.width} * shape.height; }
  int painters() const { return 1; }

  WS_INLINE Scene draw(const SampleKey& key, Truth<kLatents>& truth) const {
    RngStream draw(key.rng, Purpose::scene);
    Scene scene{};
    scene.rng = key.rng;
    scene.width = key.shape.width;
    scene.height = key.shape.height;
    scene.centres = 1 + static_cast<std::int32_t>(draw.integer(kMostCentres));
    for (int i = 0; i < kMostCentres; ++i) {
      scene.x[i] = draw.uniform(0.2f, 0.8f);
      scene.y[i] = draw.uniform(0.2f, 0.8f);
    }
    truth.label = scene.centres - 1;
    truth.latents[0] = static_cast<float>(scene.centres);
    return scene;
  }

  // The members of a team share the points. Counts do not depend on the order of additions.
  template <class Team>
  WS_INLINE void paint(Team& team, const Scene& scene, ScatterWork work, Cell* cells) const {
    for (std::int64_t i = work.first; i < params_.points; i += work.stride) {
      const Philox4 word = scene.rng.block(Purpose::texture, static_cast<std::uint32_t>(i));
      const math::NormalPair step = math::box_muller(word.word[0], word.word[1]);
      const auto centre = below(word.word[2], static_cast<std::uint32_t>(scene.centres));
      const float x = scene.x[centre] + params_.spread * step.first;
      const float y = scene.y[centre] + params_.spread * step.second;
      if (!(x >= 0 && x < 1 && y >= 0 && y < 1)) continue;
      const auto column = static_cast<std::int64_t>(x * static_cast<float>(scene.width));
      const auto row = static_cast<std::int64_t>(y * static_cast<float>(scene.height));
      team.atomic_add(cells + row * scene.width + column, Cell{1});
    }
  }

  template <int N>
  WS_INLINE void shade(const Scene& scene, const Cell* cells, const PixelRun<N>& run,
                       ColourRun<N>& colour) const {
    for (int i = 0; i < N; ++i) {
      const int column = static_cast<std::int32_t>(math::floor(run.x[i])),
                row = static_cast<std::int32_t>(math::floor(run.y[i]));
      const bool inside = column >= 0 && column < scene.width && row >= 0 && row < scene.height;
      const float count = inside ? static_cast<float>(cells[row * scene.width + column]) : 0;
      const float grey = math::min(1, 0.34f * count);
      colour.set(i, {grey, grey, grey});
    }
  }

 private:
  Params params_;
};

}  // namespace wellspring
