// The shower of the Ginkgo toy model: a jet of mass m0 splits in two, recursively, until every part
// has a mass squared of at most t_cut. The density of a shower is a product over its branchings.
// Used by generator `ginkgo` and its tests; host and device.
//
// Branching of a parton with mass squared t, rate r and c = kLargestFraction:
//
//     a, b   exponential with rate r, truncated at c
//     t1 = a t,  t2 = b (sqrt t - sqrt t1)^2                  so that sqrt t1 + sqrt t2 < sqrt t
//     direction of part 1 uniform on the sphere, in the rest frame of the parton
//
// The drawing order of the two parts is not observable. The published density (left and right
// exchanged at random) is
//
//     p(t_L, t_R, direction) = 1/(4 pi) 1/2 [g(t_L, t_R) + g(t_R, t_L)],
//     g(u, v) = f(u; t) f(v; (sqrt t - sqrt u)^2),
//     f(u; s) = r exp(-r u / s) / (s (1 - exp(-r c))),   0 for u >= c s
//
// Densities are in GeV^-4 per branching. The masses of the final parts are observed, so their
// density is a factor too.
//
// Showers are computed in the rest frame of the jet, where numbers are small. Energies follow from
// mass and momentum, so every parton is on its mass shell up to rounding.
//
// Source: K. Cranmer, S. Macaluso, D. Pappadopulo, "Toy generative model for jets" (2019), and the
// likelihood in S. Macaluso et al., "Cluster trellis", arXiv:2002.11661. In the authors' program
// the random exchange moves the masses without the momenta, so a parton there has its sibling's
// mass; here both move together.
#pragma once

#include "kernels/random/math.h"
#include "kernels/random/philox.h"
#include "kernels/random/philox_run.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/simd.h"

#include <cmath>
#include <cstdint>

namespace wellspring::ginkgo {

/// Largest share of the available mass squared that a part may take.
inline constexpr float kLargestFraction = 0.999f;
/// Maximum number of parts. A jet with this many parts stops branching and is called unfinished.
inline constexpr int kMostFinals = 128;
/// Largest m0^2 / t_cut. At the published rates such a jet has 45 +- 10 parts.
inline constexpr double kLargestSpan = 8192;
/// Maximum number of waiting partons. The lighter part of a branching is processed first. It has
/// less than half the mass, hence less than a quarter of the mass squared, so at most log4(m0^2 /
/// t_cut) + 1 < 8 partons wait.
inline constexpr int kMostWaiting = 9;

struct Vector3 {
  float x, y, z;
};
WS_INLINE float dot(const Vector3& a, const Vector3& b) {
  return math::fma(a.x, b.x, math::fma(a.y, b.y, a.z * b.z));
}
/// a + s b.
WS_INLINE Vector3 along(const Vector3& a, float s, const Vector3& b) {
  return {math::fma(s, b.x, a.x), math::fma(s, b.y, a.y), math::fma(s, b.z, a.z)};
}

/// Mass squared in GeV^2 and momentum in GeV, in the rest frame of the jet.
struct Parton {
  float t;
  Vector3 p;
  /// GeV.
  WS_INLINE float energy() const { return math::sqrt(dot(p, p) + t); }
};

/// Boosts `part` from the rest frame of `frame` (mass m) to the frame in which `frame` moves.
WS_INLINE Parton boosted(const Parton& part, const Parton& frame, float m) {
  const float share = (part.energy() + dot(frame.p, part.p) / (frame.energy() + m)) / m;
  return {part.t, along(part.p, share, frame.p)};
}

struct Branching {
  Parton parent;
  Parton first, second;  ///< in the order drawn
  float a, b;            ///< the fractions a and b drawn for their masses
};

/// One parton in each of N jets.
template <int N>
struct Partons {
  alignas(N * sizeof(float)) float t[N], x[N], y[N], z[N];

