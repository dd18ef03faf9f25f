#include "generators/events/jet_views.h"

#include "kernels/random/philox.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

namespace wellspring::test {
namespace {

struct JetPart {
  double pt, eta, phi;
};
using Jet = std::vector<JetPart>;

/// A cloud of constituents that owns its memory.
struct Filled {
  std::array<std::vector<float>, 6> rows;
  jets::Cloud cloud{};

  explicit Filled(const Jet& jet) {
    for (auto& row : rows) row.resize(jets::kMostConstituents);
    for (std::size_t i = 0; i < jet.size(); ++i) {
      rows[0][i] = static_cast<float>(jet[i].pt);
      rows[1][i] = static_cast<float>(jet[i].eta);
      rows[2][i] = static_cast<float>(jet[i].phi);
    }
    cloud = {rows[0].data(),
             rows[1].data(),
             rows[2].data(),
             rows[3].data(),
             rows[4].data(),
             rows[5].data(),
             static_cast<int>(jet.size())};
  }
};

struct Values {
  std::vector<float> x = std::vector<float>(65 * 65, -1.0f);
  void set(int i, float value) { x[static_cast<std::size_t>(i)] = value; }
  void clear(int features) { std::fill_n(x.begin(), features, 0.0f); }
};

struct Drawn {
  std::vector<float> pixels;
  float outside;
};
Drawn draw(const Jet& jet, const jets::Picture& picture) {
  Filled filled(jet);
  Values row;
  const float outside = jets::draw_image(filled.cloud, picture, row);
  row.x.resize(static_cast<std::size_t>(picture.pixels * picture.pixels));
  return {row.x, outside};
}

std::array<float, jets::kNumbers> measure(const Jet& jet) {
  Filled filled(jet);
  float numbers[jets::kNumbers];
  jets::measure(filled.cloud, {5, 3, 0, 0}, 0.5f, numbers);
  return std::to_array(numbers);
}

/// Some constituents around two or three centres, with coordinates representable in f32.
Jet random_jet(std::uint64_t i) {
  const SampleRng rng{5, i};
  const Philox4 first = rng.block(Purpose::scene, 0);
  Jet jet;
  for (std::uint32_t k = 0; k < 1 + below(first.word[0], 40); ++k) {
    const Philox4 r = rng.block(Purpose::texture, k);
    const double turn = 2 * std::numbers::pi * k / (2 + i % 2);
    const double pt = std::exp(4 * unit_float(r.word[0]));
    jet.push_back({double{static_cast<float>(pt)},
                   double{static_cast<float>(0.4 * std::cos(turn) + 0.4 * unit_float(r.word[1]))},
                   double{static_cast<float>(0.3 * std::sin(turn) + 0.4 * unit_float(r.word[2]))}});
  }
  return jet;
}

// A shifted, rotated or mirrored jet has the same image, unless rounding moves a constituent into
// the next pixel. A jet has up to 40 constituents, and their coordinates are off by about 1e-5
// pixels, so fewer than 1 jet in 1000 differs.
TEST(JetViews, ImagesAreInvariantUnderShiftsRotationsAndReflections) {
  const jets::Picture picture{33, 0.05f, jets::Norm::sum, 1};
  int compared = 0, different = 0;
  for (std::uint64_t i = 0; i < 300; ++i) {
    const Jet jet = random_jet(i);
    if (jet.size() < 3) continue;
    Jet other = jet;
    const double turn = 0.02 * static_cast<double>(i);
    for (JetPart& part : other) {
      const double eta = part.eta, phi = part.phi;
      part.eta = 0.3 + std::cos(turn) * eta + std::sin(turn) * phi;
      part.phi = (i % 2 == 0 ? 1 : -1) * (std::cos(turn) * phi - std::sin(turn) * eta) - 0.2;
    }
    const Drawn a = draw(jet, picture), b = draw(other, picture);
    bool equal = true;
    for (std::size_t p = 0; p < a.pixels.size(); ++p)
      equal &= std::abs(a.pixels[p] - b.pixels[p]) < 3e-5f;
    ++compared;
    different += equal ? 0 : 1;
  }
  EXPECT_GT(compared, 200);
  EXPECT_LE(different, 2);
}

// Pixels are whole numbers of units, so the order of constituents does not matter.
TEST(JetViews, PixelsAreSumsOfWholeUnits) {
  const Jet jet = {{3, 0.5, 0.02}, {1, -0.5, 0.01}, {1, -0.5, 0.01}, {1, -0.5, 0.01}};
  const Drawn image = draw(jet, {25, 0.1f, jets::Norm::sum, 1});
  // Both halves have equal weight, so the middle is at 0. The second of three subjets points down.
  const auto at = [&](int line, int column) {
    return image.pixels[static_cast<std::size_t>(25 * line + column)];
  };
  EXPECT_EQ(at(7, 12), 0.5f);
  // Three times one sixth, each rounded down to units of 2^-24.
  EXPECT_EQ(at(17, 12), 3 * std::floor(0x1p+24f / 6) * 0x1p-24f);
}

TEST(JetViews, DrawOneConstituentAsTheCentralPixel) {
  const Drawn image = draw({{7, 1.5, -0.3}}, {5, 0.1f, jets::Norm::square, 1});
  for (std::size_t p = 0; p < 25; ++p) EXPECT_EQ(image.pixels[p], p == 12 ? 1.0f : 0.0f);
  const auto numbers = measure({{7, 1.5, -0.3}});
  EXPECT_EQ(numbers[jets::kMultiplicity], 1);
  EXPECT_EQ(numbers[jets::kPtD], 1);
  for (int f = jets::kTau1; f < jets::kNumbers; ++f)
    EXPECT_EQ(numbers[static_cast<std::size_t>(f)], 0) << f;
  EXPECT_EQ(draw({}, {5, 0.1f, jets::Norm::sum, 1}).pixels, std::vector<float>(25));
}

// Two constituents at distance R with shares z and 1 - z: width = 2 z (1 - z) R, e2 = z (1 - z) R,
// tau1 = width, tau2 = 0. Three at the corners of an equilateral triangle: e3 = z^3 R^3.
TEST(JetViews, NumbersMatchClosedForms) {
  const auto two = measure({{3, 0, 0}, {1, 0.3, 0.4}});
  EXPECT_NEAR(two[jets::kWidth], 2 * 0.75 * 0.25 * 0.5, 1e-6);
  EXPECT_NEAR(two[jets::kTau1], 2 * 0.75 * 0.25 * 0.5, 1e-6);
  EXPECT_EQ(two[jets::kTau2], 0);
  EXPECT_NEAR(two[jets::kE2], 0.75 * 0.25 * 0.5, 1e-6);
  EXPECT_EQ(two[jets::kE3], 0);
  EXPECT_NEAR(two[jets::kPtD], std::sqrt(10.0) / 4, 1e-6);
  const auto three = measure({{1, 0, 0}, {1, 0.6, 0}, {1, 0.3, 0.3 * std::sqrt(3.0)}});
  EXPECT_NEAR(three[jets::kE3], std::pow(0.6 / 3, 3), 1e-7);
  EXPECT_NEAR(three[jets::kE2], 0.6 / 3, 1e-6);
  EXPECT_NEAR(three[jets::kC2], 0.2, 1e-6);
  EXPECT_NEAR(three[jets::kD2], 1, 1e-5);
}

}  // namespace
}  // namespace wellspring::test
