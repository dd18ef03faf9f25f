// Decays of the particles that `rambo` produces.
#include "generators/events/decay_chain.h"

#include "core/text/text.h"
#include "generators/generator.h"
#include "tests/generators/collect.h"
#include "tests/support/error_testing.h"
#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace wellspring {
namespace {

struct Four {
  double e = 0, x = 0, y = 0, z = 0;
  Four operator+(const Four& o) const { return {e + o.e, x + o.x, y + o.y, z + o.z}; }
  double dot(const Four& o) const { return e * o.e - x * o.x - y * o.y - z * o.z; }
  double square() const { return dot(*this); }
  double mass() const { return std::sqrt(std::max(0.0, square())); }
  double momentum() const { return std::sqrt(x * x + y * y + z * z); }
};

struct Events {
  std::vector<std::vector<Four>> finals;
  std::vector<float> weight, log_weight;
};

Events make(const std::vector<ParamSetting>& settings, std::uint64_t count) {
  const auto generator = make_generator("rambo", 1, settings);
  const auto samples = test::collect(*generator, {13, 0, count});
  Events events;
  for (std::size_t row = 0; row < samples.count(); ++row) {
    std::vector<Four> finals;
    for (std::size_t i = 0; i < samples.elements; i += 4) {
      const float* const p = samples.image(row) + i;
      if (p[0] == 0) break;  // after the last item
      finals.push_back({p[0], p[1], p[2], p[3]});
    }
    events.finals.push_back(finals);
    events.weight.push_back(samples.weight[row]);
    events.log_weight.push_back(samples.latent(row, 2));
  }
  return events;
}

/// `part` in the rest frame of `frame`.
Four at_rest(const Four& part, const Four& frame) {
  const double m = frame.mass(), e = part.dot(frame) / m, k = (part.e + e) / (frame.e + m);
  return {e, part.x - k * frame.x, part.y - k * frame.y, part.z - k * frame.z};
}

// Energies are f32 with relative errors of 2^-24. The relative error of a mass is E / m times as
// large.
TEST(DecayChain, ConservesMassesAndMomenta) {
  const Events top = make({{"preset", "top_pair_decays", {}}}, 2000);
  constexpr double kRounding = 250 * 0x1p-22;
  for (const auto& event : top.finals) {
    ASSERT_EQ(event.size(), 6u);
    Four sum;
    for (std::size_t body = 0; body < 2; ++body) {
      const Four b = event[3 * body], w = event[3 * body + 1] + event[3 * body + 2];
      ASSERT_NEAR(b.mass(), 4.78, kRounding * 250 / 4.78);
      ASSERT_NEAR(event[3 * body + 1].square(), 0, kRounding * 250);
      ASSERT_NEAR(w.mass(), 80.377, kRounding * 250 / 80);
      ASSERT_NEAR((b + w).mass(), 172.5, kRounding * 250 / 172);
      sum = sum + b + w;
    }
    ASSERT_NEAR(sum.e, 500, 6 * kRounding);
    for (const double p : {sum.x, sum.y, sum.z}) ASSERT_NEAR(p, 0, 6 * kRounding);
  }
}

// Decays have no preferred direction, neither along the flight nor along the axes. Eight tests at a
// significance of 10^-6.
TEST(DecayChain, DecaysIsotropicallyAtRest) {
  const Events top = make({{"preset", "top_pair_decays", {}}}, 20000);
  std::array<std::vector<double>, 8> cosines;
  for (const auto& event : top.finals) {
    const Four b = event[3], w = event[4] + event[5], mother = b + w;
    const Four in_top = at_rest(b, mother), in_w = at_rest(event[4], w);
    const auto along = [](const Four& a, const Four& flight) {
      return (a.x * flight.x + a.y * flight.y + a.z * flight.z) /
             (a.momentum() * flight.momentum());
    };
    cosines[0].push_back(along(in_top, mother));
    cosines[1].push_back(along(in_w, w));
    const Four spin = at_rest(w, mother);
    cosines[2].push_back(along(in_w, spin));
    for (std::size_t k = 0; k < 2; ++k) {
      const Four& p = k == 0 ? in_top : in_w;
      cosines[3 + 2 * k].push_back(p.z / p.momentum());
      cosines[4 + 2 * k].push_back(p.x / p.momentum());
    }
    cosines[7].push_back(at_rest(event[0], event[0] + event[1] + event[2]).y /
                         at_rest(event[0], event[0] + event[1] + event[2]).momentum());
  }
  for (const auto& c : cosines)
    EXPECT_GT(test::kolmogorov_p(c, [](double x) { return std::clamp(0.5 * (1 + x), 0.0, 1.0); }),
              test::kGate);
}

double momentum(double m, double m1, double m2) {
  const double near = (m * m - (m1 + m2) * (m1 + m2)) * (m * m - (m1 - m2) * (m1 - m2));
  return std::sqrt(std::max(0.0, near)) / (2 * m);
}

/// Cumulative distribution of the mass of the pair (b, c) in M -> a b c: the integral of p_a p_bc,
/// by the midpoint rule with 4000 points.
std::function<double(double)> pair_law(double m, double a, double b, double c) {
  constexpr std::size_t kSteps = 4000;
  const double low = b + c, range = m - a - low;
  std::vector<double> sums(kSteps + 1);
  for (std::size_t i = 0; i < kSteps; ++i) {
    const double pair = low + range * (static_cast<double>(i) + 0.5) / kSteps;
    sums[i + 1] = sums[i] + momentum(m, a, pair) * momentum(pair, b, c);
  }
  return [=](double pair) {
    const double at = std::clamp((pair - low) / range, 0.0, 1.0) * kSteps;
    const auto i = std::min(static_cast<std::size_t>(at), kSteps - 1);
    return std::lerp(sums[i], sums[i + 1], at - static_cast<double>(i)) / sums[kSteps];
  };
}

// The mass of each pair follows three-body phase space, regardless of which of the three bodies is
// drawn first.
TEST(DecayChain, FillsThreeBodyPhaseSpace) {
  const std::vector<std::vector<double>> laws = {
      {1.77686, 0.105658, 0, 0}, {1.86966, 0.493677, 0.13957, 0.13957}, {100, 60, 20, 1}};
  for (const auto& law : laws) {
    const std::string mother = shortest(law[0]);
    const Events events = make({{"bodies_low", "2", {}},
                                {"bodies_high", "2", {}},
                                {"energy_low", "300", {}},
                                {"energy_high", "300", {}},
                                {"masses", "[" + mother + "]", {}},
                                {"decays",
                                 "[" + mother + " -> " + shortest(law[1]) + " + " +
                                     shortest(law[2]) + " + " + shortest(law[3]) + "]",
                                 {}}},
                               8000);
    for (std::size_t k = 0; k < 3; ++k) {
      std::vector<double> pairs, cosines;
      for (const auto& event : events.finals) {
        ASSERT_EQ(event.size(), 4u);
        // Computed from energies in the mother's rest frame, because differences of large numbers
        // would lose precision.
        const Four whole = event[0] + event[1] + event[2];
        const Four third = at_rest(event[k], whole);
        pairs.push_back(std::sqrt(
            std::max(0.0, law[0] * law[0] + law[1 + k] * law[1 + k] - 2 * law[0] * third.e)));
        cosines.push_back(third.z / third.momentum());
      }
      EXPECT_GT(test::kolmogorov_p(pairs, pair_law(law[0], law[1 + k], law[1 + (k + 1) % 3],
                                                   law[1 + (k + 2) % 3])),
                test::kGate)
          << mother << ", pair " << k;
      EXPECT_GT(
          test::kolmogorov_p(cosines, [](double x) { return std::clamp(0.5 * (1 + x), 0.0, 1.0); }),
          test::kGate);
    }
  }
}

// Weights depend on the production alone, and the bodies before they decay are the same as without
// decays.
TEST(DecayChain, LeavesProductionUnchanged) {
  for (const std::string weights : {"keep", "unweight"}) {
    const std::vector<ParamSetting> own = {{"bodies_low", "2", {}},
                                           {"bodies_high", "4", {}},
                                           {"masses", "[172.5, 80, 172.5]", {}},
                                           {"weights", weights, {}}};
    std::vector<ParamSetting> decaying = own;
    decaying.push_back({"decays", "[172.5 -> 10 + 80 + 5, 80 -> 20 + 30, 30 -> 0 + 0]", {}});
    const Events bare = make(own, 500), events = make(decaying, 500);
    EXPECT_EQ(events.weight, bare.weight);
    EXPECT_EQ(events.log_weight, bare.log_weight);
    for (std::size_t row = 0; row < 500; ++row) {
      // 172.5 decays to 10, (20, (0, 0)), 5; 80 decays to 20, (0, 0).
      const std::array<std::size_t, 4> products = {5, 3, 5, 1};
      std::size_t at = 0;
      for (std::size_t body = 0; body < bare.finals[row].size(); ++body) {
        Four sum;
        for (std::size_t k = 0; k < products[body]; ++k) sum = sum + events.finals[row].at(at + k);
        at += products[body];
        const Four& whole = bare.finals[row][body];
        for (const double apart :
             {sum.e - whole.e, sum.x - whole.x, sum.y - whole.y, sum.z - whole.z})
          ASSERT_NEAR(apart, 0, 500 * 0x1p-22);
      }
      ASSERT_EQ(at, events.finals[row].size());
    }
  }
}

TEST(DecayChain, RefusesImpossibleDecays) {
  const auto refused = [](const std::string& decays) {
    return test::message_of(ErrorKind::config, [&] {
      make_generator("rambo", 1, {{"masses", "[50, 50, 50, 50]", {}}, {"decays", decays, {}}});
    });
  };
  test::expect_parts(refused("[50: 1 + 2]"), {"rambo: decay", "it has no '->'", "172.5 -> 80.377"});
  test::expect_parts(refused("[x -> 1 + 2]"), {"before ->", "172.5"});
  test::expect_parts(refused("[50 -> 1 + two]"), {"a product is not a mass"});
  test::expect_parts(refused("[50 -> 1 + -2]"), {"a product is not a mass"});
  test::expect_parts(refused("[50 -> 1]"), {"it has 1 product)"});
  test::expect_parts(refused("[50 -> 1 + 1 + 1 + 1]"), {"4 products"});
  test::expect_parts(refused("[50 -> 25 + 25]"), {"50 GeV in total", "lower the products' masses"});
  test::expect_parts(refused("[50 -> 25 + 24.996]"), {"49.996 GeV in total"});
  EXPECT_NO_THROW(make_generator(
      "rambo", 1, {{"masses", "[50, 50]", {}}, {"decays", "[50 -> 25.1 + 24.895]", {}}}));
  test::expect_parts(refused("[50 -> 1 + 2, 50 -> 3 + 4]"), {"already has a decay"});
  test::expect_parts(refused("[40 -> 1 + 2]"), {"no particle has the mass 40"});
  test::expect_parts(refused("[50 -> 12 + 12 + 11, 12 -> 2 + 2 + 2]"), {"end in 28 particles"});
  test::expect_parts(refused("[50 -> 16 + 16 + 16, 16 -> 5 + 5 + 5, 5 -> 1 + 1 + 1]"),
                     {"too many particles"});
}

}  // namespace
}  // namespace wellspring
