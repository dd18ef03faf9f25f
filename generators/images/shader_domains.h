// Deformations of the plane for the programs of generator `shaders`: folds, swirls, complex maps.
// Host and device.
#pragma once

#include "generators/images/shader_form.h"
#include "kernels/random/math.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring::shaders {

enum class Domain : std::uint8_t {
  plain,
  fold,          ///< mirrored repeatedly in both directions
  swirl,         ///< rotated about the origin, most strongly in the middle
  kaleidoscope,  ///< one sector, mirrored all the way around
  polar,         ///< the complex logarithm: columns and rows become rings and rays
  warp,          ///< displaced by waves
  inversion,     ///< a circle turned inside out
  quilt          ///< tiles, each rotated by a multiple of a quarter turn
};
inline constexpr int kDomains = 8;

/// Point at which the program is evaluated for the point p; `bend` in [0, 1) is the strength.
template <Domain D>
WS_INLINE Point bent(const Form& form, float bend, Point p) {
  if constexpr (D == Domain::plain) {
    return p;
  } else if constexpr (D == Domain::fold) {
    const float period = math::lerp(0.7f, 1.5f, bend);
    const float inverse = 1 / period;
    return {period * fold(p.x * inverse) + form.phase[2],
            period * fold(p.y * inverse) + form.phase[3]};
  } else if constexpr (D == Domain::swirl) {
    const float r2 = math::fma(p.x, p.x, p.y * p.y);
    const float most = form.phase[2] < 0.5f ? -1.f : 1.f;
    return rotated(p, most * math::lerp(0.35f, 0.9f, bend) * math::exp(-1.4f * r2));
  } else if constexpr (D == Domain::kaleidoscope) {
    const float sectors = 3 + math::floor(6 * bend);  // 3 to 8
    const float r = length(p);
    const float turn = fold(angle_turns(p) * sectors) / sectors;
    const math::SinCos at = math::sincos_turns(turn);
    return {math::fma(r, at.cosine, form.phase[2]), math::fma(r, at.sine, form.phase[3])};
  } else if constexpr (D == Domain::polar) {
    const float rays = 2 + math::floor(4 * bend);  // half the number of units around: 2 to 5
    const float depth = 0.5f * math::log(math::fma(p.x, p.x, math::fma(p.y, p.y, 0.002f)));
    return {math::fma(depth, rays / math::kPi, form.phase[2]),
            math::fma(math::abs(angle_turns(p)), 2 * rays, form.phase[3])};
  } else if constexpr (D == Domain::warp) {
    const float push = math::lerp(0.12f, 0.3f, bend), waves = math::lerp(0.9f, 0.5f, bend);
    const float x = math::fma(push, math::sin_turns(math::fma(waves, p.y, form.phase[2])), p.x);
    const float y = math::fma(push, math::sin_turns(math::fma(waves, x, form.phase[3])), p.y);
    return {x, y};
  } else if constexpr (D == Domain::inversion) {
    const float r2 = math::fma(p.x, p.x, p.y * p.y);
    const float scale = math::lerp(0.6f, 1.2f, bend) / (r2 + 0.12f);
    return {math::fma(scale, p.x, form.phase[2]), math::fma(scale, p.y, form.phase[3])};
  } else {  // quilt
    const float tiles = math::lerp(0.8f, 1.6f, bend), inverse = 1 / tiles;
    const float x = p.x * tiles, y = p.y * tiles;
    const float column = math::floor(x), row = math::floor(y);
    const std::uint32_t quarters = scatter(form.seed, column, row) >> 30;
    const float u = (x - column) - 0.5f, v = (y - row) - 0.5f;
    const bool swap = (quarters & 1u) != 0, flip = (quarters & 2u) != 0;
    const float turned_x = swap ? -v : u, turned_y = swap ? u : v;
    const float sign = flip ? -inverse : inverse;
    return {math::fma(sign, turned_x, form.phase[2]), math::fma(sign, turned_y, form.phase[3])};
  }
}

}  // namespace wellspring::shaders
