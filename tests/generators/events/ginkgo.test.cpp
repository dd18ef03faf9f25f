#include "generators/events/ginkgo.h"

#include "export/samples.h"
#include "generators/generator.h"
#include "tests/generators/events/ginkgo_one.h"
#include "tests/generators/events/ginkgo_reference.h"
#include "tests/generators/events/jet_reference.h"
#include "tests/generators/events/jet_row.h"
#include "tests/support/error_testing.h"
#include "tests/support/one_event.h"
#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace wellspring {
namespace {

constexpr double kEpsilon = 0x1p-24;  // largest relative error of rounding to f32

using Row = test::JetRow<Ginkgo, 4>;

Row make_row(const Ginkgo::Params& params, std::uint64_t sample) {
  Row row;
  test::make_one(Ginkgo(params), {17, sample}, row, row.truth);
  return row;
}

/// The settings of the shipped configuration.
Ginkgo::Params few() {
  Ginkgo::Params params;
  params.w_root_rate = 6;
  params.t_cut = 100;
  return params;
}

struct Four {
  double e = 0, x = 0, y = 0, z = 0;
  explicit Four(const std::array<float, 4>& v) : e(v[0]), x(v[1]), y(v[2]), z(v[3]) {}
  Four(double energy, double a, double b, double c) : e(energy), x(a), y(b), z(c) {}
  /// This rest-frame vector, boosted into the frame in which `frame` (of mass m) moves.
  Four boosted(const Four& frame, double m) const {
    const double k = ((frame.x * x + frame.y * y + frame.z * z) / (frame.e + m) + e) / m;
    return {(frame.e * e + frame.x * x + frame.y * y + frame.z * z) / m, x + k * frame.x,
            y + k * frame.y, z + k * frame.z};
  }
};

// The boost multiplies rounding errors in the rest frame (40 u m per branching, see the shower's
// tests) by at most (E + p) / m. A constituent adds fewer than 20 roundings of its energy.
TEST(Ginkgo, ConstituentsSumToTheJet) {
  Ginkgo::Params params;
  params.momentum_low = 0;
  params.momentum_high = 1000;
  params.unit = 10;
  for (std::uint64_t i = 0; i < 500; ++i) {
    const Row row = make_row(params, i);
    const double p = row.truth.latents[6], jet = std::sqrt(6400 + p * p);
    const double tolerance =
        kEpsilon * (40 * 80 * row.truth.latents[5] * (jet + p) / 80 + 20 * jet) / params.unit;
    ASSERT_NEAR(row.jet[0], jet / params.unit, 3 * kEpsilon * jet / params.unit);
    std::array<double, 4> sum{};
    for (const auto& item : row.items)
      for (std::size_t k = 0; k < 4; ++k) sum[k] += item[k];
    for (std::size_t k = 0; k < 4; ++k) {
      ASSERT_NEAR(sum[k], row.jet[k], tolerance) << "component " << k << " of jet " << i;
      if (k > 0) {
        ASSERT_NEAR(row.jet[k], p / std::sqrt(3) / params.unit, 4 * kEpsilon * jet);
      }
    }
    ASSERT_EQ(row.count, static_cast<int>(row.items.size()));
  }
}

TEST(Ginkgo, BothFramesHoldTheSameJet) {
  Ginkgo::Params lab = few(), rest = few();
  lab.momentum_low = lab.momentum_high = 300;
  rest.momentum_low = rest.momentum_high = 300;
  rest.frame = Ginkgo::Frame::rest;
  const double jet = std::hypot(80, 300), along = 300 / std::sqrt(3);
  for (std::uint64_t i = 0; i < 200; ++i) {
    const Row moving = make_row(lab, i), still = make_row(rest, i);
    ASSERT_EQ(moving.items.size(), still.items.size());
    ASSERT_EQ(moving.truth.label, still.truth.label);
    ASSERT_EQ(moving.jet, still.jet);
    std::vector<Four> expected;
    for (const auto& item : still.items) {
      expected.push_back(Four(item).boosted({jet, along, along, along}, 80));
    }
    std::sort(expected.begin(), expected.end(),
              [](const Four& a, const Four& b) { return a.e > b.e; });
    for (std::size_t k = 0; k < expected.size(); ++k) {
      const Four actual(moving.items[k]);
      // Fewer than 20 roundings of numbers no larger than the jet's energy.
      ASSERT_NEAR(actual.e, expected[k].e, 20 * kEpsilon * jet);
      ASSERT_NEAR(actual.x, expected[k].x, 20 * kEpsilon * jet);
      ASSERT_NEAR(actual.y, expected[k].y, 20 * kEpsilon * jet);
      ASSERT_NEAR(actual.z, expected[k].z, 20 * kEpsilon * jet);
    }
  }
}

TEST(Ginkgo, KeepsTheHardestConstituentsInOrder) {
  for (const Ginkgo::Frame frame : {Ginkgo::Frame::lab, Ginkgo::Frame::rest}) {
    Ginkgo::Params all, some;
    all.frame = some.frame = frame;
    some.items = 12;
    int overflowing = 0;
    for (std::uint64_t i = 0; i < 500; ++i) {
      const Row whole = make_row(all, i), cut = make_row(some, i);
      for (std::size_t k = 1; k < whole.items.size(); ++k) {
        ASSERT_GE(whole.items[k - 1][0], whole.items[k][0]);
      }
      ASSERT_EQ(cut.items.size(), std::min<std::size_t>(12, whole.items.size()));
      ASSERT_EQ(cut.count, whole.count);
      ASSERT_TRUE(std::equal(cut.items.begin(), cut.items.end(), whole.items.begin()));
      ASSERT_EQ(cut.truth.latents[5], static_cast<float>(whole.items.size()));
      overflowing += cut.count > 12 ? 1 : 0;
    }
    EXPECT_GT(overflowing, 100);
    EXPECT_LT(overflowing, 490);
  }
}

// Replays the tree as the shower's tests do: from block 1, with the class's rate at the root. Those
// tests derive the tolerances per branching; the sum adds roundings of its own.
TEST(Ginkgo, LogDensitiesAreSumsOverTheTree) {
  const Ginkgo::Params params;
  for (std::uint64_t i = 0; i < 500; ++i) {
    const Row row = make_row(params, i);
    const auto& latents = row.truth.latents;
    const bool is_w = row.truth.label == 0;
    double log_density[2] = {0, 0}, tolerance = 0;
    bool edge = false;
    const ginkgo::ShowerCount count = test::shower(
        {17, i}, 1, 6400, 16, ginkgo::Rate::of(is_w ? 3 : 1.5), ginkgo::Rate::of(1.5),
        [&](const ginkgo::Branching& b, bool at_root) {
          const double t = b.parent.t, t1 = b.first.t, t2 = b.second.t, m = std::sqrt(t);
          for (int kind = 0; kind < 2; ++kind) {
            log_density[kind] += std::log(
                test::GinkgoReference::branching(at_root && kind == 0 ? 3 : 1.5, t, t1, t2));
          }
          tolerance += kEpsilon * (900 + 16 * (m / (m - std::sqrt(t1)) + m / (m - std::sqrt(t2))));
          edge |= std::abs(t1 / std::pow(m - std::sqrt(t2), 2) - 0.999) < 1e-5;
          if (at_root) {
            ASSERT_EQ(latents[3], b.a);
            ASSERT_EQ(latents[4], b.b);
          }
        },
        [](const ginkgo::Parton&) {});
    ASSERT_EQ(latents[5], static_cast<float>(count.finals));
    if (edge) continue;
    ASSERT_NEAR(latents[0], log_density[0], tolerance);
    ASSERT_NEAR(latents[1], log_density[1], tolerance);
    ASSERT_NEAR(latents[2], log_density[0] - log_density[1], 2e-4);
    ASSERT_LT(tolerance, 0.1);
  }
}

/// Area under the ROC curve of the tree ratio, from the distribution of (a, b). The ratio's range
/// is divided into 20,000 bins.
double tree_area(double w_rate, double qcd_rate) {
  constexpr int kSteps = 600, kBins = 20000;
  std::vector<double> weights[2] = {std::vector<double>(kBins), std::vector<double>(kBins)};
  const double cut = test::GinkgoReference::kCut;
  const auto log_ratio = [&](double t1, double t2) {
    return std::log(test::GinkgoReference::branching(w_rate, 1, t1, t2) /
                    test::GinkgoReference::branching(qcd_rate, 1, t1, t2));
  };
  const auto norm = [&](double rate) { return rate / -std::expm1(-rate * cut); };
  const double highest = 2 * std::log(norm(w_rate) / norm(qcd_rate)) + 0.01;
  const double lowest = highest - 2 * (w_rate - qcd_rate) - 0.02;
  for (int i = 0; i < kSteps; ++i) {
    for (int j = 0; j < kSteps; ++j) {
      const double a = cut * (i + 0.5) / kSteps, b = cut * (j + 0.5) / kSteps;
      const double t2 = b * std::pow(1 - std::sqrt(a), 2);
      const auto bin =
          static_cast<std::size_t>(kBins * (log_ratio(a, t2) - lowest) / (highest - lowest));
      weights[1].at(bin) += std::exp(-w_rate * (a + b));
      weights[0].at(bin) += std::exp(-qcd_rate * (a + b));
    }
  }
  double area = 0, below = 0, ones = 0;
  for (std::size_t k = 0; k < kBins; ++k) {
    area += weights[1][k] * (below + 0.5 * weights[0][k]);
    below += weights[0][k];
    ones += weights[1][k];
  }
  return area / (below * ones);
}

// p(tree | W) / p(tree | QCD) has mean 1 over QCD jets, and its inverse has mean 1 over W jets.
// With 20,000 jets, the area under the curve has a standard error below 0.5 / sqrt(10,000). A wrong
// ratio can only lower the area (J. Neyman, E. Pearson 1933).
TEST(Ginkgo, LogRatioIsTheOptimalScore) {
  for (const double w_root_rate : {3.0, 6.0}) {
    Ginkgo::Params params = few();
    params.w_root_rate = w_root_rate;
    std::vector<double> ratios[2];
    std::vector<std::pair<double, int>> scores;
    for (std::uint64_t i = 0; i < 20000; ++i) {
      const Row row = make_row(params, i);
      const double log_ratio = row.truth.latents[2];
      ratios[row.truth.label].push_back(std::exp(row.truth.label == 0 ? -log_ratio : log_ratio));
      scores.emplace_back(log_ratio, row.truth.label == 0 ? 1 : 0);
    }
    for (const auto& ratio : ratios) {
      const test::Moments m = test::moments(ratio);
      EXPECT_GT(test::normal_p((m.mean - 1) / std::sqrt(m.variance / static_cast<double>(m.count))),
                test::kGate);
    }
    const double area = tree_area(w_root_rate, 1.5);
    EXPECT_NEAR(test::area_under_curve(scores), area, 5 * 0.5 / std::sqrt(10000.));
    EXPECT_NEAR(area, w_root_rate == 3.0 ? 0.649 : 0.83, 0.01);
  }
}

/// All constituents of a jet, with azimuths relative to the jet.
test::Jet cloud_of(const Row& row) {
  test::Jet jet;
  for (const auto& item : row.items)
    jet.push_back(test::place_of(item[1], item[2], item[3], 0.25 * std::acos(-1.0)));
  return jet;
}

// The reference uses the set's momenta in double precision (see the tests of jet_views.h for
// tolerances). Mass and transverse momentum are the jet's own, because rounding in the lab frame
// would add an error of (E / m)^2 = 26 times 2^-24 per constituent.
TEST(Ginkgo, ImagesAndFeaturesDescribeTheSet) {
  Ginkgo::Params set, image, features;
  set.items = 128;
  image.output = jets::Output::image;
  features.output = jets::Output::features;
  features.unit = 10;
  const jets::Picture picture{33, 0.1f, jets::Norm::sum, 1};
  int drawn = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const Row row = make_row(set, i), numbers = make_row(features, i), shown = make_row(image, i);
    ASSERT_EQ(numbers.truth.label, row.truth.label);
    ASSERT_EQ(shown.truth.latents[2], row.truth.latents[2]);
    const test::Jet jet = cloud_of(row);
    const auto expected = test::numbers_of(jet);
    ASSERT_EQ(numbers.values.size(), std::size_t{jets::kNumbers});
    ASSERT_EQ(numbers.values[jets::kMultiplicity], static_cast<float>(row.items.size()));
    ASSERT_NEAR(numbers.values[jets::kPt], 400 * std::sqrt(2. / 3) / 10, 1e-4);
    ASSERT_NEAR(numbers.values[jets::kMass], 8, 8 * 26 * kEpsilon * (row.count + 4));
    for (std::size_t f = jets::kWidth; f < jets::kNumbers && row.items.size() > 3; ++f)
      ASSERT_NEAR(numbers.values[f], expected[f], 1e-3 * expected[f] + 1e-5) << f;
    const test::JetImage pixels = test::image_of(jet, picture);
    if (pixels.margin < 1e-3) continue;
    ++drawn;
    ASSERT_EQ(shown.values.size(), pixels.pixels.size());
    for (std::size_t k = 0; k < pixels.pixels.size(); ++k)
      ASSERT_NEAR(shown.values[k], pixels.pixels[k], 2e-5);
    ASSERT_NEAR(shown.truth.latents[7], pixels.outside, 1e-5);
  }
  EXPECT_GT(drawn, 900);
}

