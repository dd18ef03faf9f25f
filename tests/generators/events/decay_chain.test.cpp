// Decays of the particles that `rambo` produces.
#include "generators/events/decay_chain.h"

#include "core/text/text.h"
#include "generators/generator.h"
#include "tests/generators/collect.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
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

// Weights depend only on the production, and the bodies, before they decay, are the same as without
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
      // In the end, a mass of 172.5 has decayed to 10, 20, 0, 0, 5, and a mass of 80 to 20, 0, 0.
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
