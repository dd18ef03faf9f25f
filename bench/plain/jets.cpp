// Jets of docs/generators/algorithms/lund_shower.md and ginkgo.md.
#include "bench/plain/plain.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

namespace wellspring::bench {
namespace {

struct Parton {
  float pt, eta, phi;
  float room, angle;  ///< L and ln(1 / Theta)
};

struct Vector {
  double x, y, z;
};

constexpr double kWMass = 80.377, kTopMass = 172.69;
constexpr float kRadius = 0.8f, kCut = 1;

/// `part`, of this energy where a frame of mass m and momentum p is at rest, as seen from where it
/// moves.
Vector boosted(const Vector& part, double energy, const Vector& p, double m) {
  const double e = std::sqrt(p.x * p.x + p.y * p.y + p.z * p.z + m * m);
  const double share = (energy + (p.x * part.x + p.y * part.y + p.z * part.z) / (e + m)) / m;
  return {part.x + share * p.x, part.y + share * p.y, part.z + share * p.z};
}

Vector direction(std::uint32_t height, std::uint32_t turn, double length) {
  const double cosine = 2 * static_cast<double>(unit_float(height)) - 1;
  const double sine = std::sqrt(1 - cosine * cosine);
  const double phi = 2 * std::numbers::pi * static_cast<double>(unit_float(turn));
  return {length * sine * std::cos(phi), length * sine * std::sin(phi), length * cosine};
}

/// What a W or a top of these becomes.
std::vector<Vector> decayed(const SampleRng& rng, bool top, float pt, float eta) {
  const Philox4 r = rng.block(Purpose::scene, 1);
  Vector w = {pt, 0, static_cast<double>(pt) * std::sinh(static_cast<double>(eta))};
  std::vector<Vector> prongs;
  if (top) {
    const Vector whole = w;
    const double p = (kTopMass * kTopMass - kWMass * kWMass) / (2 * kTopMass);
    w = boosted(direction(r.word[2], r.word[3], p), std::hypot(p, kWMass), whole, kTopMass);
    prongs.push_back({whole.x - w.x, whole.y - w.y, whole.z - w.z});
  }
  const Vector first = boosted(direction(r.word[0], r.word[1], kWMass / 2), kWMass / 2, w, kWMass);
  prongs.push_back(first);
  prongs.push_back({w.x - first.x, w.y - first.y, w.z - first.z});
  return prongs;
}

void draw_jet(const SampleRng& rng, std::span<float> x) {
  constexpr float kPt = 500;
  constexpr double kCoupling = 0.12;
  const std::uint32_t kind = below(rng.block(Purpose::label, 0).word[0], 4);
  const Philox4 scene = rng.block(Purpose::scene, 0);
  const float eta = 2 * unit_float(scene.word[1]) - 1;
  const float phi = std::numbers::pi_v<float> * (2 * unit_float(scene.word[2]) - 1);

  std::vector<Parton> partons;
  if (kind < 2) {
    partons.push_back({kPt, eta, 0, 0, 0});
  } else {
    for (const Vector& p : decayed(rng, kind == 3, kPt, eta)) {
      const double pt = std::hypot(p.x, p.y);
      partons.push_back({static_cast<float>(pt), static_cast<float>(std::asinh(p.z / pt)),
                         static_cast<float>(std::atan2(p.y, p.x)), 0, 0});
    }
  }
  const std::size_t prongs = partons.size();
  for (std::size_t i = 0; i < prongs; ++i) {
    float theta = kRadius;
    for (std::size_t k = 0; k < prongs; ++k) {
      if (k == i) continue;
      const float apart =
          std::remainder(partons[i].phi - partons[k].phi, 2 * std::numbers::pi_v<float>);
      theta = std::min(theta, std::hypot(partons[i].eta - partons[k].eta, apart));
    }
    partons[i].angle = -std::log(theta);
    partons[i].room = std::log(partons[i].pt * theta / kCut);
  }

  std::uint32_t block = 0;
  for (std::size_t i = 0; i < partons.size(); ++i) {
    const float room = partons[i].room, angle = partons[i].angle;
    if (room <= 0) continue;
    const bool quark = i < prongs && kind != 1;
    const auto density =
        static_cast<float>(2 * kCoupling * (quark ? 4.0 / 3 : 3.0) / std::numbers::pi);
    float area = 0;
    for (;;) {
      const Philox4 r = rng.block(Purpose::texture, block++);
      area -= std::log(unit_float_open(r.word[0])) / density;
      if (2 * area >= room * room) break;
      const float down = 2 * area / (room + std::sqrt(room * room - 2 * area));
      const float softer = unit_float_open(r.word[1]) * (room - down);
      const float z = std::exp(-softer), theta = std::exp(-angle - down);
      const float turn = 2 * std::numbers::pi_v<float> * unit_float(r.word[2]);
      const float deta = theta * std::cos(turn), dphi = theta * std::sin(turn);
      Parton gluon = partons[i];
      gluon = {z * gluon.pt, gluon.eta + (1 - z) * deta, gluon.phi + (1 - z) * dphi,
               room - down - softer, angle + down};
      partons[i].pt -= gluon.pt;
      partons[i].eta -= z * deta;
      partons[i].phi -= z * dphi;
      partons.push_back(gluon);
    }
  }
  std::ranges::stable_sort(partons, std::ranges::greater(), &Parton::pt);
  std::ranges::fill(x, 0.0f);
  for (std::size_t i = 0; i < partons.size() && 4 * i < x.size(); ++i) {
    const Parton& p = partons[i];
    x[4 * i] = p.pt * std::cosh(p.eta);
    x[4 * i + 1] = p.pt * std::cos(p.phi + phi);
    x[4 * i + 2] = p.pt * std::sin(p.phi + phi);
    x[4 * i + 3] = p.pt * std::sinh(p.eta);
  }
}

/// A parton of ginkgo: mass squared and momentum.
struct Mass {
  float t, p[3];

