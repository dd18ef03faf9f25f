// Pulses of a neutrino telescope (docs/generators/algorithms/nu_telescope.md), with its defaults.
#include "bench/plain/plain.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <numbers>
#include <tuple>
#include <utility>
#include <vector>

namespace wellspring::bench {
namespace {

constexpr int kStrings = 78, kModules = 60;
constexpr double kC = 0.299792458, kPi = std::numbers::pi;

using Vector = std::array<double, 3>;
double dot(const Vector& a, const Vector& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

double unit(std::uint32_t word) {
  return double{unit_float(word)};
}
double gap(std::uint32_t word) {
  return -std::log(double{unit_float_open(word)});
}
std::pair<double, double> normal(std::uint32_t first, std::uint32_t second) {
  const double radius = std::sqrt(2 * gap(first)), angle = 2 * kPi * unit(second);
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

std::vector<Vector> modules() {
  std::vector<std::pair<int, int>> points;
  for (int b = -40; b <= 40; ++b) {
    for (int a = -40; a <= 40; ++a) {
      if ((a + b) % 2 != 0) points.emplace_back(a, b);
    }
  }
  std::ranges::sort(points, {}, [](const std::pair<int, int>& point) {
    const auto [a, b] = point;
    return std::tuple(a * a + 3 * b * b, std::abs(b), a * b < 0, b, a);
  });
  std::vector<Vector> places;
  for (std::size_t s = 0; s < kStrings; ++s) {
    for (int k = 0; k < kModules; ++k)
      places.push_back(
          {62.5 * points[s].first, 62.5 * std::numbers::sqrt3 * points[s].second, 17 * (29.5 - k)});
  }
  return places;
}

struct Light {
  double time, shape, photons;
};
struct Event {
  bool track;
  Vector way, vertex;
  double energy, start;
};

Event draw_event(const SampleRng& rng) {
  const Philox4 w = rng.block(Purpose::scene, 0), p = rng.block(Purpose::scene, 1);
  Event event;
  event.track = rng.block(Purpose::label, 0).word[0] >= 0x80000000u;
  const double c = 2 * unit(w.word[0]) - 1, s = std::sqrt((1 - c) * (1 + c));
  const double azimuth = 2 * kPi * unit(w.word[1]);
  event.way = {-s * std::cos(azimuth), -s * std::sin(azimuth), -c};
  event.energy = 100 * std::pow(100, unit(w.word[2]));
  event.start = 500 * (2 * unit(w.word[3]) - 1);
  const double r = 500 * std::sqrt(unit(p.word[0])), turn = 2 * kPi * unit(p.word[1]);
  event.vertex = {r * std::cos(turn), r * std::sin(turn), 500 * (2 * unit(p.word[2]) - 1)};
  return event;
}

Light light_at(const Event& event, const Vector& place) {
  constexpr double kCosine = 1 / 1.3195, kGroup = 1.35634, kSeen = 30000 * 0.005;
  const double sine = std::sqrt(1 - kCosine * kCosine);
  Vector r, out;
  for (std::size_t i = 0; i < 3; ++i) r[i] = place[i] - event.vertex[i];
  const double along = dot(r, event.way);
  for (std::size_t i = 0; i < 3; ++i) out[i] = r[i] - along * event.way[i];
  const double d = std::sqrt(event.track ? dot(out, out) : dot(r, r)), near = std::max(d, 1.0);
  const double up = event.track ? kCosine * event.way[2] + sine * out[2] / d : r[2] / d;
  const double seen = kSeen * (1 + 0.6 * up) * std::exp(-d / 30);
  const double shape = (0.8395 * d + 3.094 - 3.946 * up + 4.636 * up * up) / 33.29;
  if (event.track) {
    return {(along + d * (kGroup - kCosine) / sine) / kC, shape,
            seen * (1 + 0.00175 * event.energy) / (2 * kPi * sine * near)};
  }
  return {d * kGroup / kC, shape,
          seen * 5.3 * event.energy * (1 + 0.5 * along / d) / (4 * kPi * near * near)};
}

std::uint32_t count(const SampleRng& rng, std::uint32_t i, double photons) {
  if (photons < 0x1p-24) return 0;
  const std::uint32_t k = i % kModules;
  double sum = gap(
      rng.block(Purpose::texture, (1u << 29) + i / kModules * (kModules / 4) + k / 4).word[k % 4]);
  std::uint32_t seen = 0;
  for (; sum < photons && seen < 64; ++seen)
    sum += gap(rng.block(Purpose::texture, (1u << 28) + 256 * i + seen / 4).word[seen % 4]);
  return seen;
}

double draw_gamma_number(const SampleRng& rng, std::uint32_t index, double shape) {
  const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3, b = 1 / std::sqrt(9 * d);
  double power = 1;
  for (std::uint32_t t = 0;; ++t) {
    const Philox4 w = rng.block(Purpose::texture, index + (t << 24));
    if (t == 0 && shape < 1) power = std::exp(-gap(w.word[3]) / shape);
    const double z = normal(w.word[0], w.word[1]).first, root = 1 + b * z, q = root * root * root;
    if (root > 0 && -gap(w.word[2]) < z * z / 2 + d * (1 - q + std::log(q))) return d * q * power;
  }
}

struct Pulse {
  std::size_t module;
  double time, charge;
};

double charge(double normal_number) {
  return std::max(1 + 0.3 * normal_number, 0.05);
}

std::vector<Pulse> draw_pulses(const SampleRng& rng, const std::vector<Vector>& places) {
  constexpr double kRho = 1 / 556.7 + kC / 1.35634 / 98, kNoise = 500e-9 * 12000;
  const Event event = draw_event(rng);
  std::vector<Pulse> pulses;
  for (std::uint32_t i = 0; i < places.size(); ++i) {
    const Light light = light_at(event, places[i]);
    const std::uint32_t photons = count(rng, i, light.photons);
    for (std::uint32_t j = 0; j < photons; ++j) {
      const std::uint32_t index = 1024 * i + j;
      const Philox4 w = rng.block(Purpose::noise, index);
      const auto [jitter, more] = normal(w.word[0], w.word[1]);
      const double delay = draw_gamma_number(rng, index, light.shape) / kRho;
      pulses.push_back({i, event.start + light.time + delay + 3 * jitter, charge(more)});
    }
  }
  for (std::uint32_t s = 0; s < kStrings; ++s) {
    double sum = 0;
    for (std::uint32_t j = 0;; ++j) {
      const Philox4 w = rng.block(Purpose::noise, (1u << 28) + (s << 16) + j);
      sum += gap(w.word[0]);
      if (sum / kNoise >= kModules) break;
      pulses.push_back({s * kModules + static_cast<std::size_t>(sum / kNoise),
                        12000 * unit(w.word[1]) - 4000,
                        charge(normal(w.word[2], w.word[3]).first)});
    }
  }
  return pulses;
}

void draw(const SampleRng& rng, const std::vector<Vector>& places, std::span<float> x) {
  const std::vector<Pulse> pulses = draw_pulses(rng, places);
  std::vector<double> first(places.size(), HUGE_VAL);
  for (const Pulse& pulse : pulses) first[pulse.module] = std::min(first[pulse.module], pulse.time);
  std::ranges::fill(x, 0.0f);
  for (std::size_t k = 0; k < pulses.size() && 6 * k < x.size(); ++k) {
    const Pulse& pulse = pulses[k];
    const int module = static_cast<int>(pulse.module), in_string = module % kModules;
    bool company = false;
    for (const int off : {-2, -1, 1, 2}) {
      if (in_string + off < 0 || in_string + off >= kModules) continue;
      company |=
          std::abs(first[static_cast<std::size_t>(module + off)] - first[pulse.module]) <= 1000;
    }
    const Vector& place = places[pulse.module];
    const double values[] = {place[0],   place[1],     place[2],
                             pulse.time, pulse.charge, company ? 0.0 : 1.0};
    for (std::size_t f = 0; f < 6; ++f) x[6 * k + f] = static_cast<float>(values[f]);
  }
}

}  // namespace

PlainLoop plain_nu_telescope() {
  return {"",
          "nu_telescope",
          {},
          1,
          [places = modules()](std::uint64_t seed, std::uint64_t sample, std::span<float> x) {
            draw(SampleRng{named_key(seed, std::string_view("nu_telescope")), sample}, places, x);
          }};
}

}  // namespace wellspring::bench
