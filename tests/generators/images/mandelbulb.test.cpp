#include "generators/images/mandelbulb.h"

#include "tests/generators/collect.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <vector>

namespace wellspring::test {
namespace {

using mandelbulb::Bulb;
using mandelbulb::Formula;
using mandelbulb::Points;

Bulb bulb_of(int power, int rule, int power2, int rule2, int iterations) {
  return {{Formula::of(power, rule), Formula::of(power2, rule2)}, false, iterations, 1};
}

// Each coordinate of a power is at most r^n, so the norm is at most sqrt(3) r^n. With rho^(n-1) =
// 1 / (n sqrt 3), a point of radius rho (1 - 1/n) maps to a norm of at most rho (1 / n + 1 - 1 /
// n), so orbits stay within rho < 1.
TEST(Mandelbulb, ContainsItsCentre) {
  RngStream numbers({5, 0}, Purpose::scene);
  for (int i = 0; i < 1000; ++i) {
    const int power = 2 + static_cast<int>(numbers.integer(17));
    const int rule = static_cast<int>(numbers.integer(512));
    const float within = std::pow(1 / (power * 1.7320508f), 1.f / (power - 1)) * (1 - 1.f / power);
    const float z = numbers.uniform(-1, 1), across = std::sqrt(1 - z * z), turn = numbers.uniform();
    const float r = 0.999f * within * numbers.uniform();
    const Points<1> at = {
        {r * across * math::cos_turns(turn)}, {r * across * math::sin_turns(turn)}, {r * z}};
    float distance[1];
    mandelbulb::estimate(bulb_of(power, rule, power, rule, 100), at, distance);
    ASSERT_LE(distance[0], 0) << power << ' ' << rule << ' ' << r;
  }
  const Points<1> origin = {{0}, {0}, {0}};
  float distance[1];
  mandelbulb::estimate(bulb_of(2, 107, 2, 107, 100), origin, distance);
  EXPECT_LE(distance[0], 0);
}

/// Row `y` of a sample, computed in runs of N pixels.
template <int N>
std::vector<float> row_of(const Mandelbulb& image, const Mandelbulb::Scene& scene, int size,
                          int y) {
  std::vector<float> row;
  for (int x = 0; x < size; x += N) {
    PixelRun<N> run;
    run.footprint = 1;
    for (int i = 0; i < N; ++i) {
      run.x[i] = static_cast<float>(x + i) + 0.5f;
      run.y[i] = static_cast<float>(y) + 0.5f;
    }
    ColourRun<N> colour;
    image.shade(scene, run, colour);
    for (int i = 0; i < N; ++i) row.insert(row.end(), {colour.r[i], colour.g[i], colour.b[i]});
  }
  return row;
}

// A device computes one pixel per thread; a host computes 32 at once.
TEST(Mandelbulb, PixelsAreIndependentOfTheirRun) {
  constexpr int kSize = 32;
  Mandelbulb::Params params;
  params.iterations = 6;
  for (std::uint64_t id = 0; id < 6; ++id) {
    params.rays = id == 0 ? 2 : 1;
    const Mandelbulb image(params);
    Truth<Mandelbulb::kLatents> truth;
    const auto scene = image.draw({{6, id}, {}, {kSize, kSize, 3}}, truth);
    for (int y = 3; y < kSize; y += 6) {
      const auto one = row_of<1>(image, scene, kSize, y), many = row_of<32>(image, scene, kSize, y);
      ASSERT_EQ(std::memcmp(one.data(), many.data(), one.size() * sizeof(float)), 0) << id;
    }
  }
}

TEST(Mandelbulb, NamesClassesAfterPowersAndRules) {
  const auto classes_of = [](const std::vector<ParamSetting>& settings) {
    return make_generator("mandelbulb", 16, settings)->info().classes;
  };
  const auto all = classes_of({});
  EXPECT_EQ(all.size(), 1037u);
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), 1037u);
  EXPECT_EQ(all.front(), "power2-rule107");
  EXPECT_EQ(all[61 * 6 + 20], "power8-rule42");
  EXPECT_EQ(all.back(), "power18-rule297");
  const auto pairs = classes_of({{"preset", "mandelbulbvar-hybrid", {}}});
  EXPECT_EQ(pairs.size(), 21296u);
  EXPECT_EQ(std::set<std::string>(pairs.begin(), pairs.end()).size(), 21296u);
  EXPECT_EQ(pairs[((3 * 44 + 1) * 11 + 2) * 4 + 3], "power5-rule106_power4-rule434");
  EXPECT_EQ(pairs[((3 * 44 + 43) * 11 + 2) * 4], "power5-rule418_power4-rule32");
  EXPECT_EQ(classes_of({{"form", "classic", {}}}).size(), 17u);
}

