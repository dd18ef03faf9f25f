// The plain loops of bench/plain must draw the same samples as the generators.
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

/// Largest share of values that may differ by more than kClose. The loops round differently
/// (standard library, no fma), so an edge sometimes falls on the next pixel. A contour's vertex
/// accumulates rounding errors of 1e-7 of 512 pixels over about a hundred orbits. One vertex in 200
/// therefore moves by a pixel, which moves a line, about ten of 10^5 pixels. The errors of leaves
/// and points do not accumulate.
const std::map<std::string, double> kMostApart = {
    {"dead_leaves", 1e-4}, {"ifs", 1e-4}, {"rcdb", 2e-3}, {"visual_atom", 2e-3}, {"ee_mumu", 0}};
constexpr float kClose = 1e-4f;  ///< relative to the value, or to 1 if the value is smaller

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
