// Plain implementations of generators, as one would first write them from a generator's page: one
// sample after another in one thread, loops over pixels and the standard library's mathematics,
// without tiles, lanes, teams or coarse tests. From the same random numbers they make the same
// samples as the generators. Called by `wellspring bench generators`, to measure the generators'
// speed-up, and by tests; host only.
#pragma once

#include "core/config/params.h"
#include "kernels/random/philox.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace wellspring::bench {

struct PlainLoop {
  std::string what;  ///< "circles", if a generator has several loops
  std::string generator;
  std::vector<ParamSetting> settings;  ///< with which the generator makes the same samples
  int side = 1;                        ///< image side, pixels; 1 for events
  /// Writes sample `sample` of `seed` like the generator's `x` without augmentation: rows of pixels
  /// with three channels for images, features for events, consecutive items for sets.
  std::function<void(std::uint64_t seed, std::uint64_t sample, std::span<float> x)> make;
};

/// All plain loops. Tables of a generator, such as its classes, are made here, once.
std::vector<PlainLoop> plain_loops();

// One per family, with the generator's defaults except for the arguments.
PlainLoop plain_dead_leaves(const std::string& kind, int side);
PlainLoop plain_ifs(int side, int points);
PlainLoop plain_rcdb(int side);
PlainLoop plain_visual_atom(int side);
PlainLoop plain_textures(int side);
PlainLoop plain_spectrum(int side);
PlainLoop plain_ee_mumu();
PlainLoop plain_gaussian_linear();
PlainLoop plain_two_moons();
PlainLoop plain_lotka_volterra();
PlainLoop plain_lorenz();
PlainLoop plain_bodies();
PlainLoop plain_rambo();
PlainLoop plain_top_pair();
PlainLoop plain_ising(int side, int rounds);
PlainLoop plain_pde(int side);
PlainLoop plain_xy(int side, int rounds, int mirrors);
PlainLoop plain_ginkgo();
PlainLoop plain_lund_shower();
PlainLoop plain_nu_telescope();
PlainLoop plain_calo_spots();
PlainLoop plain_calo_mean();
PlainLoop plain_tracks();

/// Sets three equal channels.
inline void set_grey(std::span<float> x, std::size_t pixel, float value) {
  x[3 * pixel] = x[3 * pixel + 1] = x[3 * pixel + 2] = value;
}

}  // namespace wellspring::bench
