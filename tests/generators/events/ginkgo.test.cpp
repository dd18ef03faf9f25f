#include "generators/events/ginkgo.h"

#include "export/samples.h"
#include "generators/generator.h"
#include "tests/generators/events/jet_row.h"
#include "tests/support/error_testing.h"
#include "tests/support/one_event.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
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
// tests) by at most (E + p) / m. Each constituent adds fewer than 20 rounding errors of its energy.
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
      // Fewer than 20 rounding errors of numbers up to the jet's energy.
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
