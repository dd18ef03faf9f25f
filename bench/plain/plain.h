// The simplest implementation of a generator's page: one thread, sample after sample, the standard
// library's mathematics, no tiles, lanes or teams. `wellspring bench generators` and the test
// tests/cli/plain_loops.test.cpp compare generators with it; the samples are the same. Host only.
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
  std::string what;  ///< variant of the generator, such as "circle"; empty: its defaults
  std::string generator;
  std::vector<ParamSetting> settings;  ///< settings for which the generator draws the same samples
  int side = 1;                        ///< image side in pixels; 1 for events
  /// Writes one sample's `x` without augmentation: pixels of three channels by rows, or features.
  std::function<void(std::uint64_t seed, std::uint64_t sample, std::span<float> x)> make;
};

/// All loops. Computes their tables (classes of fractals) once.
std::vector<PlainLoop> plain_loops();

PlainLoop plain_dead_leaves(const std::string& kind, int side);
PlainLoop plain_ifs(int side, int points);
PlainLoop plain_rcdb(int side);
PlainLoop plain_visual_atom(int side);
PlainLoop plain_ee_mumu();

/// Sets three equal channels.
inline void set_grey(std::span<float> x, std::size_t pixel, float value) {
  x[3 * pixel] = x[3 * pixel + 1] = x[3 * pixel + 2] = value;
}

}  // namespace wellspring::bench
