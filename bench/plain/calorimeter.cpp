// Showers of electrons in lead tungstate, in twelve layers of three rings
// (docs/generators/algorithms/calo_gflash.md, with its defaults).
#include "bench/plain/plain.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace wellspring::bench {
namespace {

constexpr int kLayers = 12, kRings = 3, kSlicesOfLayer = 2;
constexpr double kRingWidth = 10;
// Lead tungstate: charge and mass number, density (g/cm3), radiation length (g/cm2).
constexpr double kZ = 68.36, kA = 170.87, kDensity = 8.300, kLength = 7.39;

/// The regularised lower incomplete gamma function, by its series.
double gamma_share(double shape, double x) {
  double term = std::exp(shape * std::log(x) - x - std::lgamma(shape + 1)), sum = term;
  if (x == 0) return 0;
  for (double n = shape + 1; term > 1e-12 * sum; ++n) sum += term *= x / n;
  return sum;
}

/// A law along the axis, of energy or of spots: the share up to a depth.
struct Profile {
  double shape, rate;

  double until(double depth) const { return gamma_share(shape, rate * depth); }
};

/// A core and a tail, of squared radii in mm2.
struct Lateral {
  double core, tail, core_share;

  /// The share of what lies within the square of a radius.
  double within(double r2) const {
    return core_share * r2 / (r2 + core) + (1 - core_share) * r2 / (r2 + tail);
  }
};

struct Shower {
  double energy;  ///< GeV
  double t, alpha, mean_alpha, spots;
  Profile profile, of_spots;
};

Shower draw_shower(const SampleRng& rng) {
  const double critical = 2.66e-3 * std::pow(kLength * kZ / kA, 1.1);
  const Philox4 w = rng.block(Purpose::scene, 0);
  const double energy = std::exp(static_cast<double>(unit_float(w.word[0])) * std::log(100.0));
  const double radius = std::sqrt(-2 * std::log(static_cast<double>(unit_float_open(w.word[1]))));
  const double angle = 2 * std::numbers::pi * static_cast<double>(unit_float(w.word[2]));
  const double z1 = radius * std::cos(angle), z2 = radius * std::sin(angle);

  const double l = std::log(energy / critical), rho = 0.705 - 0.023 * l;
  const double equal = std::sqrt((1 + rho) / 2) * z1, opposite = std::sqrt((1 - rho) / 2) * z2;
  Shower shower;
  shower.energy = energy;
  shower.mean_alpha = 0.81 + (0.458 + 2.26 / kZ) * l;
  shower.t = (l - 0.812) * std::exp((equal + opposite) / (-1.4 + 1.26 * l));
  shower.alpha = shower.mean_alpha * std::exp((equal - opposite) / (-0.58 + 0.86 * l));
  shower.t = std::max(shower.t, 1.0);
  shower.alpha = std::clamp(shower.alpha, 1.1, 500.0);
  shower.profile = {shower.alpha, (shower.alpha - 1) / shower.t};
  const double shape = std::max(shower.alpha * (0.639 + 0.00334 * kZ), 1.1);
  shower.of_spots = {shape, (shape - 1) / (shower.t * (0.698 + 0.00212 * kZ))};
  shower.spots = 93 * std::log(kZ) * std::pow(energy, 0.876);
  return shower;
}

Lateral lateral_at(const Shower& shower, double depth) {
  const double moliere =
      10 / kDensity * 21.2 * kA / (2.66 * kZ) * std::pow(kLength * kZ / kA, -0.1);
  const double y = std::log(shower.energy);
  const double tau = depth * (shower.alpha - 1) / (shower.t * shower.alpha) * shower.mean_alpha /
                     (shower.mean_alpha - 1);
  const double core = (0.0251 + 0.00319 * y) + (0.1162 - 0.000381 * kZ) * tau;
  const double tail = (0.659 - 0.00309 * kZ) * (std::exp(-2.59 * (tau - 0.645)) +
                                                std::exp((0.3585 + 0.0421 * y) * (tau - 0.645)));
  const double u = (0.401 + 0.00187 * kZ - tau) / (1.313 - 0.0686 * y);
  const double share = (2.632 - 0.00094 * kZ) * std::exp(u - std::exp(u));
  const auto squared = [&](double r, double low, double high) {
    return std::pow(moliere * std::clamp(r, low, high), 2);
  };
  return {squared(core, 0.005, HUGE_VAL), squared(tail, 0.01, 100), std::clamp(share, 0.0, 1.0)};
}

/// Slice by slice: its energy in units, and what `fill` makes of it.
template <class Fill>
void draw(const SampleRng& rng, std::span<float> x, const Fill& fill) {
  const Shower shower = draw_shower(rng);
  // Shares of energy are single precision's.
  const auto units_until = [&](double depth) {
    return std::floor(0x1p40 *
                      static_cast<double>(static_cast<float>(shower.profile.until(depth))));
  };
  std::vector<double> cells(kLayers * kRings);
  std::uint32_t spot = 0;
  for (int layer = 0; layer < kLayers; ++layer) {
    for (int slice = 0; slice < kSlicesOfLayer; ++slice) {
      const double front = kSlicesOfLayer * layer + slice, back = front + 1;
      const double units = units_until(back) - units_until(front);
      if (units <= 0) continue;
      const Lateral lateral = lateral_at(shower, (front + back) / 2);
      const double share = shower.of_spots.until(back) - shower.of_spots.until(front);
      const auto spots = static_cast<std::uint32_t>(std::max(1.0, shower.spots * share + 0.5));
      fill(lateral, units, spots, spot,
           std::span(cells).subspan(static_cast<std::size_t>(kRings * layer), kRings));
      spot += spots;
    }
  }
  for (std::size_t i = 0; i < cells.size(); ++i)
    x[i] = static_cast<float>(cells[i] * shower.energy * 1000 * 0x1p-40);
}

void draw_spots(const SampleRng& rng, std::span<float> x) {
  draw(rng, x,
       [&](const Lateral& lateral, double units, std::uint32_t spots, std::uint32_t first,
           std::span<double> rings) {
         const auto of_all = static_cast<std::uint64_t>(units);
         for (std::uint32_t i = 0; i < spots; ++i) {
           const Philox4 w = rng.block(Purpose::texture, first + i);
           const bool core = static_cast<double>(unit_float(w.word[0])) < lateral.core_share;
           const auto v = static_cast<double>(unit_float(w.word[1]));
           const double r = std::sqrt((core ? lateral.core : lateral.tail) * v / (1 - v));
           const auto ring = static_cast<std::size_t>(r / kRingWidth);
           if (ring >= rings.size()) continue;
           rings[ring] += static_cast<double>(of_all / spots + (i < of_all % spots ? 1 : 0));
         }
       });
}

void draw_mean(const SampleRng& rng, std::span<float> x) {
  draw(rng, x,
       [](const Lateral& lateral, double units, std::uint32_t, std::uint32_t,
          std::span<double> rings) {
         for (std::size_t i = 0; i < rings.size(); ++i) {
           const double inner = kRingWidth * static_cast<double>(i), outer = inner + kRingWidth;
           rings[i] += units * (lateral.within(outer * outer) - lateral.within(inner * inner));
         }
       });
}

template <class Draw>
PlainLoop loop(const char* mode, const Draw& draw_one) {
  return {mode,
          "calo_gflash",
          {{"mode", mode}},
          1,
          [=](std::uint64_t seed, std::uint64_t sample, std::span<float> x) {
            draw_one(SampleRng{named_key(seed, std::string_view("calo_gflash")), sample}, x);
          }};
}

}  // namespace

PlainLoop plain_calo_spots() {
  return loop("gflash", draw_spots);
}
PlainLoop plain_calo_mean() {
  return loop("mean", draw_mean);
}

}  // namespace wellspring::bench
