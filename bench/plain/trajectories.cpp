// Trajectories by the classical method of Runge and Kutta, step by step
// (docs/generators/algorithms/ode.md, sbi.md).
#include "bench/plain/plain.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace wellspring::bench {
namespace {

template <std::size_t N>
using State = std::array<float, N>;

template <std::size_t N, class Rate>
void step(State<N>& u, float h, const Rate& rate) {
  const auto moved = [&](float by, const State<N>& k) {
    State<N> to;
    for (std::size_t i = 0; i < N; ++i) to[i] = u[i] + by * k[i];
    return to;
  };
  const State<N> k1 = rate(u), k2 = rate(moved(h / 2, k1)), k3 = rate(moved(h / 2, k2)),
                 k4 = rate(moved(h, k3));
  for (std::size_t i = 0; i < N; ++i) u[i] += h / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
}

/// The steps of an interval: of equal length, `longest` at most.
int steps_of(double interval, double longest) {
  return static_cast<int>(std::ceil((1 - 1e-9) * interval / longest));
}

void draw_lorenz(const SampleRng& rng, std::span<float> x) {
  constexpr std::array<float, 6> kMiddle = {10, 28, 8.0f / 3, 1, 1, 1},
                                 kWidth = {2, 7, 0.5f, 10, 10, 10};
  RngStream draw(rng, Purpose::scene);
  std::array<float, 6> latent{};
  for (std::size_t i = 0; i < 6; ++i) latent[i] = kMiddle[i] + kWidth[i] * (2 * draw.uniform() - 1);
  const float sigma = latent[0], rho = latent[1], beta = latent[2];
  State<3> u = {latent[3], latent[4], latent[5]};
  constexpr double kInterval = 2.0 / 32;
  const int steps = steps_of(kInterval, 0.005);
  const auto h = static_cast<float>(kInterval / steps);
  for (std::size_t point = 0; point < 32; ++point) {
    for (int i = 0; i < steps; ++i) {
      step(u, h, [=](const State<3>& at) -> State<3> {
        return {sigma * (at[1] - at[0]), at[0] * (rho - at[2]) - at[1],
                at[0] * at[1] - beta * at[2]};
      });
    }
    std::ranges::copy(u, x.begin() + static_cast<std::ptrdiff_t>(3 * point));
  }
}

float normal_number(const SampleRng& rng, Purpose purpose, std::uint32_t i) {
  const std::uint32_t pair = i / 2;
  const Philox4 words = rng.block(purpose, pair / 2);
  const float radius = std::sqrt(-2 * std::log(unit_float_open(words.word[pair % 2 * 2])));
  const float angle = 2 * std::numbers::pi_v<float> * unit_float(words.word[pair % 2 * 2 + 1]);
  return radius * (i % 2 == 0 ? std::cos(angle) : std::sin(angle));
}

void draw_predators(const SampleRng& rng, std::span<float> x) {
  const auto rate = [&](std::uint32_t i, float middle) {
    return std::exp(middle + 0.5f * normal_number(rng, Purpose::scene, i));
  };
  const float alpha = rate(0, -0.125f), beta = rate(1, -3), gamma = rate(2, -0.125f),
              delta = rate(3, -3);
  State<2> u = {30, 1};
  constexpr double kInterval = 2.1;
  const int steps = steps_of(kInterval, 0.01);
  const auto h = static_cast<float>(kInterval / steps);
  for (std::uint32_t seen = 0; seen < 10; ++seen) {
    for (std::uint32_t kind = 0; kind < 2; ++kind) {
      x[kind * 10 + seen] = std::clamp(u[kind], 1e-10f, 1e4f) *
                            std::exp(0.1f * normal_number(rng, Purpose::noise, 2 * seen + kind));
    }
    if (seen == 9) break;
    for (int i = 0; i < steps; ++i) {
      step(u, h, [=](const State<2>& at) -> State<2> {
        return {at[0] * (alpha - beta * at[1]), at[1] * (delta * at[0] - gamma)};
      });
    }
  }
}

}  // namespace

PlainLoop plain_lorenz() {
  return {"lorenz", "ode", {}, 1, [](std::uint64_t seed, std::uint64_t sample, std::span<float> x) {
            draw_lorenz({named_key(seed, "ode"), sample}, x);
          }};
}
PlainLoop plain_lotka_volterra() {
  return {"lotka_volterra",
          "sbi",
          {{"task", "lotka_volterra"}},
          1,
          [](std::uint64_t seed, std::uint64_t sample, std::span<float> x) {
            draw_predators({named_key(seed, "sbi"), sample}, x);
          }};
}

}  // namespace wellspring::bench
