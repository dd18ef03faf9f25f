// Samples made the plain way: by the first program that one would write from a generator's page,
// one sample after another in one thread, with loops over pixels and the standard library's
// mathematics, without tiles, lanes, teams or coarse tests. Beside these `wellspring bench
// generators` measures what the generators' own code gains, and their samples are held against
// these: the same random numbers make the same pictures. Host only.
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
  std::string what;  ///< "circles", where a generator has several
  std::string generator;
  std::vector<ParamSetting> settings;  ///< of the generator, which then makes the same samples
  int side = 1;                        ///< of images, in pixels; 1 for events
  /// Sample `sample` under `seed`, as the generator's `x` without augmentation: rows of pixels of
  /// three channels for images, features for events, items one after another for sets.
  std::function<void(std::uint64_t seed, std::uint64_t sample, std::span<float> x)> make;
};

/// All there are. Tables that a generator reads, of classes and the like, are made here, once.
std::vector<PlainLoop> plain_loops();

// One a family, with the defaults of its generator but for what is given.
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

/// Three equal channels.
inline void set_grey(std::span<float> x, std::size_t pixel, float value) {
  x[3 * pixel] = x[3 * pixel + 1] = x[3 * pixel + 2] = value;
}

}  // namespace wellspring::bench
