// Median and spread of repeated measurements. For benchmarks and training runs; host only.
#pragma once

#include <vector>

namespace wellspring {

/// The middle of the values, and 1.4826 times the median distance from it: their standard deviation
/// if they were normal, unmoved by a few outliers. (1.4826 is one over the third quartile of the
/// normal law.)
struct Spread {
  double median = 0;
  double spread = 0;
};
/// Zeros for no values.
Spread spread_of(std::vector<double> values);

}  // namespace wellspring
