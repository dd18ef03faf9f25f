// Generator `gray_scott`: patterns of the Gray-Scott reaction on a periodic grid. The class is the
// type of pattern in Pearson's classification. A sample is one frame of a chain
// (kernels/emission/fields.h). Host and device.
//
//   u' = Du lap u - u v^2 + F (1 - u)        v' = Dv lap v + u v^2 - (F + k) v
//
// Source: J. E. Pearson, "Complex patterns in a simple system", Science 261 (1993) 189: explicit
// Euler with unit time steps, the five-point Laplacian, Du = 2e-5 and Dv = 1e-5 on cells of 2.5 /
// 256, starting from u = 1, v = 0, but u = 1/2, v = 1/4 with one percent noise in a square. Here
// several smaller squares replace his single square of 20 cells, to fill the grid sooner. The
// points (F, k) are inside the regions of his figure 3.
#pragma once

#include "core/config/params.h"
#include "generators/images/periodic.h"
#include "generators/sample_info.h"
#include "kernels/emission/field_emitter.h"
#include "kernels/emission/fields.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/macros.h"

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring {

/// The equations, as a field functor.
struct GrayScottField {
  static constexpr int kPlanes = 2;  ///< u, v
  static constexpr int kShown = 1;
  static constexpr int kPatterns = 12;

  // In squared cells per step: 2e-5 / (2.5 / 256)^2, and half of it.
  static constexpr float kDiffusionU = 0.2097152f;
  static constexpr float kDiffusionV = 0.1048576f;

  float spread = 1;       ///< spread of F and k per pattern, relative to kSpreadFeed, kSpreadKill
  float squares = 5e-4f;  ///< squares per cell
  std::int32_t square = 10;  ///< side of a square in cells

  struct Chain {
    std::int32_t pattern = 0;
    float feed = 0, kill = 0;  ///< rate per unit of time
  };

  WS_INLINE Chain chain(SampleRng rng) const {
    constexpr float kFeed[kPatterns] = {0.012f, 0.020f, 0.024f, 0.042f, 0.018f, 0.026f,
                                        0.034f, 0.038f, 0.046f, 0.058f, 0.028f, 0.050f};
    constexpr float kKill[kPatterns] = {0.0500f, 0.0470f, 0.0550f, 0.0590f, 0.0550f, 0.0590f,
                                        0.0630f, 0.0610f, 0.0594f, 0.0630f, 0.0618f, 0.0650f};
    // Half widths of a rectangle in (F, k) that fits inside every region.
    constexpr float kSpreadFeed = 5e-4f, kSpreadKill = 2e-4f;
    Chain chain;
    chain.pattern =
        static_cast<std::int32_t>(RngStream(rng, Purpose::label).integer(std::uint32_t{kPatterns}));
    RngStream draw(rng, Purpose::scene);
    chain.feed = kFeed[0];
    chain.kill = kKill[0];
    WS_UNROLL(16)
    for (int i = 1; i < kPatterns; ++i) {  // select instructions, not indexing
      chain.feed = i == chain.pattern ? kFeed[i] : chain.feed;
      chain.kill = i == chain.pattern ? kKill[i] : chain.kill;
    }
    chain.feed = math::fma(spread * kSpreadFeed, draw.uniform(-1, 1), chain.feed);
    chain.kill = math::fma(spread * kSpreadKill, draw.uniform(-1, 1), chain.kill);
    return chain;
  }

  /// Number of squares on a grid; at least one.
  WS_INLINE std::int32_t squares_of(std::int32_t side) const {
    const float count = math::floor(squares * static_cast<float>(side) * static_cast<float>(side));
    return count < 1 ? 1 : static_cast<std::int32_t>(count);
  }

  template <class Team>
  WS_INLINE void begin(Team& team, const Chain&, SampleRng rng, std::int32_t side, float* planes,
                       Philox4& shared) const {
    const std::int32_t cells = side * side;
    float* const u = planes;
    float* const v = planes + cells;
    for (std::int32_t i = team.rank(); i < cells; i += team.size()) {
      u[i] = 1;
      v[i] = 0;
    }
    team.sync();
    const std::int32_t width = square < side ? square : side;
    for (std::int32_t s = 0; s < squares_of(side); ++s) {
      if (team.rank() == 0) shared = rng.block(Purpose::texture, static_cast<std::uint32_t>(s));
      team.sync();  // squares may overlap, so they are set one after another
      const Philox4 at = shared;
      const auto x0 =
          static_cast<std::int32_t>(below(at.word[0], static_cast<std::uint32_t>(side)));
      const auto y0 =
          static_cast<std::int32_t>(below(at.word[1], static_cast<std::uint32_t>(side)));
      for (std::int32_t j = team.rank(); j < width * width; j += team.size()) {
        const std::int32_t x = wrap(x0 + j % width, side), y = wrap(y0 + j / width, side);
        const std::int32_t i = y * side + x;
        const Philox4 word = rng.block(Purpose::noise, static_cast<std::uint32_t>(i));
        u[i] = math::fma(0.01f, unit_float(word.word[0]) - 0.5f, 0.5f);
        v[i] = math::fma(0.005f, unit_float(word.word[1]) - 0.5f, 0.25f);
      }
      team.sync();
    }
  }

  template <class Team>
  WS_INLINE void step(Team& team, const Chain& chain, std::int32_t side, const float* from,
                      float* to) const {
    const std::int32_t cells = side * side;
    const float* const u = from;
    const float* const v = from + cells;
    float* const u_next = to;
    float* const v_next = to + cells;
    const float loss = chain.feed + chain.kill;
    const auto cell = [&](std::int32_t row, std::int32_t up, std::int32_t down, std::int32_t x,
                          std::int32_t left, std::int32_t right) {
      const float here_u = u[row + x], here_v = v[row + x];
      const float around_u = (u[up + x] + u[down + x]) + (u[row + left] + u[row + right]);
      const float around_v = (v[up + x] + v[down + x]) + (v[row + left] + v[row + right]);
      const float reaction = here_u * (here_v * here_v);
      const float rate_u = math::fma(chain.feed, 1 - here_u, -reaction);
      const float rate_v = math::fma(-loss, here_v, reaction);
      u_next[row + x] = math::fma(kDiffusionU, math::fma(-4.f, here_u, around_u), here_u) + rate_u;
      v_next[row + x] = math::fma(kDiffusionV, math::fma(-4.f, here_v, around_v), here_v) + rate_v;
    };
#if WS_DEVICE_CODE
    for (std::int32_t i = team.rank(); i < cells; i += team.size()) {
      const std::int32_t y = i / side, x = i - y * side;
      cell(y * side, wrap(y + side - 1, side) * side, wrap(y + 1, side) * side, x,
           wrap(x + side - 1, side), wrap(x + 1, side));
    }
#else
    for (std::int32_t y = team.rank(); y < side; y += team.size()) {
      const std::int32_t row = y * side;
      const std::int32_t up = wrap(y + side - 1, side) * side, down = wrap(y + 1, side) * side;
      cell(row, up, down, 0, side - 1, wrap(1, side));
#pragma omp simd
      for (std::int32_t x = 1; x < side - 1; ++x) cell(row, up, down, x, x - 1, x + 1);
      if (side > 1) cell(row, up, down, side - 1, side - 2, 0);
    }
#endif
  }

 private:
  /// i modulo side, for i in [0, 2 side).
  WS_INLINE static std::int32_t wrap(std::int32_t i, std::int32_t side) {
    return i < side ? i : i - side;
  }
};

struct GrayScott {
  enum class Palette : std::uint8_t { colour, grey };

  struct Params {
    int cells = 128;
    int lanes = 64;
    int frames = 32;
    int warm_up = 2000;
    int stride = 60;
    float spread = 1;
    float squares = 5e-4f;
    int square = 10;
    Palette palette = Palette::colour;
  };
  static const ParamTable<Params>& table() {
    static const auto rows =
        ParamTable<Params>("gray_scott")
            .integer("cells", &Params::cells, {1, 1024}, "cells",
                     "side of the periodic grid; one cell per pixel, so a smaller image is a "
                     "window of the grid and a larger one repeats it. Below 64 cells, chains of "
                     "some classes die out; below 12, chains of all classes do",
                     "256 in Pearson, Science 261 (1993) 189")
            .integer("lanes", &Params::lanes, {1, 4096}, "chains",
                     "number of concurrent chains; sample i is a frame from lane i modulo lanes")
            .integer("frames", &Params::frames, {1, 4096}, "frames", "number of frames per chain")
            .integer("warm_up", &Params::warm_up, {0, 1000000}, "steps",
                     "unit time steps before the first frame", "200000 in Pearson 1993")
            .integer("stride", &Params::stride, {1, 100000}, "steps", "steps between frames")
            .real("spread", &Params::spread, {0, 1}, "",
                  "spread of F and k about the values of the class; 1: 5e-4 and 2e-4")
            .real("squares", &Params::squares, {0, 0.01}, "1 / cell",
                  "density of perturbed squares at the start of a chain; at least one square")
            .integer("square", &Params::square, {1, 1024}, "cells", "side of a square",
                     "20 in Pearson 1993")
            .choice("palette", &Params::palette,
                    {{"colour", Palette::colour}, {"grey", Palette::grey}},
                    "colour: a gradient between two random colours per chain; grey: grey levels");
    return rows;
  }

  static constexpr int kLatents = 3;
  static constexpr forms::Field kForm = {.blocks = 0};  // chosen by the compiler, no spills
  static constexpr GeneratorHooks kHooks = {.notes = true};
  static SampleInfo describe(const Params& params) {
    SampleInfo info;
    info.name = "gray_scott";
    info.summary = "Patterns of the Gray-Scott reaction; class: Pearson's type of pattern";
    info.reference = "Pearson, Complex patterns in a simple system, Science 261 (1993) 189";
    info.classes = {"alpha", "beta",  "gamma", "delta", "epsilon", "zeta",
                    "eta",   "theta", "iota",  "kappa", "lambda",  "mu"};
    info.latents = {
        {"feed", "F: inflow rate of u, and outflow rate of u and v", "1 / time", 0.0115f, 0.0585f},
        {"kill", "k: decay rate of v", "1 / time", 0.0468f, 0.0652f},
        {"time", "time since the start of the reaction, unit steps", "time",
         static_cast<float>(params.warm_up),
         static_cast<float>(params.warm_up + (params.frames - 1) * params.stride)}};
    const GrayScottField field = field_of(params);
    const std::int64_t width = params.square < params.cells ? params.square : params.cells;
    // A sample and its neighbour may both restart their chains (parameters, squares and their
    // noise).
    const std::int64_t begin = 2 + field.squares_of(params.cells) * (1 + width * width);
    info.draws = {.scene = 5 + 2 * begin, .cached = true};
    return info;
  }

  /// A window of the grid, the colour for v = 0 and the colour for the largest v.
  struct Scene {
    std::int32_t x0, y0;
    Rgb low, high;
  };

  explicit GrayScott(const Params& params) : params_(params) {}

  /// Number of chains (out of 120 with the defaults) that died out or became flat after 2000 steps,
  /// by side of the grid: 120 at 10 cells, 70 at 16, 51 at 24, 22 at 32, 20 at 48 (all chains of
  /// alpha and epsilon, for which one square is not enough), 1 at 64.
  std::vector<std::string> notes(SampleShape) const {
    if (params_.cells >= 64) return {};
    return {
        "gray_scott: on grids below 64 cells, chains of some classes die out and show one "
        "colour; raise cells"};
  }

  using Field = GrayScottField;
  WS_INLINE Field field() const { return field_of(params_); }
  WS_INLINE ChainSchedule schedule() const {
    return {params_.lanes, params_.frames, params_.warm_up, params_.stride};
  }
  WS_INLINE int field_side() const { return params_.cells; }

  WS_INLINE Scene draw(const SampleKey& chain, const ChainSchedule::Position& at,
                       Truth<kLatents>& truth) const {
    const GrayScottField::Chain numbers = field().chain(chain.rng);
    truth.label = numbers.pattern;
    truth.latents[0] = numbers.feed;
    truth.latents[1] = numbers.kill;
    truth.latents[2] = static_cast<float>(schedule().steps_of(at.frame));
    RngStream draw(chain.rng, Purpose::colour);
    const auto side = static_cast<std::uint32_t>(params_.cells);
    Scene scene;
    scene.x0 = static_cast<std::int32_t>(draw.integer(side));
    scene.y0 = static_cast<std::int32_t>(draw.integer(side));
    // Dark where v is 0, light where v is large; each channel has a contrast of at least 1/2.
    scene.low = {draw.uniform(0, 0.25f), draw.uniform(0, 0.25f), draw.uniform(0, 0.25f)};
    scene.high = {draw.uniform(0.75f, 1), draw.uniform(0.75f, 1), draw.uniform(0.75f, 1)};
    if (params_.palette == Palette::grey) {
      scene.low = {0, 0, 0};
      scene.high = {1, 1, 1};
    }
    return scene;
  }

  template <int N>
  WS_INLINE void shade(const Scene& scene, const float* frame, const PixelRun<N>& run,
                       ColourRun<N>& colour) const {
    // v stays below about 0.45 in every class.
    constexpr float kScale = 1 / 0.45f;
    WS_READ_AGAIN();
    float v[N];
    for (int i = 0; i < N; ++i) {
      v[i] = periodic::bilinear(run.x[i], run.y[i], scene.x0, scene.y0, params_.cells,
                                [&](std::int32_t column, std::int32_t row) {
                                  return frame[row * params_.cells + column];
                                });
    }
    WS_LANES
    for (int i = 0; i < N; ++i) {
      colour.set(i, lerp(scene.low, scene.high, math::clamp(kScale * v[i], 0, 1)));
    }
  }

 private:
  WS_INLINE static GrayScottField field_of(const Params& params) {
    return {params.spread, params.squares, params.square};
  }

  Params params_;
};

}  // namespace wellspring
