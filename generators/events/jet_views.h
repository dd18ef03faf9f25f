// Images and substructure observables of jets. Used by the jet generators (ginkgo, lund_shower) and
// their tests; host and device.
//
// A cloud is a jet's constituents in the plane of pseudorapidity and azimuth: transverse momentum
// pt, eta, and phi relative to the jet in (-pi, pi]. Distances are dR^2 = deta^2 + dphi^2 in this
// plane, without periodicity: jets are narrower than half a turn. z = pt / sum pt.
//
// Subjets come from exclusive kt clustering without a beam: the pair with the smallest min(pt_i^2,
// pt_j^2) dR_ij^2 is merged (transverse momenta add up, positions are pt-weighted means) until the
// requested number is left.
//   S. Catani, Y. Dokshitzer, M. Seymour, B. Webber, Nucl. Phys. B406 (1993) 187
//
// Image. Conventions differ at each step; these follow J. Cogan, M. Kagan, E. Strauss, A.
// Schwarztman, JHEP 02 (2015) 118; L. de Oliveira et al., JHEP 07 (2016) 069
//   1. centre   on the pt-weighted mean of all constituents
//   2. rotate   coordinates, not pixels, until the lighter of two subjets points down
//   3. flip     so that sum pt x^3 across this axis is not negative (sum pt x is 0; the cube makes
//               constituents on the axis, where x is only a rounding error, irrelevant)
//   4. pixels   sums of pt, in units of 2^-24 of the jet's pt, rounded down; the centre is the
//               middle of pixel (n / 2, n / 2); constituents outside are lost
//   5. norm     sum: fractions of the jet's total pt; square: the squares of the pixels add up
//               to 1; none: pt
//
// Observables, with the centre as the axis and R0 = 1:
//   angularities  width, lha, thrust = sum z dR^b for b = 1, 1/2, 2; pt_d = sqrt(sum z^2)
//                 A. Larkoski, J. Thaler, W. Waalewijn, JHEP 11 (2014) 129
//   tau_N         sum z min_k dR(i, subjet k) for N subjets
//                 J. Thaler, K. Van Tilburg, JHEP 03 (2011) 015, with the subjets above as axes
//   e2, e3        sum over pairs z z dR, over triples z z z dR dR dR; C2 = e3 / e2^2
//                 A. Larkoski, G. Salam, J. Thaler, JHEP 06 (2013) 108
//   D2            e3 / e2^3: A. Larkoski, I. Moult, D. Neill, JHEP 12 (2014) 009
#pragma once

#include "kernels/random/math.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/simd.h"

#include <cstdint>

