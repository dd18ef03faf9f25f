// The exact likelihood of a set of Ginkgo's constituents in double precision: the published density
// of a branching, summed over every tree that can produce the set. Tests only; host only.
#pragma once

#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

namespace wellspring::test {

struct GinkgoReference {
  static constexpr double kCut = 0.999;

  /// Density of one branching into an unordered pair t1, t2, in GeV^-4 for the given direction. /
  /// The left and right parts are exchanged at random.
  static double branching(double rate, double t, double t1, double t2) {
    return 0.5 * (ordered(rate, t, t1, t2) + ordered(rate, t, t2, t1)) / (4 * std::numbers::pi);
  }
  /// p(u, v), where u is drawn from all of t and v from the remainder.
  static double ordered(double rate, double t, double u, double v) {
    const double left = std::pow(std::sqrt(t) - std::sqrt(u), 2);
    return exponential(rate, u, t) * exponential(rate, v, left);
  }
  static double exponential(double rate, double u, double scale) {
    if (u >= kCut * scale) return 0;
    return rate * std::exp(-rate * u / scale) / (scale * (1 - std::exp(-rate * kCut)));
  }

  /// Converts a density in t1, t2 and direction to one in both momenta: d4p1 d4p2 delta4(p - p1 -
  /// p2) = dt1 dt2 dOmega q / (4 m), where q is the momentum in the rest frame.
  static double momentum_jacobian(double t, double t1, double t2) {
    const double m = std::sqrt(t), m1 = std::sqrt(t1), m2 = std::sqrt(t2);
    const double q = std::sqrt((t - (m1 + m2) * (m1 + m2)) * (t - (m1 - m2) * (m1 - m2))) / (2 * m);
    return 4 * m / q;
  }
};

/// A constituent in the jet's rest frame: squared mass, energy and momentum.
struct GinkgoConstituent {
  double t, e, x, y, z;
};

/// log p(set | rate_1 at the root) - log p(set | rate_2 at the root), exact: sums over all binary
/// trees on the constituents by dynamic programming over subsets (the cluster trellis, S. Macaluso
/// et al., arXiv:2002.11661): Z(S) is the sum over splits of S of p(S -> A B) Z(A) Z(B). Takes time
/// 3^n / 2; n <= 20. Omits factors that all trees share (left-right order, angles).
class GinkgoSetLikelihood {
 public:
  GinkgoSetLikelihood(const std::vector<GinkgoConstituent>& set, double t0, double t_cut,
                      double rate)
      : rate_(rate), t_cut_(t_cut), t_(std::size_t{1} << set.size()), z_(t_.size()) {
    std::vector<GinkgoConstituent> sum(t_.size(), GinkgoConstituent{0, 0, 0, 0, 0});
    for (std::size_t s = 1; s < t_.size(); ++s) {
      const auto lowest = static_cast<std::size_t>(__builtin_ctzll(s));
      const GinkgoConstituent &a = sum[s & (s - 1)], &b = set[lowest];
      sum[s] = {0, a.e + b.e, a.x + b.x, a.y + b.y, a.z + b.z};
      const auto& p = sum[s];
      t_[s] = (s & (s - 1)) == 0 ? b.t : p.e * p.e - (p.x * p.x + p.y * p.y + p.z * p.z);
    }
    t_.back() = t0;
    for (std::size_t s = 1; s + 1 < z_.size(); ++s) {
      const bool single = (s & (s - 1)) == 0;
      z_[s] = single ? (t_[s] <= t_cut ? 1 : 0) : (t_[s] > t_cut ? sum_over_parts(s, rate_) : 0);
    }
  }

  double log_ratio(double rate1, double rate2) const {
    return std::log(sum_over_parts(z_.size() - 1, rate1) / sum_over_parts(z_.size() - 1, rate2));
  }

 private:
  double sum_over_parts(std::size_t s, double rate) const {
    // Part A always holds the constituent with the lowest index, so each split is counted once.
    const std::size_t lowest = s & (~s + 1), others = s ^ lowest;
    double sum = 0;
    for (std::size_t some = (others - 1) & others;; some = (some - 1) & others) {
      const std::size_t a = some | lowest, b = s ^ a;
      if (z_[a] > 0 && z_[b] > 0) {
        const double jacobian = GinkgoReference::momentum_jacobian(t_[s], t_[a], t_[b]);
        // Because of rounding, the parts' masses may add up to more than the parent's mass; then
        // there is no such branching.
        if (std::isfinite(jacobian)) {
          // In units of t0, products of many densities stay near 1.
          sum += GinkgoReference::branching(rate, t_[s], t_[a], t_[b]) * t_.back() * t_.back() *
                 jacobian * z_[a] * z_[b];
        }
      }
      if (some == 0) return sum;
    }
  }

  double rate_, t_cut_;
  std::vector<double> t_, z_;
};

}  // namespace wellspring::test