  float dot(const Mass& other) const {
    return p[0] * other.p[0] + p[1] * other.p[1] + p[2] * other.p[2];
  }
  float energy() const { return std::sqrt(dot(*this) + t); }
  /// As seen from where `frame` of mass m moves.
  Mass boosted(const Mass& frame, float m) const {
    const float share = (energy() + dot(frame) / (frame.energy() + m)) / m;
    return {t, {p[0] + share * frame.p[0], p[1] + share * frame.p[1], p[2] + share * frame.p[2]}};
  }
};

/// Both parts of a branching under a rate.
std::pair<Mass, Mass> branched(const Mass& whole, double rate, const Philox4& r) {
  const double cut = std::exp(-rate * 0.999);
  const auto fraction = [&](std::uint32_t word) {
    const auto u = static_cast<double>(unit_float_open(word));
    return std::min(static_cast<float>(-std::log(u * cut + 1 - u) / rate), 0.999f);
  };
  const float m = std::sqrt(whole.t), t1 = whole.t * fraction(r.word[0]), m1 = std::sqrt(t1);
  const float t2 = (m - m1) * (m - m1) * fraction(r.word[1]), m2 = std::sqrt(t2);
  const float near = std::max(m - m1 - m2, 0.0f) * (m + (m1 + m2));
  const float far = (m + (m1 - m2)) * (m - (m1 - m2));
  const float q = std::sqrt(near * far) / (2 * m);
  const float v = unit_float(r.word[2]), sine = 2 * std::sqrt(v * (1 - v));
  const float turn = 2 * std::numbers::pi_v<float> * unit_float(r.word[3]);
  const Mass own = {t1, {q * sine * std::cos(turn), q * sine * std::sin(turn), q * (2 * v - 1)}};
  const Mass first = own.boosted(whole, m);
  return {first, {t2, {whole.p[0] - first.p[0], whole.p[1] - first.p[1], whole.p[2] - first.p[2]}}};
}

void draw_ginkgo(const SampleRng& rng, std::span<float> x) {
  constexpr float kMass = 80, kCutSquared = 16, kMomentum = 400;
  constexpr std::size_t kMostFinals = 128;
  const bool is_w = below(rng.block(Purpose::scene, 0).word[0], 2) == 0;
  const float along = kMomentum / std::numbers::sqrt3_v<float>;
  const Mass jet = {kMass * kMass, {along, along, along}};
  std::vector<Mass> waiting = {{kMass * kMass, {0, 0, 0}}}, finals;
  for (std::uint32_t block = 1; !waiting.empty();) {
    const Mass parton = waiting.back();
    waiting.pop_back();
    if (parton.t <= kCutSquared || finals.size() + waiting.size() + 1 >= kMostFinals) {
      finals.push_back(parton.boosted(jet, kMass));
      continue;
    }
    auto [lighter, heavier] =
        branched(parton, block == 1 && is_w ? 3 : 1.5, rng.block(Purpose::scene, block));
    ++block;
    if (!(lighter.t < heavier.t)) std::swap(lighter, heavier);
    waiting.push_back(heavier);
    waiting.push_back(lighter);
  }
  std::ranges::stable_sort(finals, std::ranges::greater(), &Mass::energy);
  std::ranges::fill(x, 0.0f);
  for (std::size_t i = 0; i < finals.size() && 4 * i < x.size(); ++i) {
    x[4 * i] = finals[i].energy();
    std::ranges::copy(finals[i].p, x.begin() + static_cast<std::ptrdiff_t>(4 * i + 1));
  }
}

}  // namespace

PlainLoop plain_ginkgo() {
  return {"", "ginkgo", {}, 1, [](std::uint64_t seed, std::uint64_t sample, std::span<float> x) {
            draw_ginkgo(SampleRng{named_key(seed, "ginkgo"), sample}, x);
          }};
}

PlainLoop plain_lund_shower() {
  return {
      "", "lund_shower", {}, 1, [](std::uint64_t seed, std::uint64_t sample, std::span<float> x) {
        draw_jet(SampleRng{named_key(seed, "lund_shower"), sample}, x);
      }};
}

}  // namespace wellspring::bench