// The ray through the image's centre hits the origin. Beyond radius 2^(1/7), an orbit of the
// classic form escapes: |z|^8 - |c| > |c|.
TEST(Mandelbulb, RendersSolidsWithinTheirBounds) {
  constexpr int kSize = 33, kMiddle = kSize / 2;
  const std::vector<ParamSetting> black = {
      {"palette", "depth", {}}, {"steps", "300", {}}, {"pace", "0.5", {}}};
  const auto shallow = make_generator("mandelbulb", kSize, black);
  const auto samples = test::collect(*shallow, {8, 0, 40});
  for (std::size_t i = 0; i < samples.count(); ++i) {
    ASSERT_GE(samples.image(i)[3 * (kMiddle * kSize + kMiddle)], 0.25f) << i;
  }
  auto settings = black;
  settings.push_back({"preset", "mandelbulb-8", {}});
  const auto classic = make_generator("mandelbulb", kSize, settings);
  const auto bulbs = test::collect(*classic, {9, 0, 4});
  for (std::size_t i = 0; i < bulbs.count(); ++i) {
    double nearest = 0;
    for (int y = 0; y < kSize; ++y) {
      for (int x = 0; x < kSize; ++x) {
        const float depth = bulbs.image(i)[3 * (y * kSize + x)];
        const double away = std::hypot(x - kMiddle, y - kMiddle) / kSize;
        const double passes = 2.5 * away / std::hypot(1, away);  // distance from the origin
        // A ray stops within 0.3 of a pixel of the solid, which is less than 0.03.
        if (passes > std::pow(2, 1.0 / 7) + 0.03) {
          ASSERT_EQ(depth, 0) << x << ' ' << y;
        }
        // rho (1 - 1/8) with rho^7 = 1/8 is 0.65. See ContainsItsCentre; here the norm is at most
        // r^8.
        if (passes < 0.6) {
          ASSERT_GE(depth, 0.25f) << x << ' ' << y;
        }
        nearest = std::max(nearest, static_cast<double>(depth));
      }
    }
    // Value 1 is at distance 1 from the camera and 1.5 from the origin; value 1/4 is at distance 4.
    EXPECT_LE(nearest, 1 - 0.25 * (1.5 - std::pow(2, 1.0 / 7) - 0.03));
  }
}

TEST(Mandelbulb, ShadowsOnlyDarken) {
  std::size_t darker = 0;
  const auto lit =
      make_generator("mandelbulb", 24, {{"shadow", "off", {}}, {"iterations", "5", {}}});
  const auto both =
      make_generator("mandelbulb", 24, {{"shadow", "on", {}}, {"iterations", "5", {}}});
  const auto one = test::collect(*lit, {10, 0, 24}), two = test::collect(*both, {10, 0, 24});
  for (std::size_t i = 0; i < one.x.size(); ++i) {
    ASSERT_LE(two.x[i], one.x[i]);
    darker += two.x[i] < one.x[i] ? 1 : 0;
  }
  EXPECT_GT(darker, one.x.size() / 50);
}

TEST(Mandelbulb, RefusesImpossibleParameters) {
  const auto refused = [](const std::vector<ParamSetting>& settings) {
    return message_of(ErrorKind::config, [&] { make_generator("mandelbulb", 16, settings); });
  };
  expect_parts(refused({{"power_low", "9", {}}, {"power_high", "5", {}}}),
               {"power_low = 9", "power_high = 5", "power_low: 5 or less"});
  expect_parts(refused({{"form", "classic", {}}, {"second_rules", "2", {}}}),
               {"second_rules = 2", "no rules", "second_rules: 0"});
}

}  // namespace
}  // namespace wellspring::test
