// Samples of `ode` for tests, and how far two states are apart. Host only.
#pragma once

#include "generators/events/integrate.h"
#include "generators/generator.h"
#include "tests/generators/collect.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace wellspring::test {

struct Trajectories {
  Samples samples;
  SampleInfo info;

  Trajectories(const std::vector<ParamSetting>& settings, std::uint64_t count) {
    const auto generator = make_generator("ode", 1, settings);
    samples = collect(*generator, {5, 0, count}, {Device::cpu(), 1024, 1});
    info = generator->info();
  }
  std::size_t count() const { return samples.count(); }
  double x(std::size_t i, std::size_t feature) const { return samples.image(i)[feature]; }
  double latent(std::size_t i, std::size_t k) const { return samples.latent(i, k); }
};

template <int N>
double distance(const OdeState<double, N>& a, const OdeState<double, N>& b) {
  double square = 0;
  for (int i = 0; i < N; ++i) square += (a.v[i] - b.v[i]) * (a.v[i] - b.v[i]);
  return std::sqrt(square);
}

}  // namespace wellspring::test