TEST(Ginkgo, HasImageEventAndSetOutputs) {
  const auto made = [](const std::string& output) {
    return make_generator("ginkgo", 1, {{"output", output, {}}});
  };
  const auto small = make_generator("ginkgo", 1, {{"output", "image"}, {"pixels", "25"}});
  EXPECT_EQ(small->layout().kind, SampleKind::image);
  EXPECT_EQ(small->layout().shape(), (SampleShape{25, 25, 1}));
  EXPECT_EQ(made("image")->info().latents.back().name, "outside");
  EXPECT_TRUE(made("image")->info().features.empty());
  EXPECT_EQ(made("features")->layout().features, 16);
  EXPECT_EQ(made("features")->info().features.size(), 16u);
  EXPECT_EQ(made("features")->layout().globals, 0);
  EXPECT_EQ(made("constituents")->layout().kind, SampleKind::set);
  EXPECT_EQ(made("constituents")->layout().latents, 7);
}

TEST(Ginkgo, CountsOverflow) {
  const auto generator = make_generator(
      "ginkgo", 1, {{"items", "8", {}}, {"t_cut", "100", {}}, {"frame", "rest", {}}});
  SampleMaker maker(*generator, {Device::cpu(), 256, 0});
  std::uint64_t jets = 0, samples = 0, items = 0;
  maker.make({3, 0, 2000}, [&](const HostSamples& made) {
    const auto width = static_cast<std::size_t>(generator->layout().latents);
    for (std::size_t i = 0; i < made.label().size(); ++i, ++jets) {
      const auto all = static_cast<std::uint64_t>(made.latents()[i * width + 5]);
      ASSERT_EQ(made.items()[i], static_cast<std::int32_t>(std::min<std::uint64_t>(8, all)));
      for (auto k = static_cast<std::size_t>(made.items()[i]) * 4; k < 32; ++k) {
        ASSERT_EQ(made.x()[i * 32 + k], 0) << "must be 0 after the last constituent";
      }
      samples += all > 8 ? 1 : 0;
      items += all > 8 ? all - 8 : 0;
    }
  });
  EXPECT_EQ(jets, 2000u);
  EXPECT_GT(samples, 0u);
  EXPECT_EQ(maker.overflow().samples, samples);
  EXPECT_EQ(maker.overflow().items, items);
}

