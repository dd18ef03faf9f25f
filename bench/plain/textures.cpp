// Noise over the plane, pixel by pixel and octave by octave
// (docs/generators/algorithms/textures.md).
#include "bench/plain/plain.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace wellspring::bench {
namespace {

constexpr float kPi = 3.14159265f;
enum Kind : std::uint32_t { perlin, simplex, worley_f1, worley_f2, worley_edges };
constexpr std::array<float, 5> kMean = {0, 0, 0.4221f, 0.6993f, 0.2771f};
constexpr std::array<float, 5> kDeviation = {0.30506114f, 0.53901f, 0.1834f, 0.1674f, 0.2028f};

std::uint32_t mix(std::uint32_t h) {
  h ^= h >> 16;
  h *= 0x85ebca6b;
  h ^= h >> 13;
  h *= 0xc2b2ae35;
  return h ^ h >> 16;
}

struct Key {
  std::uint32_t column, row;

  Key number(std::uint32_t k) const { return {mix(column + k), mix(row + k)}; }
  std::uint32_t hash(int i, int j) const {
    return mix((mix(static_cast<std::uint32_t>(i) ^ column) + static_cast<std::uint32_t>(j)) ^ row);
  }
};

/// The product of the gradient that three bits choose with (x, y).
float along_gradient(std::uint32_t bits, float x, float y) {
  const float angle = (bits & 1) != 0 ? 3 * kPi / 8 : kPi / 8;
  const float gx = std::cos(angle), gy = std::sin(angle);
  return ((bits & 2) != 0 ? -gx : gx) * x + ((bits & 4) != 0 ? -gy : gy) * y;
}

float fade(float t) {
  return t * t * t * (t * (6 * t - 15) + 10);
}

float perlin_noise(const Key& key, float x, float y, int first_bit = 0) {
  const float i = std::floor(x), j = std::floor(y);
  const float dx = x - i, dy = y - j;
  const auto corner = [&](int right, int down) {
    const std::uint32_t hash = key.hash(static_cast<int>(i) + right, static_cast<int>(j) + down);
    return along_gradient(hash >> first_bit, dx - static_cast<float>(right),
                          dy - static_cast<float>(down));
  };
  const float upper = std::lerp(corner(0, 0), corner(1, 0), fade(dx));
  const float lower = std::lerp(corner(0, 1), corner(1, 1), fade(dx));
  return std::sqrt(2.0f) * std::lerp(upper, lower, fade(dy));
}

float simplex_noise(const Key& key, float x, float y) {
  const float skew = (std::sqrt(3.0f) - 1) / 2, back = (3 - std::sqrt(3.0f)) / 6;
  const float shift = (x + y) * skew;
  const int i = static_cast<int>(std::floor(x + shift));
  const int j = static_cast<int>(std::floor(y + shift));
  const auto corner = [&](int right, int down) {
    const auto ci = static_cast<float>(i + right), cj = static_cast<float>(j + down);
    const float dx = x - (ci - (ci + cj) * back), dy = y - (cj - (ci + cj) * back);
    const float reach = std::max(0.0f, 0.5f - (dx * dx + dy * dy));
    return reach * reach * reach * reach * along_gradient(key.hash(i + right, j + down), dx, dy);
  };
  const float from_x = x - (static_cast<float>(i) - static_cast<float>(i + j) * back);
  const float from_y = y - (static_cast<float>(j) - static_cast<float>(i + j) * back);
  const bool lower = from_x > from_y;
  return 99.204f * (corner(0, 0) + corner(lower ? 1 : 0, lower ? 0 : 1) + corner(1, 1));
}

float worley_noise(Kind kind, const Key& key, float x, float y) {
  const int i = static_cast<int>(std::floor(x)), j = static_cast<int>(std::floor(y));
  float nearest = 1e9f, second = 1e9f;
  for (int row = j - 2; row <= j + 2; ++row) {
    for (int column = i - 2; column <= i + 2; ++column) {
      const std::uint32_t hash = key.hash(column, row);
      const auto inside = [](std::uint32_t half) {
        return 0.05f + 0.9f * static_cast<float>(half) / 65536;
      };
      const float dx = static_cast<float>(column) + inside(hash & 0xffff) - x;
      const float dy = static_cast<float>(row) + inside(hash >> 16) - y;
      const float distance = std::sqrt(dx * dx + dy * dy);
      second = std::min(second, std::max(nearest, distance));
      nearest = std::min(nearest, distance);
    }
  }
  return kind == worley_f1 ? nearest : kind == worley_f2 ? second : second - nearest;
}

float noise(Kind kind, const Key& key, float x, float y) {
  if (kind == perlin) return perlin_noise(key, x, y);
  if (kind == simplex) return simplex_noise(key, x, y);
  return worley_noise(kind, key, x, y);
}

struct Texture {
  Kind kind;
  Key key;
  int octaves;
  float frequency, gain, lacunarity, warp, turn, offset_x, offset_y;
  std::array<std::array<float, 3>, 4> colour;

