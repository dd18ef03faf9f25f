// Samples of `ode` for tests. Host only.
#pragma once

#include "generators/generator.h"
#include "tests/generators/collect.h"

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

}  // namespace wellspring::test