namespace wellspring::jets {

enum class Output : std::uint8_t { constituents, image, features };
enum class Norm : std::uint8_t { sum, square, none };

/// First members of the Params of each jet generator.
struct ViewParams {
  Output output = Output::constituents;
  int pixels = 33;
  double pixel = 0.1;
  Norm norm = Norm::sum;
};

/// Maximum number of constituents in a cloud.
inline constexpr int kMostConstituents = 128;
/// Integer units of transverse momentum per jet; exact in f32.
inline constexpr float kUnits = 0x1p+24f;
/// Upper limit of quotients, whose divisor may be almost zero.
inline constexpr float kMostQuotient = 128;

enum Number : std::uint8_t {
  kMultiplicity,
  kPt,
  kMass,
  kWidth,
  kLha,
  kThrust,
  kPtD,
  kTau1,
  kTau2,
  kTau3,
  kTau21,
  kTau32,
  kE2,
  kE3,
  kC2,
  kD2,
  kNumbers,
};

/// Coordinates of a cloud; `sub_*` have the same length and hold subjets.
struct Cloud {
  float *pt, *eta, *phi;
  float *sub_pt, *sub_eta, *sub_phi;
  int count = 0;
  int subjets = 0;
};

/// Calls take(k, place) for k in [0, count). `place` is the rank of key[k] in decreasing order;
/// equal keys keep their order. Processes N keys at a time, so `key` must have room for a multiple
/// of N numbers.
template <int N, class Take>
WS_INLINE void in_falling_order(const float* key, int count, const Take& take) {
  for (int first = 0; first < count; first += N) {
    int place[N] = {};
    for (int j = 0; j < count; ++j) {
      const float other = key[j];
      in_lanes<N>([&](int i) WS_INLINED {
        const float own = key[first + i];
        place[i] += other > own || (other == own && j < first + i) ? 1 : 0;
      });
    }
    for (int i = 0; i < N && first + i < count; ++i) take(first + i, place[i]);
  }
}

struct Sum {
  float e = 0, x = 0, y = 0, z = 0;
  WS_INLINE void add(float energy, float px, float py, float pz) {
    e += energy;
    x += px;
    y += py;
    z += pz;
  }
  WS_INLINE float pt() const { return math::sqrt(math::fma(x, x, y * y)); }
  WS_INLINE float mass() const {
    const float p = math::sqrt(math::fma(x, x, math::fma(y, y, z * z)));
    return math::sqrt(math::max((e - p) * (e + p), 0.0f));
  }
};

/// eta from (pt, z): log((|p| + |z|) / pt) with the sign of z. Requires pt > 0.
WS_INLINE float eta_of(float pt, float z) {
  const float p = math::sqrt(math::fma(pt, pt, z * z));
  const float eta = math::log((p + math::abs(z)) / pt);
  return z < 0 ? -eta : eta;
}
/// Wraps an angle in [-2 pi, 2 pi] to [-pi, pi].
WS_INLINE float wrapped(float phi) {
  return phi > math::kPi ? phi - math::kTau : (phi < -math::kPi ? phi + math::kTau : phi);
}

/// Coordinates in the plane.
struct Place {
  float pt, eta, phi;
};
/// Coordinates of a momentum; a momentum parallel to the beam has pt = 0, eta = 0 and phi = 0.
WS_INLINE Place place_of(float x, float y, float z, float jet_phi) {
  const float pt = math::sqrt(math::fma(x, x, y * y));
  const bool seen = pt > 0;
  return {pt, seen ? eta_of(pt, z) : 0.0f, seen ? wrapped(math::atan2(y, x) - jet_phi) : 0.0f};
}
/// Sets constituent i from its momentum.
WS_INLINE void place(const Cloud& cloud, int i, float x, float y, float z, float jet_phi) {
  const Place place = place_of(x, y, z, jet_phi);
  cloud.pt[i] = place.pt;
  cloud.eta[i] = place.eta;
  cloud.phi[i] = place.phi;
}

WS_INLINE float total_pt(const Cloud& cloud) {
  float sum = 0;
  for (int i = 0; i < cloud.count; ++i) sum += cloud.pt[i];
  return sum;
}

/// Shifts the pt-weighted mean to (0, 0).
WS_INLINE void centre(Cloud& cloud, float total) {
  float eta = 0, phi = 0;
  for (int i = 0; i < cloud.count; ++i) {
    eta = math::fma(cloud.pt[i], cloud.eta[i], eta);
    phi = math::fma(cloud.pt[i], cloud.phi[i], phi);
  }
  eta /= total;
  phi /= total;
  for (int i = 0; i < cloud.count; ++i) {
    cloud.eta[i] -= eta;
    cloud.phi[i] -= phi;
  }
}

/// Starts clustering: each constituent is a subjet.
WS_INLINE void separate(Cloud& cloud) {
  cloud.subjets = cloud.count;
  for (int i = 0; i < cloud.count; ++i) {
    cloud.sub_pt[i] = cloud.pt[i];
    cloud.sub_eta[i] = cloud.eta[i];
    cloud.sub_phi[i] = cloud.phi[i];
  }
}

WS_INLINE float distance_squared(float deta, float dphi) {
  return math::fma(deta, deta, dphi * dphi);
}

/// Merges subjets until at most `left` remain. Among equally close pairs, it merges the
/// first; the last subjet fills the gap.
WS_HD inline void cluster(Cloud& cloud, int left) {
  while (cloud.subjets > left) {
    float least = math::kInfinity;
    int a = 0, b = 1;
    for (int i = 0; i + 1 < cloud.subjets; ++i) {
      for (int j = i + 1; j < cloud.subjets; ++j) {
        const float pt = math::min(cloud.sub_pt[i], cloud.sub_pt[j]);
        const float d = pt * pt *
                        distance_squared(cloud.sub_eta[i] - cloud.sub_eta[j],
                                         cloud.sub_phi[i] - cloud.sub_phi[j]);
        if (d < least) {
          least = d;
          a = i;
          b = j;
        }
      }
    }
    const float pt_a = cloud.sub_pt[a], pt_b = cloud.sub_pt[b], pt = pt_a + pt_b;
    const float share = pt > 0 ? pt_b / pt : 0.0f;
    cloud.sub_eta[a] = math::lerp(cloud.sub_eta[a], cloud.sub_eta[b], share);
    cloud.sub_phi[a] = math::lerp(cloud.sub_phi[a], cloud.sub_phi[b], share);
    cloud.sub_pt[a] = pt;
    const int last = --cloud.subjets;
    cloud.sub_pt[b] = cloud.sub_pt[last];
    cloud.sub_eta[b] = cloud.sub_eta[last];
    cloud.sub_phi[b] = cloud.sub_phi[last];
  }
}

/// Settings of an image. `pixel`: side of a pixel in eta and phi.
struct Picture {
  int pixels = 33;
  float pixel = 0.1f;
  Norm norm = Norm::sum;
  float per_unit = 1;  ///< units of x per GeV of pt, with Norm::none
};

namespace detail {

/// Rotates the cloud so that the lighter of two subjets points down.
WS_INLINE void turn(Cloud& cloud) {
  separate(cloud);
  cluster(cloud, 2);
  if (cloud.subjets == 2) {
    const int second = cloud.sub_pt[1] > cloud.sub_pt[0] ? 0 : 1;
    const float a = cloud.sub_eta[second], b = cloud.sub_phi[second];
    const float length = math::sqrt(distance_squared(a, b));
    const float s = length > 0 ? a / length : 0.0f, c = length > 0 ? -b / length : 1.0f;
    for (int i = 0; i < cloud.count; ++i) {
      const float eta = cloud.eta[i], phi = cloud.phi[i];
      cloud.eta[i] = math::fma(c, eta, s * phi);
      cloud.phi[i] = math::fma(c, phi, -(s * eta));
    }
  }
}

}  // namespace detail

/// Draws the cloud into the row's values, row by row from the top; eta increases to the right.
/// Returns the share of the transverse momentum outside the image.
template <class Row>
WS_HD float draw_image(Cloud& cloud, const Picture& picture, Row& row) {
  const int pixels = picture.pixels;
  row.clear(pixels * pixels);
  const float total = total_pt(cloud);
  if (!(total > 0)) return 0;
  centre(cloud, total);
  detail::turn(cloud);
  // From here on, sub_pt holds units and sub_eta holds pixel indices: integers that f32 represents
  // exactly.
  float skew = 0;
  for (int i = 0; i < cloud.count; ++i) {
    cloud.sub_pt[i] = math::floor(cloud.pt[i] / total * kUnits);
    const float x = cloud.eta[i];
    skew = math::fma(cloud.pt[i], x * x * x, skew);
  }
  const float sense = skew < 0 ? -1.0f : 1.0f;
  const float middle = static_cast<float>(pixels / 2) + 0.5f, side = static_cast<float>(pixels);
  std::uint32_t all = 0, inside = 0;
  for (int i = 0; i < cloud.count; ++i) {
    const float column = math::floor(middle + sense * cloud.eta[i] / picture.pixel);
    const float line = math::floor(middle - cloud.phi[i] / picture.pixel);
    const bool seen = column >= 0 && column < side && line >= 0 && line < side;
    cloud.sub_eta[i] = seen ? math::fma(line, side, column) : -1.0f;
    all += static_cast<std::uint32_t>(cloud.sub_pt[i]);
    inside += seen ? static_cast<std::uint32_t>(cloud.sub_pt[i]) : 0;
  }
  // The first constituent of a pixel collects the units of all constituents in it.
  float squares = 0;
  for (int i = 0; i < cloud.count; ++i) {
    std::uint32_t units = static_cast<std::uint32_t>(cloud.sub_pt[i]);
    for (int j = i + 1; j < cloud.count; ++j) {
      if (cloud.sub_eta[j] != cloud.sub_eta[i]) continue;
      units += static_cast<std::uint32_t>(cloud.sub_pt[j]);
      cloud.sub_pt[j] = 0;
    }
    cloud.sub_pt[i] = static_cast<float>(units);
    if (cloud.sub_eta[i] < 0) continue;
    const float value = cloud.sub_pt[i] / kUnits;
    squares = math::fma(value, value, squares);
  }
  float scale = 1;
  if (picture.norm == Norm::square) scale = squares > 0 ? 1 / math::sqrt(squares) : 0.0f;
  if (picture.norm == Norm::none) scale = total * picture.per_unit;
  const float most = picture.norm == Norm::none ? scale : 1.0f;
  for (int i = cloud.count; i-- > 0;) {
    // Loops backwards: only the first constituent of a pixel holds the
    // pixel's sum, and the others hold 0.
    if (cloud.sub_eta[i] < 0) continue;
    row.set(static_cast<int>(cloud.sub_eta[i]), math::min(cloud.sub_pt[i] / kUnits * scale, most));
  }
  return static_cast<float>(all - inside) / kUnits;
}

/// a / b, at most kMostQuotient; 0 if b is 0.
WS_INLINE float quotient(float a, float b) {
  return b > 0 ? math::min(a / b, kMostQuotient) : 0.0f;
}

/// pt-weighted mean distance to the nearest subjet.
WS_HD inline float tau(const Cloud& cloud, float total) {
  float sum = 0;
  for (int i = 0; i < cloud.count; ++i) {
    float nearest = math::kInfinity;
    for (int k = 0; k < cloud.subjets; ++k) {
      nearest = math::min(nearest, distance_squared(cloud.eta[i] - cloud.sub_eta[k],
                                                    cloud.phi[i] - cloud.sub_phi[k]));
    }
    sum = math::fma(cloud.pt[i], math::sqrt(nearest), sum);
  }
  return sum / total;
}

/// Energy correlation functions; `z` is scratch space for pt fractions.
WS_HD inline void correlate(const Cloud& cloud, float total, float* z, float& e2, float& e3) {
  e2 = e3 = 0;
  for (int i = 0; i < cloud.count; ++i) z[i] = cloud.pt[i] / total;
  const auto between = [&](int i, int j) {
    return math::sqrt(distance_squared(cloud.eta[i] - cloud.eta[j], cloud.phi[i] - cloud.phi[j]));
  };
  for (int i = 0; i < cloud.count; ++i) {
    for (int j = i + 1; j < cloud.count; ++j) {
      const float pair = z[i] * z[j] * between(i, j);
      e2 += pair;
      float rest = 0;
      for (int k = j + 1; k < cloud.count; ++k) {
        rest = math::fma(z[k], between(i, k) * between(j, k), rest);
      }
      e3 = math::fma(pair, rest, e3);
    }
  }
}

/// Computes every observable. `sum`: total momentum, GeV. Overwrites the cloud.
WS_HD inline void measure(Cloud& cloud, const Sum& sum, float per_unit, float (&number)[kNumbers]) {
  WS_UNROLL(16)
  for (int f = 0; f < kNumbers; ++f) number[f] = 0;
  const float total = total_pt(cloud);
  number[kMultiplicity] = static_cast<float>(cloud.count);
  number[kPt] = sum.pt() * per_unit;
  number[kMass] = sum.mass() * per_unit;
  if (!(total > 0)) return;
  centre(cloud, total);
  float width = 0, lha = 0, thrust = 0, squares = 0;
  for (int i = 0; i < cloud.count; ++i) {
    const float pt = cloud.pt[i], d2 = distance_squared(cloud.eta[i], cloud.phi[i]);
    const float d = math::sqrt(d2);
    width = math::fma(pt, d, width);
    lha = math::fma(pt, math::sqrt(d), lha);
    thrust = math::fma(pt, d2, thrust);
    squares = math::fma(pt, pt, squares);
  }
  number[kWidth] = width / total;
  number[kLha] = lha / total;
  number[kThrust] = thrust / total;
  number[kPtD] = math::sqrt(squares) / total;
  separate(cloud);
  float taus[3];
  for (int n = 3; n > 0; --n) {
    cluster(cloud, n);
    taus[n - 1] = tau(cloud, total);
  }
  number[kTau1] = taus[0];
  number[kTau2] = taus[1];
  number[kTau3] = taus[2];
  number[kTau21] = quotient(taus[1], taus[0]);
  number[kTau32] = quotient(taus[2], taus[1]);
  float e2 = 0, e3 = 0;
  correlate(cloud, total, cloud.sub_pt, e2, e3);
  number[kE2] = e2;
  number[kE3] = e3;
  number[kC2] = quotient(e3, e2 * e2);
  number[kD2] = quotient(e3, e2 * e2 * e2);
}

}  // namespace wellspring::jets
