// Eight bodies under their gravity, from Plummer's sphere (docs/generators/algorithms/ode.md).
#include "bench/plain/plain.h"

#include <array>
#include <cmath>
#include <numbers>

namespace wellspring::bench {
namespace {

constexpr std::size_t kBodies = 8, kPoints = 32;
using Vector = std::array<float, 3>;
using Bodies = std::array<Vector, kBodies>;

Vector star_place(const Philox4& w, double& escape) {
  const double a = 3 * std::numbers::pi / 16;
  const double t = std::cbrt(0.999 * static_cast<double>(unit_float_open(w.word[0])));
  const double b = std::sqrt(1 - t * t), r = a * t / b;
  const double c = 2 * static_cast<double>(unit_float(w.word[1])) - 1, s = std::sqrt(1 - c * c);
  const double f = 2 * std::numbers::pi * static_cast<double>(unit_float(w.word[2]));
  escape = std::sqrt(2 * b / a);
  return {static_cast<float>(r * s * std::cos(f)), static_cast<float>(r * s * std::sin(f)),
          static_cast<float>(r * c)};
}

/// Three coordinates of a direction in twelve dimensions, times `speed`.
Vector star_velocity(const SampleRng& rng, std::uint32_t star, double speed) {
  std::array<double, 12> z;
  double squares = 0;
  for (std::uint32_t i = 0; i < 6; ++i) {
    const Philox4 w = rng.block(Purpose::scene, 4 * star + 1 + i / 2);
    const auto first = static_cast<double>(unit_float_open(w.word[i % 2 * 2]));
    const auto turn = static_cast<double>(unit_float(w.word[i % 2 * 2 + 1]));
    const double radius = std::sqrt(-2 * std::log(first)), angle = 2 * std::numbers::pi * turn;
    z[2 * i] = radius * std::cos(angle);
    z[2 * i + 1] = radius * std::sin(angle);
    squares += radius * radius;
  }
  const double scale = speed / std::sqrt(squares);
  return {static_cast<float>(scale * z[0]), static_cast<float>(scale * z[4]),
          static_cast<float>(scale * z[8])};
}

void take_off_mean(Bodies& bodies) {
  for (std::size_t i = 0; i < 3; ++i) {
    float sum = 0;
    for (const Vector& body : bodies) sum += body[i];
    for (Vector& body : bodies) body[i] -= sum / kBodies;
  }
}

Bodies accelerations(const Bodies& places) {
  constexpr float kSoftening = 0.1f;
  Bodies all{};
  for (std::size_t i = 0; i < kBodies; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      Vector apart;
      float r2 = kSoftening * kSoftening;
      for (std::size_t d = 0; d < 3; ++d) {
        apart[d] = places[j][d] - places[i][d];
        r2 += apart[d] * apart[d];
      }
      const float pull = 1 / (kBodies * r2 * std::sqrt(r2));
      for (std::size_t d = 0; d < 3; ++d) {
        all[i][d] += pull * apart[d];
        all[j][d] -= pull * apart[d];
      }
    }
  }
  return all;
}

void add(float by, const Bodies& change, Bodies& to) {
  for (std::size_t i = 0; i < kBodies; ++i) {
    for (std::size_t d = 0; d < 3; ++d) to[i][d] += by * change[i][d];
  }
}

void draw_bodies(const SampleRng& rng, std::span<float> x) {
  Bodies places, velocities;
  for (std::uint32_t k = 0; k < kBodies; ++k) {
    double escape = 0;
    places[k] = star_place(rng.block(Purpose::scene, 4 * k), escape);
    velocities[k] = star_velocity(rng, k, escape);
  }
  take_off_mean(places);
  take_off_mean(velocities);

  constexpr double kInterval = 2 * std::numbers::sqrt2 / kPoints;
  const auto steps = static_cast<int>(std::ceil((1 - 1e-9) * kInterval / 0.002));
  const auto h = static_cast<float>(kInterval / steps);
  Bodies pulls = accelerations(places);
  std::size_t at = 0;
  for (std::size_t point = 0; point < kPoints; ++point) {
    for (int step = 0; step < steps; ++step) {
      add(h / 2, pulls, velocities);
      add(h, velocities, places);
      pulls = accelerations(places);
      add(h / 2, pulls, velocities);
    }
    for (const Bodies& half : {places, velocities}) {
      for (const Vector& body : half) {
        for (const float value : body) x[at++] = value;
      }
    }
  }
}

}  // namespace

PlainLoop plain_bodies() {
  return {"n_body",
          "ode",
          {{"system", "n_body"}},
          1,
          [](std::uint64_t seed, std::uint64_t sample, std::span<float> x) {
            draw_bodies({named_key(seed, "ode"), sample}, x);
          }};
}

}  // namespace wellspring::bench
