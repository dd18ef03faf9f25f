// Leaves drawn from front to back until every pixel is covered (docs/generators/algorithms/dead_leaves.md).
#include "bench/plain/plain.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace wellspring::bench {
namespace {

constexpr float kRMin = 0.03f, kRMax = 1;  // the generator's defaults
constexpr float kPi = 3.14159265f;
constexpr std::uint32_t kMixed = 6, kMost = 1000000;

/// Size distribution of the leaves that meet the image: a mixture of r^-3, r^-2 and r^-1.
struct SizeLaw {
  float smallest, taper, linear, log_ratio, first, second;

  explicit SizeLaw(float side) {
    smallest = kRMin * side;
    const float ratio = kRMin / kRMax;
    taper = 1 - ratio * ratio;
    linear = 1 - ratio;
    log_ratio = std::log(kRMax / kRMin);
    const float cubic = 0.5f * side * side * taper / (smallest * smallest);
    const float square = 2 * (side + side) * linear / smallest;
    const float all = cubic + square + 4 * log_ratio;
    first = cubic / all;
    second = (cubic + square) / all;
  }
  float radius(float u) const {
    if (u < first) return smallest / std::sqrt(1 - taper * (u / first));
    if (u < second) return smallest / (1 - linear * ((u - first) / (second - first)));
    return smallest * std::exp(log_ratio * ((u - second) / (1 - second)));
  }
};

struct Leaf {
  float x, y, radius;
  bool circle;
  std::array<std::array<float, 3>, 4> edge;  ///< normal and distance

  bool covers(float px, float py) const {
    const float dx = px - x, dy = py - y;
    if (circle) return dx * dx + dy * dy <= radius * radius;
    return std::ranges::all_of(edge,
                               [&](const auto& e) { return e[0] * dx + e[1] * dy - e[2] <= 0; });
  }
};

void cut_box(Leaf& leaf, float cosine, float sine, float half_width, float half_height) {
  leaf.edge = {{{cosine, sine, half_width},
                {-sine, cosine, half_height},
                {-cosine, -sine, half_width},
                {sine, -cosine, half_height}}};
}

void cut_corners(Leaf& leaf, const Philox4& words, bool triangle) {
  std::array<float, 5> turns{};
  for (std::size_t i = 0; i < 4; ++i) turns[i] = unit_float(words.word[i]);
  if (triangle) turns[3] = turns[2];
  std::sort(turns.begin(), turns.begin() + 4);
  turns[4] = turns[0] + 1;
  for (std::size_t k = 0; k < 4; ++k) {
    const float middle = kPi * (turns[k] + turns[k + 1]), half = kPi * (turns[k + 1] - turns[k]);
    leaf.edge[k] = {std::cos(middle), std::sin(middle), leaf.radius * std::cos(half)};
  }
}

Leaf leaf_of(const SampleRng& rng, const SizeLaw& law, std::uint32_t kind, float side,
             std::uint32_t n) {
  const Philox4 place = rng.block(Purpose::scene, 2 * n);
  Leaf leaf{};
  leaf.radius = law.radius(unit_float(place.word[2]));
  leaf.x = (side + 2 * leaf.radius) * unit_float(place.word[0]) - leaf.radius;
  leaf.y = (side + 2 * leaf.radius) * unit_float(place.word[1]) - leaf.radius;
  if (kind == kMixed) kind = below(place.word[3], kMixed);
  leaf.circle = kind == 0;
  if (leaf.circle) return leaf;
  const Philox4 outline = rng.block(Purpose::scene, 2 * n + 1);
  const float angle = 0.5f * kPi * unit_float(outline.word[0]);
  const float cosine = std::cos(angle), sine = std::sin(angle);
  const float half = leaf.radius * 0.70710678f;
  if (kind == 1) cut_box(leaf, 1, 0, half, half);
  if (kind == 2) cut_box(leaf, cosine, sine, half, half);
  if (kind == 3) cut_box(leaf, 1, 0, leaf.radius * cosine, leaf.radius * sine);
  if (kind >= 4) cut_corners(leaf, outline, kind == 4);
  return leaf;
}

void draw(std::uint32_t kind, int side, std::uint64_t seed, std::uint64_t sample,
          std::span<float> x) {
  const SampleRng rng{named_key(seed, "dead_leaves"), sample};
  const auto length = static_cast<float>(side);
  const SizeLaw law(length);
  std::ranges::fill(x, -1.f);  // uncovered
  int open = side * side;
  for (std::uint32_t n = 0; open > 0 && n <= kMost; ++n) {
    const Leaf leaf = leaf_of(rng, law, kind, length, n);
    const Philox4 colour = rng.block(Purpose::texture, n);
    const int x0 = std::max(0, static_cast<int>(std::floor(leaf.x - leaf.radius)));
    const int y0 = std::max(0, static_cast<int>(std::floor(leaf.y - leaf.radius)));
    const int x1 = std::min(side, static_cast<int>(std::ceil(leaf.x + leaf.radius)));
    const int y1 = std::min(side, static_cast<int>(std::ceil(leaf.y + leaf.radius)));
    for (int row = y0; row < y1; ++row) {
      for (int column = x0; column < x1; ++column) {
        const auto at = 3 * (static_cast<std::size_t>(row) * static_cast<std::size_t>(side) +
                             static_cast<std::size_t>(column));
        if (x[at] >= 0) continue;
        if (!leaf.covers(static_cast<float>(column) + 0.5f, static_cast<float>(row) + 0.5f))
          continue;
        for (std::size_t channel = 0; channel < 3; ++channel)
          x[at + channel] = unit_float(colour.word[channel]);
        --open;
      }
    }
  }
}

}  // namespace

PlainLoop plain_dead_leaves(const std::string& kind, int side) {
  const std::uint32_t number = kind == "mixed" ? kMixed : 0;
  return {kind,
          "dead_leaves",
          {{"kind", kind}},
          side,
          [=](std::uint64_t seed, std::uint64_t sample, std::span<float> x) {
            draw(number, side, seed, sample, x);
          }};
}

}  // namespace wellspring::bench