  WS_INLINE Parton of(int i) const { return {t[i], {x[i], y[i], z[i]}}; }
  WS_INLINE void put(int i, const Parton& parton) {
    t[i] = parton.t;
    x[i] = parton.p.x;
    y[i] = parton.p.y;
    z[i] = parton.p.z;
  }
};

/// One branching in each of N jets that are not `done`.
template <int N>
struct Branchings {
  Partons<N> parent, first, second;
  alignas(N * sizeof(float)) float a[N], b[N];
  std::int32_t done[N];

  WS_INLINE Branching of(int i) const {
    return {parent.of(i), first.of(i), second.of(i), a[i], b[i]};
  }
};

/// Host only: log(r / (1 - exp(-r c))), the log normalisation of the truncated exponential.
inline double log_norm(double rate) {
  return std::log(rate / -std::expm1(-rate * static_cast<double>(kLargestFraction)));
}

/// Distribution of the fractions a and b, and their contribution to a branching's density.
class Rate {
 public:
  Rate() = default;
  /// Host only. `rate` in [0.01, 100].
  static Rate of(double rate) {
    Rate law;
    law.rate_ = static_cast<float>(rate);
    law.exp_cut_ = static_cast<float>(std::exp(-rate * static_cast<double>(kLargestFraction)));
    law.log_norm_ = static_cast<float>(log_norm(rate));
    return law;
  }

  /// In [0, c]: the inverse distribution function of the truncated exponential.
  WS_INLINE float fraction(std::uint32_t word) const {
    const float u = unit_float_open(word);
    const float survival = math::fma(u, exp_cut_, 1.0f - u);  // in [exp(-rate c), 1]
    return math::clamp(-math::log(survival) / rate_, 0.0f, kLargestFraction);
  }

  /// Log density of a branching (log of GeV^-4); see the top of this file.
  WS_INLINE float log_density(const Branching& b) const {
    const float m = math::sqrt(b.parent.t);
    const float rest = m - math::sqrt(b.first.t);
    const float as_drawn = order(b.a + b.b, rest);
    // The other drawing order: part 2 is drawn from t, part 1 from the remainder.
    const float other_rest = m - math::sqrt(b.second.t);
    const float other_b = b.first.t / (other_rest * other_rest);
    const float other = order(b.second.t / b.parent.t + other_b, other_rest);
    const bool possible = other_b < kLargestFraction;
    const float larger = possible ? math::max(as_drawn, other) : as_drawn;
    const float distance = math::abs(as_drawn - other);
    const float both = possible ? math::log(1.0f + math::exp(-distance)) : 0.0f;
    return ((2.0f * log_norm_ - kLog8Pi) - math::log(b.parent.t)) + (larger + both);
  }

 private:
  static constexpr float kLog8Pi = 0x1.9cb1a6p+1f;  ///< log(8 pi)

  WS_INLINE float order(float sum, float rest) const {
    return -math::fma(rate_, sum, 2.0f * math::log(rest));
  }

