// Events from a handful of random numbers each (docs/generators/algorithms/ee_mumu.md,
// gaussian_linear.md, sbi.md, rambo.md).
#include "bench/plain/plain.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numbers>
#include <utility>

namespace wellspring::bench {
namespace {

/// Box and Muller.
std::pair<float, float> normal(std::uint32_t first, std::uint32_t second) {
  const float radius = std::sqrt(-2 * std::log(unit_float_open(first)));
  const float angle = 2 * std::numbers::pi_v<float> * unit_float(second);
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

/// Share of forward mu- at this energy, in GeV: tree level, photon and Z, with the generator's
/// defaults.
double forward_share(double energy) {
  constexpr double kInverseAlpha = 128.952, kSin2 = 0.23153, kMass = 91.1876, kWidth = 2.4952;
  const double s = energy * energy, e2 = 4 * std::numbers::pi / kInverseAlpha;
  const double g2 = e2 / (kSin2 * (1 - kSin2)), left = -0.5 + kSin2, right = kSin2;
  const auto amplitude = [&](double a, double b) {
    return std::norm(e2 / s + g2 * a * b / std::complex<double>(s - kMass * kMass, kMass * kWidth));
  };
  const double same = amplitude(left, left) + amplitude(right, right);
  return same / (same + 2 * amplitude(left, right));
}

void draw_muons(const std::array<float, 2>& shares, const SampleRng& rng, std::span<float> x) {
  const Philox4 p = rng.block(Purpose::scene, 0), q = rng.block(Purpose::scene, 1);
  const bool forward = unit_float(p.word[1]) < shares[below(p.word[0], 2)];
  const float largest =
      std::max({unit_float(p.word[2]), unit_float(p.word[3]), unit_float(q.word[0])});
  x[0] = forward ? 2 * largest - 1 : 1 - 2 * largest;
  x[1] = 2 * unit_float(q.word[1]) - 1;
}

void draw_linear(const SampleRng& rng, std::span<float> x) {
  const Philox4 t = rng.block(Purpose::scene, 0), e = rng.block(Purpose::scene, 1);
  const auto [t0, t1] = normal(t.word[0], t.word[1]);
  const auto [t2, t3] = normal(t.word[2], t.word[3]);
  const auto [e0, e1] = normal(e.word[0], e.word[1]);
  const auto [e2, e3] = normal(e.word[2], e.word[3]);
  const std::array<float, 4> theta = {t0, t1, t2, t3}, error = {e0, e1, e2, e3};
  float seen = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    seen = 0.5f * seen + theta[i];
    x[i] = seen + 0.5f * error[i];
  }
}

void draw_moons(const SampleRng& rng, std::span<float> x) {
  const Philox4 prior = rng.block(Purpose::scene, 0), noise = rng.block(Purpose::noise, 0);
  const float t1 = 2 * unit_float(prior.word[0]) - 1, t2 = 2 * unit_float(prior.word[1]) - 1;
  const float radius = 0.1f + 0.01f * normal(noise.word[0], noise.word[1]).first;
  const float angle = 2 * std::numbers::pi_v<float> * (unit_float(noise.word[2]) / 2 - 0.25f);
  x[0] = radius * std::cos(angle) + 0.25f - std::abs(t1 + t2) / std::numbers::sqrt2_v<float>;
  x[1] = radius * std::sin(angle) + (t2 - t1) / std::numbers::sqrt2_v<float>;
}

using Momentum = std::array<double, 4>;  ///< energy and momentum

std::array<double, 3> direction(std::uint32_t height, std::uint32_t turn) {
  const double cosine = 2 * static_cast<double>(unit_float(height)) - 1;
  const double sine = std::sqrt((1 - cosine) * (1 + cosine));
  const double phi = 2 * std::numbers::pi * static_cast<double>(unit_float(turn));
  return {sine * std::cos(phi), sine * std::sin(phi), cosine};
}

/// Massless bodies with a total energy of 500 GeV, at rest together.
template <std::size_t Bodies>
std::array<Momentum, Bodies> draw_phase_space(const SampleRng& rng) {
  constexpr double kEnergy = 500;
  std::array<Momentum, Bodies> q{};
  Momentum sum{};
  for (std::uint32_t body = 0; body < Bodies; ++body) {
    const Philox4 w = rng.block(Purpose::texture, body);
    const auto [nx, ny, nz] = direction(w.word[0], w.word[1]);
    const double energy = -std::log(static_cast<double>(unit_float_open(w.word[2])) *
                                    static_cast<double>(unit_float_open(w.word[3])));
    q[body] = {energy, energy * nx, energy * ny, energy * nz};
    for (std::size_t i = 0; i < 4; ++i) sum[i] += q[body][i];
  }
  const double mass =
      std::sqrt(sum[0] * sum[0] - sum[1] * sum[1] - sum[2] * sum[2] - sum[3] * sum[3]);
  const double gamma = sum[0] / mass, scale = kEnergy / mass;
  const std::array<double, 3> b = {-sum[1] / mass, -sum[2] / mass, -sum[3] / mass};
  for (Momentum& p : q) {
    const double along = b[0] * p[1] + b[1] * p[2] + b[2] * p[3], energy = p[0];
    p[0] = scale * (gamma * energy + along);
    for (std::size_t i = 0; i < 3; ++i)
      p[1 + i] = scale * (p[1 + i] + b[i] * (energy + along / (1 + gamma)));
  }
  return q;
}

void write(const Momentum& p, std::span<float> x) {
  for (std::size_t i = 0; i < 4; ++i) x[i] = static_cast<float>(p[i]);
}

void draw_massless(const SampleRng& rng, std::span<float> x) {
  const auto bodies = draw_phase_space<4>(rng);
  for (std::size_t i = 0; i < bodies.size(); ++i) write(bodies[i], x.subspan(4 * i));
}

double energy_of(const Momentum& p, double mass) {
  return std::sqrt(p[1] * p[1] + p[2] * p[2] + p[3] * p[3] + mass * mass);
}

/// The two decay products of a particle with `mass`.
std::pair<Momentum, Momentum> decayed(const SampleRng& rng, std::uint32_t number,
                                      const Momentum& mother, double mass, double m1, double m2) {
  const Philox4 w = rng.block(Purpose::scene, 1 + 129 * number);
  const auto way = direction(w.word[0], w.word[1]);
  const double p =
      std::sqrt((mass - m1 - m2) * (mass + m1 + m2) * (mass - m1 + m2) * (mass + m1 - m2)) /
      (2 * mass);
  double along = 0;
  for (std::size_t i = 0; i < 3; ++i) along += p * way[i] * mother[1 + i];
  const double share = (along / (mother[0] + mass) + std::sqrt(p * p + m1 * m1)) / mass;
  Momentum first, second;
  for (std::size_t i = 0; i < 3; ++i) {
    first[1 + i] = p * way[i] + share * mother[1 + i];
    second[1 + i] = mother[1 + i] - first[1 + i];
  }
  first[0] = energy_of(first, m1);
  second[0] = energy_of(second, m2);
  return {first, second};
}

/// Two tops, each to a b and a W that decays into two quarks.
void draw_top_pair(const SampleRng& rng, std::span<float> x) {
  constexpr double kEnergy = 500, kTop = 172.5, kBottom = 4.78, kW = 80.377;
  auto tops = draw_phase_space<2>(rng);
  double scale = std::sqrt(1 - std::pow(2 * kTop / kEnergy, 2));
  for (int step = 0; step < 8; ++step) {
    double over = -kEnergy, slope = 0;
    for (const Momentum& top : tops) {
      const double energy = std::hypot(kTop, scale * top[0]);
      over += energy;
      slope += scale * top[0] * top[0] / energy;
    }
    scale -= over / slope;
  }
  std::uint32_t decays = 0;
  for (Momentum& top : tops) {
    for (std::size_t i = 1; i < 4; ++i) top[i] *= scale;
    top[0] = energy_of(top, kTop);
    const auto [b, w] = decayed(rng, decays, top, kTop, kBottom, kW);
    const auto [up, down] = decayed(rng, decays + 1, w, kW, 0, 0);
    for (const Momentum& p : {b, up, down}) {
      write(p, x);
      x = x.subspan(4);
    }
    decays += 2;
  }
}

/// Loop over the events of one generator.
template <class Draw>
PlainLoop loop(const char* what, const char* generator, std::vector<ParamSetting> settings,
               const Draw& draw) {
  return {what, generator, std::move(settings), 1,
          [=](std::uint64_t seed, std::uint64_t sample, std::span<float> x) {
            draw(SampleRng{named_key(seed, std::string_view(generator)), sample}, x);
          }};
}

}  // namespace

PlainLoop plain_ee_mumu() {
  const std::array<float, 2> shares = {static_cast<float>(forward_share(80)),
                                       static_cast<float>(forward_share(110))};
  return loop("", "ee_mumu", {},
              [=](const SampleRng& rng, std::span<float> x) { draw_muons(shares, rng, x); });
}
PlainLoop plain_gaussian_linear() {
  return loop("", "gaussian_linear", {}, draw_linear);
}
PlainLoop plain_two_moons() {
  return loop("two_moons", "sbi", {{"task", "two_moons"}}, draw_moons);
}
PlainLoop plain_rambo() {
  return loop("", "rambo", {}, draw_massless);
}
PlainLoop plain_top_pair() {
  return loop("top_pair_decays", "rambo", {{"preset", "top_pair_decays"}}, draw_top_pair);
}

}  // namespace wellspring::bench
