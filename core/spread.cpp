#include "core/spread.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace wellspring {
namespace {

/// Of at least one value, which it reorders.
double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  Spread result;
  result.median = median(values);
  for (double& value : values) value = std::abs(value - result.median);
  result.spread = 1.4826 * median(values);
  return result;
}

}  // namespace wellspring
