#include "generators/events/telescope.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <tuple>
#include <vector>

namespace wellspring::telescope {

Array triangular_array(int strings, int modules, double string_spacing, double module_spacing) {
  // Position in half lattice units: x = a / 2, y = b sqrt(3) / 2, where a + b is odd.
  struct Point {
    int a, b;
    auto key() const {
      // Opposite points at the same distance are adjacent in the order.
      return std::tuple(a * a + 3 * b * b, std::abs(b), a * b < 0, b, a);
    }
  };
  std::vector<Point> points;
  constexpr int kFar = 2 * kMostStrings;  // even a single row has enough sites
  for (int b = -kFar; b <= kFar; ++b) {
    for (int a = -kFar; a <= kFar; ++a) {
      if ((a + b) % 2 != 0) points.push_back({a, b});
    }
  }
  std::partial_sort(points.begin(), points.begin() + strings, points.end(),
                    [](const Point& one, const Point& other) { return one.key() < other.key(); });
  Array array;
  array.strings = strings;
  array.modules = modules;
  array.module_spacing = static_cast<float>(module_spacing);
  for (int s = 0; s < strings; ++s) {
    const Point& point = points[static_cast<std::size_t>(s)];
    array.x[s] = static_cast<float>(0.5 * point.a * string_spacing);
    array.y[s] = static_cast<float>(0.5 * std::numbers::sqrt3 * point.b * string_spacing);
  }
  return array;
}

Optics optics_of(const Ice& ice) {
  const double cosine = 1 / ice.phase_index, sine = std::sqrt(1 - cosine * cosine);
  Optics optics{};
  optics.cosine = static_cast<float>(cosine);
  optics.sine = static_cast<float>(sine);
  optics.per_c = static_cast<float>(1 / kLightSpeed);
  optics.track_slope = static_cast<float>((ice.group_index / sine - cosine / sine) / kLightSpeed);
  optics.cascade_slope = static_cast<float>(ice.group_index / kLightSpeed);
  optics.rho = static_cast<float>(1 / ice.tau + kLightSpeed / ice.group_index / ice.lambda_a);
  optics.per_lambda = static_cast<float>(1 / ice.lambda);
  optics.attenuation = static_cast<float>(ice.attenuation);
  optics.per_attenuation = static_cast<float>(1 / ice.attenuation);
  const double seen = ice.light * ice.area;
  optics.track_light = static_cast<float>(seen / (2 * std::numbers::pi * sine));
  optics.track_gain = static_cast<float>(ice.track_gain);
  optics.cascade_light = static_cast<float>(seen * ice.cascade_length / (4 * std::numbers::pi));
  optics.acceptance = static_cast<float>(ice.acceptance);
  optics.forward = static_cast<float>(ice.cascade_forward);
  return optics;
}

}  // namespace wellspring::telescope
