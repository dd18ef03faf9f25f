// Samples at latents given by the caller.
#include "generators/given_latents.h"

#include "core/error.h"
#include "tests/generators/collect.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

namespace wellspring::test {
namespace {

/// One line per generator and mode whose latents can be set.
struct Settable {
  const char* generator;
  std::vector<ParamSetting> settings;
};

std::vector<Settable> settable() {
  std::vector<Settable> all = {{"gaussian_linear", {}}};
  for (const char* task :
       {"gaussian_linear", "gaussian_linear_uniform", "gaussian_mixture", "two_moons", "slcp",
        "slcp_distractors", "bernoulli_glm", "bernoulli_glm_raw", "sir", "lotka_volterra"})
    all.push_back({"sbi", {{"task", task, {}}}});
  for (const char* system : {"lorenz", "double_pendulum", "lotka_volterra", "sir", "three_bodies"})
    all.push_back({"ode", {{"system", system, {}}, {"points", "4", {}}, {"noise", "0.1", {}}}});
  return all;
}

// 37 rows in batches of 20: full runs of 16 lanes and single events.
TEST(GivenLatents, GiveTheDrawnSamplesIfTheyAreTheDrawnLatents) {
  for (const Settable& one : settable()) {
    SCOPED_TRACE(std::string(one.generator) +
                 (one.settings.empty() ? "" : " " + one.settings[0].value));
    const auto generator = make_generator(one.generator, 1, one.settings);
    const SampleInfo& info = generator->info();
    ASSERT_GT(info.settable_latents, 0);
    const SampleMaking making{Device::cpu(), 20, 1};
    const Samples drawn = collect(*generator, {3, 10, 37}, making);
    SampleRange range{3, 10, 37};
    range.latents = given_latents(info, drawn.latents, info.layout.latents, "test");
    for (std::size_t i = 0; i < range.latents.size();
         ++i)  // the values of the other latents have no effect
      if (static_cast<int>(i) % info.layout.latents >= info.settable_latents)
        range.latents[i] = NAN;
    const Samples given = collect(*generator, range, making);
    EXPECT_EQ(given.x, drawn.x);
    EXPECT_EQ(given.latents, drawn.latents);

    // Samples with other ids differ, although the latents are the same: noise is still drawn.
    range.first = 100;
    const Samples others = collect(*generator, range, making);
    EXPECT_EQ(others.latents, drawn.latents);
    EXPECT_NE(others.x, drawn.x);

    // Conversely, the latents have an effect.
    const std::vector<float> first(range.latents.begin(),
                                   range.latents.begin() + info.layout.latents);
    for (std::size_t i = 0; i < range.latents.size(); ++i)
      range.latents[i] = first[i % first.size()];
    range.first = 10;
    const Samples same = collect(*generator, range, making);
    EXPECT_EQ(same.latent(36, 0), first[0]);
    EXPECT_NE(same.x, drawn.x);
  }
}

TEST(GivenLatents, NeedOnlySettableLatents) {
  const auto generator = make_generator("gaussian_linear", 1);
  const std::vector<float> column =
      given_latents(generator->info(), std::vector<float>{1, 2, 3, 4, -1, -2, -3, -4}, 4, "test");
  EXPECT_EQ(column, (std::vector<float>{1, 2, 3, 4, 0, 0, 0, 0, -1, -2, -3, -4, 0, 0, 0, 0}));
  const Samples made = collect(*generator, {0, 0, 2, column});
  EXPECT_EQ(made.latent(1, 7), 16);
}

void expect_refused(const Generator& generator, const std::vector<float>& values,
                    std::int64_t width, const std::string& part) {
  try {
    given_latents(generator.info(), values, width, "theta.npz");
    FAIL() << "not refused: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(GivenLatents, RefusesValuesOutOfRangeWithRowAndColumn) {
  const auto generator = make_generator("sbi", 1, {{"task", "two_moons", {}}});
  expect_refused(*generator, {0, 0, 0.5f, 1.5f}, 2,
                 "theta.npz: row 1, column 1 (theta1) is 1.5 (allowed are -1 to 1)");
  expect_refused(*generator, {0, NAN}, 2, "row 0, column 1 (theta1) is nan");
  expect_refused(*generator, {0, 0, 0}, 3, "theta.npz: 3 values per sample");
}

TEST(GivenLatents, ReachesBeyondTheDrawnRangeOfUnboundedLaws) {
  const auto normal = make_generator("gaussian_linear", 1);
  EXPECT_EQ(given_latents(normal->info(), std::vector<float>{0, 0, 0, 50}, 4, "test")[3], 50);
  expect_refused(*normal, {0, 0, 0, INFINITY}, 4, "row 0, column 3 (theta3) is inf");
  const auto log_normal = make_generator("sbi", 1, {{"task", "sir", {}}});
  given_latents(log_normal->info(), std::vector<float>{100, 100}, 2, "test");
  expect_refused(*log_normal, {0.4f, -1}, 2, "row 0, column 1 (theta1) is -1");
}

TEST(GivenLatents, RefusesGeneratorsThatCannot) {
  for (const GeneratorEntry& entry : generator_registry()) {
    const auto generator = entry.make({}, 16);
    if (generator->info().settable_latents > 0) continue;
    expect_refused(*generator, {0}, 1, entry.name + " cannot make samples at given latents");
  }
  expect_refused(*make_generator("ode", 1, {{"system", "n_body", {}}}), {0}, 1, "ode cannot");
}

}  // namespace
}  // namespace wellspring::test
