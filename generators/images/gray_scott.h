// Generator `gray_scott`: patterns of the Gray-Scott reaction on a periodic grid; the class is the
// kind of pattern in Pearson's classification. A sample is one frame of a chain, see
// kernels/emission/fields.h. Host and device.
//
//   u' = Du lap u - u v^2 + F (1 - u)        v' = Dv lap v + u v^2 - (F + k) v
//
// Source: J. E. Pearson, "Complex patterns in a simple system", Science 261 (1993) 189: explicit
// Euler with steps of one unit of time, the five-point Laplacian, Du = 2e-5 and Dv = 1e-5 on cells
// of 2.5 / 256, beginning with u = 1, v = 0 and a square at u = 1/2, v = 1/4 with one percent of
// noise. Several smaller squares in place of his one of 20 cells fill the grid sooner. The points
// (F, k) lie inside the regions of his figure 3.
#pragma once

#include "kernels/emission/fields.h"
#include "kernels/macros.h"
#include "kernels/math.h"
#include "kernels/philox.h"

#include <cstdint>

namespace wellspring {

/// The rule, as a field functor.
struct GrayScottField {
  static constexpr int kPlanes = 2;  ///< u, v
  static constexpr int kShown = 1;
  static constexpr int kPatterns = 12;

  // In cells squared a step: 2e-5 / (2.5 / 256)^2, and half of it.
  static constexpr float kDiffusionU = 0.2097152f;
  static constexpr float kDiffusionV = 0.1048576f;

  float spread = 1;          ///< of F and k within a pattern, relative to kSpreadFeed, kSpreadKill
  float squares = 5e-4f;     ///< a cell
  std::int32_t square = 10;  ///< their side, cells

  struct Chain {
    std::int32_t pattern = 0;
    float feed = 0, kill = 0;  ///< a unit of time
  };

  WS_INLINE Chain chain(SampleRng rng) const {
    constexpr float kFeed[kPatterns] = {0.012f, 0.020f, 0.024f, 0.042f, 0.018f, 0.026f,
                                        0.034f, 0.038f, 0.046f, 0.058f, 0.030f, 0.050f};
    constexpr float kKill[kPatterns] = {0.0500f, 0.0470f, 0.0550f, 0.0590f, 0.0550f, 0.0590f,
                                        0.0630f, 0.0610f, 0.0594f, 0.0630f, 0.0630f, 0.0650f};
    // Half the widths of a square that stays inside every region.
    constexpr float kSpreadFeed = 5e-4f, kSpreadKill = 2e-4f;
    Chain chain;
    chain.pattern =
        static_cast<std::int32_t>(RngStream(rng, Purpose::label).integer(std::uint32_t{kPatterns}));
    RngStream draw(rng, Purpose::scene);
    chain.feed = kFeed[0];
    chain.kill = kKill[0];
    for (int i = 1; i < kPatterns; ++i) {  // selects, not an indexed load: no local memory
      chain.feed = i == chain.pattern ? kFeed[i] : chain.feed;
      chain.kill = i == chain.pattern ? kKill[i] : chain.kill;
    }
    chain.feed = math::fma(spread * kSpreadFeed, draw.uniform(-1, 1), chain.feed);
    chain.kill = math::fma(spread * kSpreadKill, draw.uniform(-1, 1), chain.kill);
    return chain;
  }

  /// Squares of a grid; one at least.
  WS_INLINE std::int32_t squares_of(std::int32_t side) const {
    const float count = math::floor(squares * static_cast<float>(side) * static_cast<float>(side));
    return count < 1 ? 1 : static_cast<std::int32_t>(count);
  }

  template <class Team>
  WS_INLINE void begin(Team& team, const Chain&, SampleRng rng, std::int32_t side,
                       float* planes) const {
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
      const Philox4 at = rng.block(Purpose::texture, static_cast<std::uint32_t>(s));
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
      team.sync();  // squares may overlap
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

}  // namespace wellspring