TEST(Ginkgo, RefusesItemsUnlessTheOutputIsASet) {
  for (const std::string output : {"image", "features"}) {
    test::expect_parts(
        test::message_of(ErrorKind::config,
                         [&] {
                           make_generator("ginkgo", 1, {{"items", "12"}, {"output", output}});
                         }),
        {"items = 12 has no effect in ginkgo", "output: constituents"});
  }
}

TEST(Ginkgo, RefusesImpossibleParameters) {
  const auto refused = [](auto change) {
    Ginkgo::Params params;
    change(params);
    return test::message_of(ErrorKind::config, [&] { Ginkgo{params}; });
  };
  test::expect_parts(refused([](auto& p) { p.t_cut = 0.1; }), {"w_mass", "64000", "8192"});
  test::expect_parts(refused([](auto& p) { p.qcd_mass = 4; }), {"qcd_mass", "not branch"});
  test::expect_parts(refused([](auto& p) { p.momentum_low = 500; }),
                     {"momentum_low = 500 is larger"});
  for (const auto output : {jets::Output::image, jets::Output::features}) {
    test::expect_parts(refused([&](auto& p) {
                         p.output = output;
                         p.frame = Ginkgo::Frame::rest;
                       }),
                       {"output=image and output=features", "frame=lab"});
    test::expect_parts(refused([&](auto& p) {
                         p.output = output;
                         p.momentum_low = 0;
                       }),
                       {"momentum_low > 0"});
  }
}

}  // namespace
}  // namespace wellspring
