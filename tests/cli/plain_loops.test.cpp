// Plain loops are an independent implementation of the generators and must give the same samples.
#include "bench/plain/plain.h"
#include "export/samples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace wellspring::test {
namespace {

/// Largest share of values that may differ by more than kClose. The loops round differently (the
/// standard library's functions, no fma), so an edge may move to the next pixel. Reasons:
/// - visual_atom, rcdb: a contour's vertex accumulates rounding over some hundred orbits, 1e-7 of 512
///   pixels each. One vertex in 200 moves to the next pixel, and a line of about ten pixels in 10^5
///   with it.
/// - dead_leaves, ifs: leaves and points move once. textures, spectrum: continuous.
/// - ode: Lorenz trajectories diverge by e^1.8 in their two units of time, more near the saddle.
/// - xy: over-relaxation mirrors spins at the local field; a small field amplifies by its inverse.
/// - lund_shower, ginkgo: momenta of hundreds of GeV with a rounded azimuth are off by more than
///   10^-4 GeV where a component is nearly 0. tracks: the same for distant hits.
/// - nu_telescope: pulses near time 0 have the error of large times, 5e-4 ns.
/// - calo_gflash: in about one shower in 250 a slice's number of spots rounds differently, and all
///   later spots change.
const std::map<std::string, double> kMaxDiffering = {
    {"dead_leaves", 1e-4},  {"ifs", 1e-4},         {"rcdb", 2e-3},  {"visual_atom", 2e-3},
    {"textures", 1e-4},     {"spectrum", 0},       {"ee_mumu", 0},  {"gaussian_linear", 0},
    {"sbi", 1e-3},          {"ode", 2e-3},         {"rambo", 0},    {"lund_shower", 1e-3},
    {"ginkgo", 1e-3},       {"xy", 1e-2},          {"ising", 0},    {"pde", 0},
    {"nu_telescope", 2e-4}, {"calo_gflash", 5e-3}, {"tracks", 1e-4}};
/// Relative to the value, or to 1 if that is larger: rounding of some hundred operations, amplified
/// by gradients, by the stretching of a spectrum, by 1900 integration steps.
constexpr float kClose = 1e-4f;

TEST(PlainLoops, AgreeWithTheGenerators) {
  for (const bench::PlainLoop& loop : bench::plain_loops()) {
    const std::string name = loop.generator + " " + loop.what;
    ASSERT_TRUE(kMaxDiffering.contains(loop.generator)) << name;
    const auto generator = make_generator(loop.generator, loop.side, loop.settings);
    SampleMaker maker(*generator);
    constexpr std::uint64_t kSeed = 7, kFirst = 5;
    const std::uint64_t count = loop.side == 1 ? 500 : 6;
    std::size_t differing = 0, values = 0;
    maker.make({kSeed, kFirst, count}, [&](const HostSamples& samples) {
      const std::size_t row = samples.x().size() / static_cast<std::size_t>(samples.count());
      std::vector<float> plain(row);
      for (std::size_t k = 0; k < static_cast<std::size_t>(samples.count()); ++k) {
        loop.make(kSeed, samples.slots[k].sample, plain);
        for (std::size_t i = 0; i < row; ++i) {
          const float difference = std::abs(samples.x()[k * row + i] - plain[i]);
          differing += difference <= kClose * std::max(1.0f, std::abs(plain[i])) ? 0 : 1;
        }
        values += row;
      }
    });
    EXPECT_LE(static_cast<double>(differing),
              kMaxDiffering.at(loop.generator) * static_cast<double>(values))
        << name << ": " << differing << " of " << values;
  }
}

}  // namespace
}  // namespace wellspring::test
