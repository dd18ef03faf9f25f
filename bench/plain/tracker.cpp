// Hits of charged particles in cylinders and rings (docs/generators/algorithms/tracks.md, with its
// defaults).
#include "bench/plain/plain.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

namespace wellspring::bench {
namespace {

constexpr double kPi = std::numbers::pi, kCurve = 0.299792458e-3 * 2, kMass = 0.13957;
constexpr double kPixels = 0.012, kStrips = 0.013;

/// A cylinder of this radius and half length, or a ring at this distance between two radii.
struct Surface {
  double place, low, high;  ///< of a cylinder: radius, 0, half length
  double thickness;
  int volume, layer;  ///< volume 0 measures nothing; of a ring those at +z

  bool ring() const { return low > 0; }
  double area() const { return ring() ? kPi * (high * high - low * low) : 4 * kPi * place * high; }
};

std::vector<Surface> cylinders() {
  return {{19, 0, 3000, 0.8 / 352.8, 0, 0}, {32, 0, 471.5, kPixels, 8, 2},
          {72, 0, 471.5, kPixels, 8, 4},    {116, 0, 471.5, kPixels, 8, 6},
          {172, 0, 471.5, kPixels, 8, 8},   {200, 0, 2800, 1.8 / 352.8, 0, 0},
          {260, 0, 1084, kStrips, 13, 2},   {360, 0, 1084, kStrips, 13, 4},
          {500, 0, 1084, kStrips, 13, 6},   {660, 0, 1084, kStrips, 13, 8},
          {820, 0, 1084, kStrips, 17, 2},   {1020, 0, 1084, kStrips, 17, 4}};
}

/// Of one side, by distance and radius.
std::vector<Surface> rings() {
  std::vector<Surface> all;
  const auto add = [&](std::initializer_list<double> places, double low, double high,
                       double thickness, int volume) {
    int layer = 0;
    for (const double z : places) all.push_back({z, low, high, thickness, volume, layer += 2});
  };
  add({600, 700, 820, 960, 1100, 1300, 1500}, 30, 176, kPixels, 9);
  add({1220, 1500, 1800, 2150, 2550, 2950}, 240, 700, kStrips, 14);
  add({1220, 1500, 1800, 2150, 2550, 2950}, 750, 1020, kStrips, 18);
  std::ranges::sort(all, {}, [](const Surface& ring) { return std::pair(ring.place, ring.low); });
  return all;
}

struct Detector {
  std::vector<Surface> cylinders = bench::cylinders(), rings = bench::rings();
};

/// Volume and layer as TrackML numbers them, at this side of the detector.
std::pair<int, int> numbers(const Surface& surface, bool forward) {
  if (!surface.ring() || forward) return {surface.volume, surface.layer};
  return {surface.volume - 2, (surface.volume == 9 ? 16 : 14) - surface.layer};
}

/// Errors of measurement along the azimuth and across it.
std::pair<double, double> errors(const Surface& surface) {
  if (surface.volume < 10) return {0.0144, 0.0162};
  if (surface.volume < 15) return {0.0231, 0.346};
  return {0.0346, 3.12};
}

std::pair<double, double> normal(std::uint32_t first, std::uint32_t second) {
  const double radius = std::sqrt(-2 * std::log(static_cast<double>(unit_float_open(first))));
  const double angle = 2 * kPi * static_cast<double>(unit_float(second));
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

using Hit = std::array<float, 5>;

Hit hit_at(double x, double y, double z, const std::pair<int, int>& where) {
  return {static_cast<float>(x), static_cast<float>(y), static_cast<float>(z),
          static_cast<float>(where.first), static_cast<float>(where.second)};
}

/// Where a particle is, and where it goes: (ux, uy) across the beam and cot along it.
struct Helix {
  double x, y, z, ux, uy, cot;
  double bend;  ///< per mm of the way

  double turn() const { return bend * std::sqrt(1 + cot * cot); }

  /// The length across the beam to a surface; infinite where it is not reached.
  double until(const Surface& surface, bool forward) const {
    const double k = turn();
    if (surface.ring()) {
      const double s = ((forward ? surface.place : -surface.place) - z) / cot;
      return s > 0 && std::abs(k * s) < kPi ? s : HUGE_VAL;
    }
    const double gap = surface.place * surface.place - x * x - y * y;
    const double along = x * ux + y * uy, a = 1 + k * (y * ux - x * uy) - k * k * gap / 4;
    const double root = along * along + a * gap, divisor = along + std::sqrt(std::max(root, 0.0));
    if (root < 0 || divisor <= 0) return HUGE_VAL;
    const double tau = gap / divisor, h = k * tau / 2;
    return h == 0 ? tau : tau * std::atan(h) / h;
  }

  Helix after(double s) const {
    const double k = turn(), half = k * s / 2;
    const double chord = half == 0 ? s : 2 * std::sin(half) / k;
    const auto turned = [&](double angle) {
      return std::pair(ux * std::cos(angle) - uy * std::sin(angle),
                       ux * std::sin(angle) + uy * std::cos(angle));
    };
    const auto [cx, cy] = turned(half);
    const auto [vx, vy] = turned(2 * half);
    return {x + chord * cx, y + chord * cy, z + s * cot, vx, vy, cot, bend};
  }

  bool outwards() const { return x * ux + y * uy > 0; }
};

void measure(const Helix& at, const Surface& surface, bool forward, const Philox4& w,
             std::vector<Hit>& hits) {
  if (surface.volume == 0 || unit_float(w.word[2]) >= 0.98f) return;
  const auto [g1, g2] = normal(w.word[0], w.word[1]);
  const auto [along, across] = errors(surface);
  const double r = std::hypot(at.x, at.y), f = along * g1 / r;
  const std::pair<int, int> where = numbers(surface, forward);
  if (surface.ring()) {
    const double grown = 1 + across * g2 / r;
    hits.push_back(hit_at(grown * at.x - f * at.y, grown * at.y + f * at.x, at.z, where));
  } else {
    const double shrunk = 1 / std::sqrt(1 + f * f);
    hits.push_back(
        hit_at(shrunk * (at.x - f * at.y), shrunk * (at.y + f * at.x), at.z + across * g2, where));
  }
}

/// Multiple scattering, of momentum p in GeV.
void scatter(Helix& at, const Surface& surface, double p, const Philox4& w) {
  const auto [g1, g2] = normal(w.word[0], w.word[1]);
  const double s = 1 / std::sqrt(1 + at.cot * at.cot), c = at.cot * s;
  const double cosine =
      surface.ring() ? std::abs(c) : s * (at.x * at.ux + at.y * at.uy) / std::hypot(at.x, at.y);
  const double thickness = surface.thickness / std::max(cosine, 0.05);
  const double beta2 = 1 / (std::pow(kMass / p, 2) + 1);
  const double theta = 0.0136 / (std::sqrt(beta2) * p) * std::sqrt(thickness) *
                       std::max(1 + 0.038 * std::log(thickness / beta2), 0.0);
  const double dx = (s + theta * g2 * c) * at.ux - theta * g1 * at.uy;
  const double dy = (s + theta * g2 * c) * at.uy + theta * g1 * at.ux;
  const double across = std::hypot(dx, dy);
  at.ux = dx / across;
  at.uy = dy / across;
  at.cot = (c - theta * g2 * s) / across;
}

void follow(const Detector& detector, const SampleRng& rng, std::uint32_t particle, Helix at,
            double p, std::vector<Hit>& hits) {
  const bool forward = at.cot > 0;
  std::size_t cylinder = 0, ring = 0;
  for (;;) {
    const auto until = [&](const std::vector<Surface>& list, std::size_t i) {
      return i < list.size() ? at.until(list[i], forward) : HUGE_VAL;
    };
    const double to_cylinder = until(detector.cylinders, cylinder);
    const double to_ring = until(detector.rings, ring), s = std::min(to_cylinder, to_ring);
    if (s == HUGE_VAL) return;
    const bool is_cylinder = to_cylinder <= to_ring;
    const std::size_t j = is_cylinder ? cylinder++ : ring++;
    const Surface& surface = is_cylinder ? detector.cylinders[j] : detector.rings[j];
    Helix there = at.after(s);
    if (!there.outwards()) return;
    const double off = is_cylinder ? std::abs(there.z) : std::hypot(there.x, there.y);
    if (off > surface.high || off < surface.low) continue;
    while (!is_cylinder && ring < detector.rings.size() &&
           detector.rings[ring].place == surface.place)
      ++ring;
    const auto number = static_cast<std::uint32_t>(31 * particle + j + (is_cylinder ? 0 : 12));
    measure(there, surface, forward, rng.block(Purpose::noise, 2 * number + 1), hits);
    scatter(there, surface, p, rng.block(Purpose::noise, 2 * number));
    if (!there.outwards()) return;
    at = there;
  }
}

void draw_particle(const Detector& detector, const SampleRng& rng, std::uint32_t particle,
                   std::vector<Hit>& hits) {
  const Philox4 w = rng.block(Purpose::scene, 1 + particle);
  const double pt = 0.5 * std::exp(static_cast<double>(unit_float(w.word[0])) * std::log(20.0));
  const double eta = 2.5 * (2 * static_cast<double>(unit_float(w.word[1])) - 1);
  const double phi = kPi * (2 * static_cast<double>(unit_float(w.word[2])) - 1);
  const double charge = w.word[3] < 1u << 31 ? 1 : -1, p = pt * std::cosh(eta);
  const Philox4 v = rng.block(Purpose::scene, 1u << 20);
  const auto [vx, vy] = normal(v.word[0], v.word[1]);
  const double vz = normal(v.word[2], v.word[3]).first;
  follow(detector, rng, particle,
         {0.01 * vx, 0.01 * vy, 55 * vz, std::cos(phi), std::sin(phi), std::sinh(eta),
          -charge * kCurve / p},
         p, hits);
}

/// `number` and `side` of a layer of this share of the detector's area.
void add_noise(const SampleRng& rng, const Surface& surface, std::uint32_t number, bool forward,
               double share, std::vector<Hit>& hits) {
  const double mean = 10 * share;
  double sum = 0;
  for (std::uint32_t k = 0;; ++k) {
    const Philox4 w = rng.block(Purpose::texture, (number << 16) + k);
    sum -= std::log(static_cast<double>(unit_float_open(w.word[0])));
    if (sum >= mean) return;
    const double phi = 2 * kPi * sum / mean, u = static_cast<double>(unit_float(w.word[1]));
    const double r =
        surface.ring()
            ? std::sqrt(std::lerp(surface.low * surface.low, surface.high * surface.high, u))
            : surface.place;
    const double z =
        surface.ring() ? (forward ? surface.place : -surface.place) : surface.high * (2 * u - 1);
    hits.push_back(hit_at(r * std::cos(phi), r * std::sin(phi), z, numbers(surface, forward)));
  }
}

void draw_hits(const Detector& detector, const SampleRng& rng, std::span<float> x) {
  std::vector<Hit> hits;
  const std::uint32_t tracks = 1 + below(rng.block(Purpose::scene, 0).word[0], 10);
  for (std::uint32_t t = 0; t < tracks; ++t) draw_particle(detector, rng, t, hits);

  double area = 0;
  for (const Surface& s : detector.cylinders) area += s.volume != 0 ? s.area() : 0;
  for (const Surface& s : detector.rings) area += 2 * s.area();
  std::uint32_t layer = 0;
  for (const Surface& s : detector.cylinders) {
    if (s.volume != 0) add_noise(rng, s, layer, true, s.area() / area, hits);
    ++layer;
  }
  for (const bool forward : {true, false}) {
    for (const Surface& s : detector.rings)
      add_noise(rng, s, layer++, forward, s.area() / area, hits);
  }
  std::ranges::fill(x, 0.0f);
  for (std::size_t i = 0; i < hits.size() && 5 * i < x.size(); ++i)
    std::ranges::copy(hits[i], x.begin() + static_cast<std::ptrdiff_t>(5 * i));
}

}  // namespace

PlainLoop plain_tracks() {
  return {"",
          "tracks",
          {},
          1,
          [detector = Detector()](std::uint64_t seed, std::uint64_t sample, std::span<float> x) {
            draw_hits(detector, {named_key(seed, "tracks"), sample}, x);
          }};
}

}  // namespace wellspring::bench
