// The programs of generator `shaders`. Each is a formula for the tone at a point of the plane; its
// features are about half a unit in size. Host and device.
#pragma once

#include "generators/images/shader_form.h"
#include "kernels/random/math.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring::shaders {

enum class Program : std::uint8_t {
  stripes,
  rings,
  checker,
  plasma,
  metaballs,
  moire,
  honeycomb,
  truchet,
  weave,
  flow,
  rosette,
  spirals,
  quasicrystal,
  scales,
  bricks,
  halftone
};
inline constexpr int kPrograms = 16;

namespace detail {

/// A point relative to the centre of its hexagon (adjacent centres are 1 apart),
/// and the column and row of the hexagon.
struct Hexagon {
  float x, y, column, row;
};
/// Centres form two rectangular lattices, offset by half a cell; takes the nearer centre.
WS_INLINE Hexagon hexagon_at(float x, float y) {
  constexpr float kHigh = 1.7320508f, kInverse = 0.57735027f;
  const float c0 = math::round(x), r0 = math::round(y * kInverse);
  const float x0 = x - c0, y0 = math::fma(-kHigh, r0, y);
  const float c1 = math::floor(x), r1 = math::floor(y * kInverse);
  const float x1 = (x - c1) - 0.5f, y1 = math::fma(-kHigh, r1 + 0.5f, y);
  const bool first = math::fma(x0, x0, y0 * y0) < math::fma(x1, x1, y1 * y1);
  return {first ? x0 : x1, first ? y0 : y1, first ? c0 : c1, first ? 2 * r0 : math::fma(2, r1, 1)};
}

}  // namespace detail