  explicit Texture(const SampleRng& rng) {
    const std::uint32_t label = RngStream(rng, Purpose::label).integer(40);
    const std::uint32_t warp_cell = label % 2, octave_cell = label / 2 % 2, scale = label / 4 % 2;
    kind = static_cast<Kind>(label / 8);
    RngStream draw(rng, Purpose::scene);
    key.column = draw.next();
    key.row = draw.next();
    frequency = 2 * std::pow(8.0f, (static_cast<float>(scale) + draw.uniform()) / 2);
    octaves = static_cast<int>(1 + 3 * octave_cell + draw.integer(3));
    gain = draw.uniform(0.4f, 0.65f);
    lacunarity = draw.uniform(1.8f, 2.2f);
    warp = (static_cast<float>(warp_cell) + draw.uniform()) / 2;
    turn = draw.uniform();
    offset_x = draw.uniform();
    offset_y = draw.uniform();
    RngStream colours(rng, Purpose::colour);
    for (auto& stop : colour) {
      for (float& channel : stop) channel = colours.uniform();
    }
  }

  /// The sum of octaves where a pixel's centre lies, in deviations from its mean.
  float at(float px, float py, float side) const {
    const float across = std::cos(2 * kPi * turn) * frequency / side;
    const float down = std::sin(2 * kPi * turn) * frequency / side;
    float x = across * px - down * py + offset_x, y = down * px + across * py + offset_y;
    const Key bend = key.number(8);
    const float to_x = perlin_noise(bend, x / 2, y / 2);
    const float to_y = perlin_noise(bend, x / 2, y / 2, 3);
    x += warp * to_x;
    y += warp * to_y;
    float sum = 0, power = 0, amplitude = 1, rate = frequency;
    for (int octave = 0; octave < octaves; ++octave) {
      const float seen = octave == 0 ? 1 : std::clamp(side / rate - 1, 0.0f, 1.0f);
      const Key of = key.number(static_cast<std::uint32_t>(octave));
      sum += amplitude * seen * (noise(kind, of, x, y) - kMean[kind]);
      power += amplitude * amplitude;
      const float turned = lacunarity * (0.8f * x - 0.6f * y) + 0.3125f;
      y = lacunarity * (0.6f * x + 0.8f * y) + 0.6875f;
      x = turned;
      amplitude *= gain;
      rate *= lacunarity;
    }
    return sum / (kDeviation[kind] * std::sqrt(power));
  }
};

void draw(int side, std::uint64_t seed, std::uint64_t sample, std::span<float> x) {
  const Texture texture(SampleRng{named_key(seed, "textures"), sample});
  std::size_t at = 0;
  for (int row = 0; row < side; ++row) {
    for (int column = 0; column < side; ++column, at += 3) {
      const float value = texture.at(static_cast<float>(column) + 0.5f,
                                     static_cast<float>(row) + 0.5f, static_cast<float>(side));
      const float place = 3 * std::clamp(0.5f + 0.2f * value, 0.0f, 1.0f);
      const auto stop = static_cast<std::size_t>(std::min(place, 2.0f));
      for (std::size_t channel = 0; channel < 3; ++channel) {
        x[at + channel] =
            std::lerp(texture.colour[stop][channel], texture.colour[stop + 1][channel],
                      place - static_cast<float>(stop));
      }
    }
  }
}

}  // namespace

PlainLoop plain_textures(int side) {
  return {
      "", "textures", {}, side, [=](std::uint64_t seed, std::uint64_t sample, std::span<float> x) {
        draw(side, seed, sample, x);
      }};
}

}  // namespace wellspring::bench