  float rate_ = 1, exp_cut_ = 0, log_norm_ = 0;
};

/// A compensated sum (D. Knuth, The Art of Computer Programming 2, 4.2.2, theorem B).
struct ExactSum {
  float sum = 0, lost = 0;
  WS_INLINE void add(float x) {
    const float next = sum + x;
    const float part = next - sum;
    lost += (sum - (next - part)) + (x - part);
    sum = next;
  }
  WS_INLINE float value() const { return sum + lost; }
};

/// Branches `parent` once, from four random words.
WS_INLINE Branching branch(const Parton& parent, const Rate& rate, const Philox4& random) {
  Branching result;
  result.parent = parent;
  const float t = parent.t, m = math::sqrt(t);
  result.a = rate.fraction(random.word[0]);
  result.b = rate.fraction(random.word[1]);
  const float t1 = t * result.a, m1 = math::sqrt(t1);
  const float rest = m - m1;
  const float t2 = rest * rest * result.b, m2 = math::sqrt(t2);

  // |q| = sqrt((m^2 - (m1 + m2)^2) (m^2 - (m1 - m2)^2)) / 2m; the factors avoid cancellation.
  const float near = math::max(rest - m2, 0.0f) * (m + (m1 + m2));
  const float far = (m + (m1 - m2)) * (m - (m1 - m2));
  const float q = math::sqrt(near * far) / (2.0f * m);
  const float u = unit_float(random.word[2]);
  const float sine = 2.0f * math::sqrt(u * (1.0f - u));
  const math::SinCos turn = math::sincos_turns(unit_float(random.word[3]));
  const Vector3 own = {q * (sine * turn.cosine), q * (sine * turn.sine), q * (2.0f * u - 1.0f)};

  result.first = boosted({t1, own}, parent, m);
  result.second = {t2, along(parent.p, -1.0f, result.first.p)};
  return result;
}

/// Size of a jet's shower.
struct ShowerCount {
  int finals = 0;      ///< final partons
  int unfinished = 0;  ///< final partons heavier than t_cut, because kMostFinals was reached
};

/// Showers N jets with mass squared t0 > t_cut (GeV^2), at rest and in lockstep: each step branches
/// every unfinished jet once. rng(i) returns jet i's random numbers; law[i] governs its first
/// branching. Calls on_branching(Branchings, at_root) and on_final(i, Parton); the order within a
/// jet depends only on its random numbers. Branching k uses blocks(first_block + k). Requires t0 <=
/// kLargestSpan t_cut.
template <int N, class Blocks, class OnBranching, class OnFinal>
WS_INLINE void shower(const Blocks& blocks, std::uint32_t first_block, const float (&t0)[N],
                      float t_cut, Rate (&law)[N], const Rate& rate,
                      const OnBranching& on_branching, const OnFinal& on_final,
                      ShowerCount (&count)[N]) {
  Parton waiting[N][kMostWaiting];
  int waiting_count[N] = {};
  Branchings<N> now;
  for (int i = 0; i < N; ++i) {
    now.parent.put(i, {t0[i], {0, 0, 0}});
    now.done[i] = 0;
  }
  for (std::uint32_t turn = 0;; ++turn) {
    int left = 0;
    for (int i = 0; i < N; ++i) {
      if (now.done[i] != 0) continue;
      Parton parton = now.parent.of(i);
      for (;;) {  // find the next parton that branches
        const bool heavy = parton.t > t_cut;
        if (heavy && count[i].finals + waiting_count[i] + 1 < kMostFinals) break;
        on_final(i, parton);
        ++count[i].finals;
        count[i].unfinished += heavy ? 1 : 0;
        if (waiting_count[i] == 0) {
          now.done[i] = 1;
          break;
        }
        parton = waiting[i][--waiting_count[i]];
      }
      if (now.done[i] != 0) continue;  // its parent is branched again, but the result is unused
      now.parent.put(i, parton);
      ++left;
    }
    if (left == 0) return;

    const PhiloxRun<N> random = blocks(first_block + turn);
    in_lanes<N>([&](int i) WS_INLINED {
      const Branching b = branch(now.parent.of(i), law[i], random.of(i));
      now.first.put(i, b.first);
      now.second.put(i, b.second);
      now.a[i] = b.a;
      now.b[i] = b.b;
    });
    on_branching(now, turn == 0);
    for (int i = 0; i < N; ++i) {
      law[i] = rate;
      if (now.done[i] != 0) continue;
      const bool first_is_lighter = now.first.t[i] < now.second.t[i];
      waiting[i][waiting_count[i]++] = first_is_lighter ? now.second.of(i) : now.first.of(i);
      now.parent.put(i, first_is_lighter ? now.first.of(i) : now.second.of(i));
    }
  }
}

}  // namespace wellspring::ginkgo
