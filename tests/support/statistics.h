// P-values for statistical tests: the probability of data at least this extreme if the assumed
// distribution is right. A test fails if p < kGate. With fixed seeds, the outcome never changes.
// With a new seed, or after a change to the draws, a test fails by chance once in a million. For
// tests; host only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

namespace wellspring::test {

inline constexpr double kGate = 1e-6;

/// Upper regularised incomplete gamma function Q(a, x): the series below x = a + 1, Lentz's
/// continued fraction above (Abramowitz and Stegun, 6.5.29 and 6.5.31).
inline double upper_gamma(double a, double x) {
  if (x <= 0) return 1;
  const double scale = std::exp(a * std::log(x) - x - std::lgamma(a));
  if (x < a + 1) {
    double term = 1 / a, sum = term;
    for (int n = 1; n < 10000 && term > 1e-17 * sum; ++n) {
      term *= x / (a + n);
      sum += term;
    }
    return std::max(0.0, 1 - scale * sum);
  }
  double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
  for (int n = 1; n < 10000; ++n) {
    const double an = n * (a - n);
    b += 2;
    d = 1 / (an * d + b);
    c = b + an / c;
    h *= c * d;
    if (std::abs(c * d - 1) < 1e-15) break;
  }
  return scale * h;
}

/// Pearson's test of counts against expected counts with the same total.
inline double chi_square_p(const std::vector<double>& counts, const std::vector<double>& expected) {
  double chi2 = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    chi2 += (counts[i] - expected[i]) * (counts[i] - expected[i]) / expected[i];
  }
  return upper_gamma(0.5 * static_cast<double>(counts.size() - 1), 0.5 * chi2);
}
/// The same test against equal shares.
inline double uniform_chi_square_p(const std::vector<double>& counts) {
  const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
  return chi_square_p(
      counts, std::vector<double>(counts.size(), total / static_cast<double>(counts.size())));
}

/// The Kolmogorov-Smirnov test of values against a continuous distribution function. Uses the
/// asymptotic distribution with M. Stephens' correction (JRSS B 32 (1970) 115). Sorts the
/// values.
inline double kolmogorov_p(std::vector<double> values, const std::function<double(double)>& cdf) {
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  double distance = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double f = cdf(values[i]);
    distance =
        std::max({distance, f - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - f});
  }
  const double lambda = (std::sqrt(n) + 0.12 + 0.11 / std::sqrt(n)) * distance;
  double p = 0;
  for (int k = 1; k <= 100; ++k) {
    p += (k % 2 == 1 ? 2 : -2) * std::exp(-2.0 * k * k * lambda * lambda);
  }
  return lambda < 0.2 ? 1 : std::clamp(p, 0.0, 1.0);
}

/// Two-sided p-value of a standard normal number.
inline double normal_p(double z) {
  return std::erfc(std::abs(z) / std::sqrt(2.0));
}

struct Moments {
  double mean = 0, variance = 0;
  std::size_t count = 0;
};
inline Moments moments(const std::vector<double>& values) {
  Moments m;
  m.count = values.size();
  m.mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(m.count);
  for (const double v : values) m.variance += (v - m.mean) * (v - m.mean);
  m.variance /= static_cast<double>(m.count);
  return m;
}

}  // namespace wellspring::test