template <Program P>
WS_INLINE Tone tone(const Form& form, Point p) {
  const float a = form.a, b = form.b;
  [[maybe_unused]] const float* const phase = form.phase;
  if constexpr (P == Program::stripes) {  // stripes of varying width and colour
    const float t = math::lerp(1.5f, 3.5f, a) * p.x + phase[0];
    const float sway = 0.22f * math::sin_turns(math::fma(0.7f, p.y, phase[1])) * b;
    const float at = t + sway, index = math::floor(at);
    const float share = math::lerp(0.2f, 0.42f, scattered(form.seed, index, 0));
    const float band = edge(share - math::abs(at - index - 0.5f), 0.1f + 6 * form.pixel);
    return {band, band * 0.8f * scattered(~form.seed, index, 1)};
  } else if constexpr (P == Program::rings) {
    const float oval = math::lerp(1, 2.4f, b);
    const float t = math::fma(math::lerp(1.6f, 4, a),
                              math::sqrt(math::fma(p.x, p.x, oval * p.y * p.y)), -phase[0]);
    return {wave(t), 0.7f * scattered(form.seed, math::round(t), 0) * wave(t)};
  } else if constexpr (P == Program::checker) {
    const float fine = math::lerp(0.8f, 1.8f, a);
    const float x = fine * math::fma(1.4f * (b - 0.5f), p.y, p.x) + phase[0];
    const float y = math::fma(fine, p.y, phase[1]);
    const float board = math::cos_turns(x) * math::cos_turns(y);
    const float glow = fold(x + 0.25f) * fold(y + 0.25f) * 4;
    return {edge(board, 0.12f + 8 * form.pixel) * 0.85f + 0.15f * glow, 0};
  } else if constexpr (P == Program::plasma) {
    const float fine = math::lerp(0.6f, 1.3f, a);
    const float one = math::sin_turns(math::fma(fine, p.x, phase[0]));
    const float two = math::sin_turns(math::fma(fine, math::fma(0.8f, p.y, 0.5f * p.x), phase[1]));
    const float three = math::sin_turns(math::fma(fine, length(p), phase[2]) + 0.3f * b * one);
    return {math::fma(0.2f, one + two + three, 0.5f), 0.8f * wave(0.5f * (two - one) + phase[3])};
  } else if constexpr (P == Program::metaballs) {
    // Drops that move on their own circles, in a square that is mirrored over the whole plane.
    const float x = fold(0.4f * p.x + 0.25f) * 2.5f - 0.625f;
    const float y = fold(0.4f * p.y + 0.25f) * 2.5f - 0.625f;
    const float size = math::lerp(0.012f, 0.03f, a);
    float field = 0;
    WS_UNROLL(4)
    for (int k = 0; k < 4; ++k) {
      const math::SinCos at = math::sincos_turns(phase[k]);
      const float reach = 0.15f + 0.13f * static_cast<float>(k) * math::lerp(0.7f, 1.2f, b);
      const float dx = math::fma(-reach, at.cosine, x), dy = math::fma(-reach, at.sine, y);
      field += size / math::fma(dx, dx, math::fma(dy, dy, 0.004f));
    }
    const float inside = edge(field - 1, 0.1f + 8 * form.pixel);
    const float depth = field / (1 + field);  // 1/2 on the edge
    return {math::lerp(0.7f * depth, math::fma(1.6f, depth, -0.45f), inside),
            math::lerp(0.6f * wave(6 * depth) * depth, 0.1f, inside)};
  } else if constexpr (P == Program::moire) {  // two sets of beating rings
    const float fine = math::lerp(4, 8, a);
    const float apart = math::lerp(0.12f, 0.4f, b);
    const math::SinCos at = math::sincos_turns(phase[0]);
    const Point one = {math::fma(apart, at.cosine, p.x), math::fma(apart, at.sine, p.y)};
    const Point two = {math::fma(-apart, at.cosine, p.x), math::fma(-apart, at.sine, p.y)};
    const float first = wave(math::fma(fine, length(one), phase[1]));
    const float second = wave(math::fma(fine, length(two), phase[2]));
    return {first * second + 0.25f * (first + second), 0.5f * first * (1 - second)};
  } else if constexpr (P == Program::honeycomb) {
    const float fine = math::lerp(1.8f, 3.6f, a);
    const detail::Hexagon cell =
        detail::hexagon_at(math::fma(fine, p.x, phase[0]), math::fma(fine, p.y, phase[1]));
    const float ax = math::abs(cell.x), ay = math::abs(cell.y);
    const float out = math::max(ax, math::fma(0.5f, ax, 0.8660254f * ay));  // 1/2 on the border
    const float wall = math::lerp(0.03f, 0.12f, b);
    const float body = edge((0.5f - wall) - out, 0.06f + 4 * form.pixel);
    const float dome = math::fma(-1.6f * out, out, 1.f);
    const float own = scattered(form.seed, cell.column, cell.row);
    return {body * dome * math::lerp(0.55f, 1, own),
            body * 0.8f * scattered(~form.seed, cell.column, cell.row)};
  } else if constexpr (P == Program::truchet) {
    // Quarter circles around two opposite corners of each tile; they always meet in the middle of
    // its sides.
    const float fine = math::lerp(1.4f, 2.8f, a);
    const float x = math::fma(fine, p.x, phase[0]), y = math::fma(fine, p.y, phase[1]);
    const float column = math::floor(x), row = math::floor(y);
    const bool flip = (scatter(form.seed, column, row) >> 31) != 0;
    const float u = (x - column) - 0.5f, v = (y - row) - 0.5f;
    const float w = flip ? -u : u;
    const float near = math::abs(length({w + 0.5f, v + 0.5f}) - 0.5f);
    const float far = math::abs(length({w - 0.5f, v - 0.5f}) - 0.5f);
    const float off = math::min(near, far);
    const float half = math::lerp(0.1f, 0.22f, b);
    const float pipe = edge(half - off, 0.05f + 4 * form.pixel);
    const float round = math::fma(-0.7f / (half * half) * off, off, 1.f);
    return {math::lerp(0.22f * wave(2 * off), round, pipe), 0.35f * (1 - pipe) * wave(off)};
  } else if constexpr (P == Program::weave) {  // strands alternately over and under
    const float fine = math::lerp(1.8f, 3.4f, a), half = math::lerp(0.3f, 0.46f, b);
    const float x = math::fma(fine, p.x, phase[0]), y = math::fma(fine, p.y, phase[1]);
    const float column = math::floor(x), row = math::floor(y);
    const float u = (x - column) - 0.5f, v = (y - row) - 0.5f;
    const float lift = math::cos_turns(0.5f * (column + row));       // 1 or -1
    const float along = lift * math::cos_turns(0.5f * u) * 0.35f;    // height of the row strand
    const float across = -lift * math::cos_turns(0.5f * v) * 0.35f;  // height of the column strand
    const float blur = 0.04f + 4 * form.pixel;
    const float in_row = edge(half - math::abs(v), blur),
                in_column = edge(half - math::abs(u), blur);
    const float inverse = 0.45f / (half * half);
    const float row_light = (0.65f + along) * math::fma(-inverse * v, v, 1.f);
    const float column_light = (0.65f + across) * math::fma(-inverse * u, u, 1.f);
    const float over = lift > 0 ? in_row : 1 - in_column;  // visible share of the row's strand
    const float row_part = in_row * over, column_part = in_column * (1 - row_part);
    return {math::fma(row_part, row_light, column_part * column_light), 0.75f * column_part};
  } else if constexpr (P == Program::spirals) {
    const float r2 = math::fma(p.x, p.x, p.y * p.y);
    const float arms = 2 + math::floor(5 * a);
    const float depth = 0.5f * math::log(r2 + 1e-4f);
    const float twist = math::lerp(0.7f, 1.8f, b) * depth;
    const float turn = angle_turns(p);
    const float calm = r2 / (r2 + 0.004f);  // fades the centre, which is too fine to be drawn
    const float one = wave(math::fma(arms, turn, twist) + phase[0]);
    const float other = wave(math::fma(arms + 1, turn, -twist) + phase[1]);
    return {math::lerp(0.5f, edge(one - 0.5f, 0.6f), calm), 0.65f * calm * other * other};
  } else if constexpr (P == Program::quasicrystal) {
    // Plane waves in 5 or 7 directions, a pattern that never repeats.
    constexpr float kCosine5[7] = {1, 0.80901699f, 0.30901699f, -0.30901699f, -0.80901699f, 0, 0};
    constexpr float kSine5[7] = {0, 0.58778525f, 0.95105652f, 0.95105652f, 0.58778525f, 0, 0};
    constexpr float kCosine7[7] = {
        1, 0.90096887f, 0.62348980f, 0.22252093f, -0.22252093f, -0.62348980f, -0.90096887f};
    constexpr float kSine7[7] = {0,           0.43388374f, 0.78183148f, 0.97492791f,
                                 0.97492791f, 0.78183148f, 0.43388374f};
    const bool five = b < 0.5f;
    const float directions = five ? 5.f : 7.f, fine = math::lerp(2, 4, a);
    float sum = 0;
    WS_UNROLL(7)
    for (int k = 0; k < 7; ++k) {
      const float along =
          math::fma(five ? kCosine5[k] : kCosine7[k], p.x, (five ? kSine5[k] : kSine7[k]) * p.y);
      const float crest = math::cos_turns(math::fma(fine, along, phase[k & 3]));
      sum += five && k >= 5 ? 0.f : crest;
    }
    const float mean = sum / directions;
    return {math::abs(mean) * 1.7f, edge(mean - 0.05f, 0.15f) * 0.6f};
  } else if constexpr (P == Program::flow) {  // stream lines: level sets of a sum of waves
    const float fine = math::lerp(0.4f, 0.9f, a);
    const float one = math::sin_turns(math::fma(fine, p.x, phase[0]));
    const float two = math::sin_turns(math::fma(fine, p.y, phase[1]));
    const float three = math::sin_turns(math::fma(0.7f * fine, p.x - p.y, phase[2]) + 0.2f * one);
    const float level = one + two + three;  // in [-3, 3]
    const float at = math::lerp(1.2f, 2.4f, b) * level;
    const float off = fold(at);
    const float line = edge(0.14f - off, 0.2f);
    return {math::lerp(math::fma(0.13f, level, 0.4f), 0.97f, line),
            0.5f * (1 - line) * edge(level, 2)};
  } else if constexpr (P == Program::rosette) {  // rings with petals
    const float petals = 3 + math::floor(6 * b);
    const float r = length(p);
    const float petal = math::cos_turns(petals * angle_turns(p));
    const float t = math::lerp(1.2f, 2.6f, a) * r * math::fma(0.3f, petal, 1.f) - phase[0];
    const float ring = t - math::floor(t);
    const float leaf = r / (r + 0.15f) * math::fma(0.5f, petal, 0.5f);
    const float band = edge(0.42f - math::abs(ring - 0.5f), 0.2f);
    return {band * math::fma(0.6f, leaf, 0.4f), band * 0.8f * (1 - leaf) * ring};
  } else if constexpr (P == Program::scales) {  // rows of discs, each row over the next one
    const float fine = math::lerp(1.5f, 3, a);
    const float x = math::fma(fine, p.x, phase[0]), y = -math::fma(fine, p.y, phase[1]);
    const float row = math::floor(2 * y);
    const float below = math::fma(-0.5f, row, y);  // distance to the row's centres, in [0, 1/2)
    const float shift = fold(0.5f * row);          // 0 or 1/2
    const float column = math::round(x - shift);
    const float u = (x - shift) - column;
    const bool front = math::fma(u, u, below * below) < 0.25f;
    // Otherwise the point may be in a disc of the next row, whose centres are shifted by half a
    // disc.
    const float behind_column = math::round(x - (0.5f - shift));
    const float behind_u = (x - (0.5f - shift)) - behind_column, behind_v = below - 0.5f;
    const float out = 2 * (front ? length({u, below}) : length({behind_u, behind_v}));
    const float own = scattered(form.seed, front ? column : behind_column, front ? row : row + 1);
    const float arcs = wave(math::lerp(1, 3, b) * out);
    return {math::lerp(arcs, 1 - out, 0.35f) * math::fma(-0.5f * out * out, out * out, 1.f),
            0.75f * own * (1 - 0.6f * arcs)};
  } else if constexpr (P == Program::bricks) {
    const float fine = math::lerp(1.6f, 3.2f, a);
    const float y = math::fma(2 * fine, p.y, phase[1]) * 0.8f, row = math::floor(y);
    const float x = math::fma(fine, p.x, phase[0]) + math::lerp(0.25f, 0.5f, b) * row;
    const float column = math::floor(x);
    const float u = math::abs((x - column) - 0.5f), v = math::abs((y - row) - 0.5f);
    const float gap = 0.045f, blur = 0.05f + 5 * form.pixel;
    const float body = edge((0.5f - gap) - u, blur) * edge((0.5f - 1.6f * gap) - v, 1.6f * blur);
    const float own = scattered(form.seed, column, row);
    const float light = math::lerp(0.35f, 0.9f, own) * math::fma(0.3f, y - row, 0.8f);
    return {body * light, body * 0.7f * scattered(~form.seed, column, row)};
  } else {  // halftone: dots sized by a slow wave, on a lattice at 45 degrees
    const float fine = math::lerp(4, 7, a);
    const float x = fine * (p.x + p.y) * 0.70710678f, y = fine * (p.y - p.x) * 0.70710678f;
    const float column = math::round(x), row = math::round(y);
    const float mid_x = (column - row) * (0.70710678f / fine);
    const float mid_y = (column + row) * (0.70710678f / fine);
    const float slow = wave(math::fma(0.35f, mid_x, phase[0]) +
                            0.25f * math::sin_turns(math::fma(0.4f, mid_y, phase[1])) * (0.5f + b));
    const float off = length({x - column, y - row});
    const float dot = edge(math::lerp(0.08f, 0.5f, slow) - off, 0.08f + 6 * form.pixel);
    return {math::lerp(0.08f, 0.95f, dot), dot * 0.8f * (1 - slow)};
  }
}

}  // namespace wellspring::shaders
