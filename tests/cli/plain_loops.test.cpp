// Plain loops are another program for the same samples: what they make is what the generators make.
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

/// Share of values that may differ by more than kClose: the loops round otherwise (the standard
/// library's functions, no fma), so that now and then an edge goes to the pixel beside it. A vertex
/// of a contour carries its rounding from orbit to orbit, some hundred of them at 1e-7 of 512
/// pixels: one vertex in 200 moves to the next pixel, and a line of some ten pixels in 10^5 with
/// it. Leaves and points move once; textures and spectra are continuous. Lorenz's trajectories part
/// by a factor e^1.8 within their two units of time, and by more where they pass the saddle. Spins
/// that over-relaxation mirrors at a small field part by its inverse. Momenta of hundreds of GeV
/// whose azimuth is rounded miss 10^-4 GeV where a component is nearly 0. Pulses close to their
/// time 0 have an error of 5e-4 ns, that of times far from it. Where the number of spots of a slice
/// rounds otherwise, as of one shower in some 250, all spots behind it are others. Hits far out
/// have the error of their azimuth also in the coordinate that is nearly 0.
const std::map<std::string, double> kMostApart = {
    {"dead_leaves", 1e-4},  {"ifs", 1e-4},         {"rcdb", 2e-3},  {"visual_atom", 2e-3},
    {"textures", 1e-4},     {"spectrum", 0},       {"ee_mumu", 0},  {"gaussian_linear", 0},
    {"sbi", 1e-3},          {"ode", 2e-3},         {"rambo", 0},    {"lund_shower", 1e-3},
    {"ginkgo", 1e-3},       {"xy", 1e-2},          {"ising", 0},    {"pde", 0},
    {"nu_telescope", 2e-4}, {"calo_gflash", 5e-3}, {"tracks", 1e-4}};
/// Of a value, or of 1 where it is smaller: rounding of some hundred operations, scaled up by
/// gradients, by the stretching of a spectrum, by 1900 steps of integration.
constexpr float kClose = 1e-4f;

TEST(PlainLoops, MakeTheSameSamples) {
  for (const bench::PlainLoop& loop : bench::plain_loops()) {
    const std::string name = loop.generator + " " + loop.what;
    ASSERT_TRUE(kMostApart.contains(loop.generator)) << name;
    const auto generator = make_generator(loop.generator, loop.side, loop.settings);
    SampleMaker maker(*generator);
    constexpr std::uint64_t kSeed = 7, kFirst = 5;
    const std::uint64_t count = loop.side == 1 ? 500 : 6;
    std::size_t apart = 0, values = 0;
    maker.make({kSeed, kFirst, count}, [&](const HostSamples& samples) {
      const std::size_t row = samples.x().size() / static_cast<std::size_t>(samples.count());
      std::vector<float> plain(row);
      for (std::size_t k = 0; k < static_cast<std::size_t>(samples.count()); ++k) {
        loop.make(kSeed, samples.slots[k].sample, plain);
        for (std::size_t i = 0; i < row; ++i) {
          const float difference = std::abs(samples.x()[k * row + i] - plain[i]);
          apart += difference <= kClose * std::max(1.0f, std::abs(plain[i])) ? 0 : 1;
        }
        values += row;
      }
    });
    EXPECT_LE(static_cast<double>(apart),
              kMostApart.at(loop.generator) * static_cast<double>(values))
        << name << ": " << apart << " of " << values;
  }
}

}  // namespace
}  // namespace wellspring::test
