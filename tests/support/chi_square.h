// Chi-square statistics as standard scores, for equal or given expectations. Tests only; host only.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace wellspring::test {

/// Standard score of the chi-square statistic of `counts`, with one expectation for all cells, by
/// the cube-root transform (E. B. Wilson, M. M. Hilferty, PNAS 17 (1931) 684). It is accurate to a
/// few per cent of sigma with 3 or more degrees of freedom. A limit of 5 gives a false alarm once
/// in 3.5 million runs.
inline double chi_square_score(const std::vector<double>& counts, double expected,
                               std::size_t constraints = 1) {
  double statistic = 0;
  for (const double count : counts) statistic += (count - expected) * (count - expected) / expected;
  const double freedom = static_cast<double>(counts.size() - constraints);
  const double variance = 2 / (9 * freedom);
  return (std::cbrt(statistic / freedom) - (1 - variance)) / std::sqrt(variance);
}

}  // namespace wellspring::test
