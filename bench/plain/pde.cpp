// Heat, advection and waves cell by cell (docs/generators/algorithms/pde.md).
#include "bench/plain/plain.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace wellspring::bench {
namespace {

constexpr int kWaves = 5, kHighest = 4;

using Field = std::vector<float>;

Field waves(const SampleRng& rng, int n) {
  struct Wave {
    int p, q;
    float amplitude, phase;
  };
  std::vector<Wave> all;
  float sum = 0;
  constexpr std::uint32_t kAcross = 2 * kHighest + 1, kMiddle = (kAcross * kAcross - 1) / 2;
  for (std::uint32_t m = 0; m < kWaves; ++m) {
    const Philox4 words = rng.block(Purpose::texture, m);
    std::uint32_t k = below(words.word[0], 2 * kMiddle);
    k += k >= kMiddle ? 1 : 0;
    const float amplitude = 0.25f + 0.75f * unit_float(words.word[1]);
    all.push_back({static_cast<int>(k % kAcross) - kHighest,
                   static_cast<int>(k / kAcross) - kHighest, amplitude, unit_float(words.word[2])});
    sum += amplitude;
  }
  Field field;
  for (int y = 0; y < n; ++y) {
    for (int x = 0; x < n; ++x) {
      float value = 0;
      for (const Wave& wave : all) {
        const float turns =
            static_cast<float>((wave.p * x + wave.q * y) % n) / static_cast<float>(n) + wave.phase;
        value += wave.amplitude / sum * std::cos(2 * std::numbers::pi_v<float> * turns);
      }
      field.push_back(value);
    }
  }
  return field;
}

/// next(i, right - left, down - up, sum of the four neighbours less four times the cell itself).
template <class Next>
void step(const Field& from, Field& to, int n, const Next& next) {
  for (int y = 0; y < n; ++y) {
    for (int x = 0; x < n; ++x) {
      const auto at = [&](int column, int row) {
        return from[static_cast<std::size_t>((row + n) % n * n + (column + n) % n)];
      };
      const float left = at(x - 1, y), right = at(x + 1, y), up = at(x, y - 1), down = at(x, y + 1);
      const auto i = static_cast<std::size_t>(y * n + x);
      to[i] = next(i, right - left, down - up, left + right + up + down - 4 * from[i]);
    }
  }
}

void draw_pde(const SampleRng& rng, int n, std::span<float> x) {
  const Philox4 first = rng.block(Purpose::scene, 0), second = rng.block(Purpose::scene, 1);
  const std::uint32_t kind = below(first.word[0], 3);
  const float time = 0.25f + 0.75f * unit_float(first.word[1]);
  const auto side = static_cast<float>(n);
  const float needed = std::max({0.04f * side * side, std::sqrt(2.0f) * side, 250.0f});
  const int steps = static_cast<int>(std::ceil(needed)) + 1;
  const float dt = time / static_cast<float>(steps);
  const float kappa = 0.001f * std::pow(10.0f, unit_float(first.word[2]));
  const float speed = 0.25f + 0.75f * unit_float(first.word[3]);
  const float r = kappa * dt * side * side, s = std::pow(speed * dt * side, 2.0f);
  const auto velocity = [&](std::uint32_t word) {
    return kind == 1 ? (unit_float(word) - 0.5f) * dt * side / 2 : 0;
  };
  const float hx = velocity(second.word[0]), hy = velocity(second.word[1]);

  const Field before = waves(rng, n);
  Field now = before, old = before, next = before;
  for (int i = 0; i < steps; ++i) {
    step(now, next, n, [&](std::size_t cell, float across, float along, float bend) {
      if (kind != 2) return now[cell] - hx * across - hy * along + r * bend;
      if (i == 0) return now[cell] + s / 2 * bend;
      return 2 * now[cell] - old[cell] + s * bend;
    });
    std::swap(old, now);
    std::swap(now, next);
  }
  for (std::size_t i = 0; i < now.size(); ++i) {
    x[3 * i] = std::clamp(0.5f + before[i] / 2, 0.f, 1.f);
    x[3 * i + 1] = std::clamp(0.5f + now[i] / 2, 0.f, 1.f);
    x[3 * i + 2] = 0.5f;
  }
}

}  // namespace

PlainLoop plain_pde(int side) {
  return {"", "pde", {}, side, [=](std::uint64_t seed, std::uint64_t sample, std::span<float> x) {
            draw_pde({named_key(seed, "pde"), sample}, side, x);
          }};
}

}  // namespace wellspring::bench
