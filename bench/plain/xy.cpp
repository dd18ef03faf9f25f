// The XY model spin by spin (docs/generators/algorithms/xy.md).
#include "bench/plain/plain.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

namespace wellspring::bench {
namespace {

constexpr float kTurn = 2 * std::numbers::pi_v<float>;

struct Spins {
  int side;
  std::vector<float> angle;

  float at(int x, int y) const {
    return angle[static_cast<std::size_t>((y + side) % side * side + (x + side) % side)];
  }
  /// The sum of the neighbours of (x, y).
  std::pair<float, float> field(int x, int y) const {
    float hx = 0, hy = 0;
    for (const auto& [dx, dy] : {std::pair{-1, 0}, {1, 0}, {0, -1}, {0, 1}}) {
      hx += std::cos(at(x + dx, y + dy));
      hy += std::sin(at(x + dx, y + dy));
    }
    return {hx, hy};
  }
  /// change(x, y, angle) of all sites, one colour after the other.
  template <class Change>
  void sweep(const Change& change) {
    for (int colour = 0; colour < 2; ++colour) {
      for (int y = 0; y < side; ++y) {
        for (int x = (y + colour) % 2; x < side; x += 2)
          change(x, y, angle[static_cast<std::size_t>(y * side + x)]);
      }
    }
  }
};

void heat(const SampleRng& rng, float t, std::uint32_t round, Spins& spins) {
  const auto sites = static_cast<std::uint32_t>(spins.side * spins.side);
  std::uint32_t site = round * sites;
  spins.sweep([&](int x, int y, float& angle) {
    const std::uint32_t block = 2 * site++;
    const auto [hx, hy] = spins.field(x, y);
    const float kappa = std::sqrt(hx * hx + hy * hy) / t;
    const float tau = 1 + std::sqrt(1 + 4 * kappa * kappa), q = tau + std::sqrt(2 * tau);
    const float rho = 2 * kappa / q, difference = 1 - rho * rho;
    for (std::uint32_t attempt = 0; attempt < 4; ++attempt) {
      const Philox4 words = rng.block(Purpose::noise, block + attempt / 2);
      const float v = kTurn * unit_float(words.word[attempt % 2 * 2]);
      const float d = 1 + rho * rho + 2 * rho * std::cos(v);
      const float c = difference * difference * q / (4 * d);
      if (unit_float(words.word[attempt % 2 * 2 + 1]) >= c * std::exp(1 - c)) continue;
      const float sine = difference * std::sin(v) / d;
      const float cosine = ((1 + rho * rho) * std::cos(v) + 2 * rho) / d;
      angle = std::atan2(hy, hx) + std::atan2(sine, cosine);
      return;
    }
  });
}

void mirror(Spins& spins) {
  spins.sweep([&](int x, int y, float& angle) {
    const auto [hx, hy] = spins.field(x, y);
    angle = 2 * std::atan2(hy, hx) - angle;
  });
}

void draw_xy(const SampleRng& rng, int side, int rounds, int mirrors, std::span<float> x) {
  const Philox4 scene = rng.block(Purpose::scene, 0);
  const float low = scene.word[0] >> 31 == 0 ? 0.4f : 0.8929f;
  const float high = scene.word[0] >> 31 == 0 ? 0.8929f : 1.4f;
  const float t = std::min(low + (high - low) * unit_float(scene.word[1]), 1.4f);
  Spins spins{side, std::vector<float>(static_cast<std::size_t>(side * side),
                                       kTurn * unit_float(scene.word[2]))};
  for (int round = 0; round < rounds; ++round) {
    const auto number = static_cast<std::uint32_t>(round);
    heat(rng, t, number, spins);
    const auto most = static_cast<std::uint32_t>(mirrors);
    for (std::uint32_t i = below(number * 0x9e3779b9u, most + 1); i > 0; --i) mirror(spins);
  }
  for (std::size_t i = 0; i < spins.angle.size(); ++i) {
    const float turns = spins.angle[i] / kTurn, hue = 6 * (turns - std::floor(turns));
    x[3 * i] = std::clamp(std::abs(hue - 3) - 1, 0.f, 1.f);
    x[3 * i + 1] = std::clamp(2 - std::abs(hue - 2), 0.f, 1.f);
    x[3 * i + 2] = std::clamp(2 - std::abs(hue - 4), 0.f, 1.f);
  }
}

}  // namespace

PlainLoop plain_xy(int side, int rounds, int mirrors) {
  return {"xy",
          "xy",
          {{"rounds", std::to_string(rounds)}, {"mirrors", std::to_string(mirrors)}},
          side,
          [=](std::uint64_t seed, std::uint64_t sample, std::span<float> x) {
            draw_xy({named_key(seed, "xy"), sample}, side, rounds, mirrors, x);
          }};
}

}  // namespace wellspring::bench
