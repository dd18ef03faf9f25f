// Distributions of the labels and latents of every registered generator.
#include "generators/generator.h"
#include "tests/generators/collect.h"
#include "tests/generators/golden.h"
#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace wellspring {
namespace {

/// Images of one pixel: these tests read only labels and latents.
std::unique_ptr<Generator> make_small(const std::string& name) {
  return make_generator(name, 1, test::read_golden(name).quick);
}

class EveryGeneratorsLaws : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Registry, EveryGeneratorsLaws,
                         ::testing::ValuesIn(test::generator_names()),
                         [](const auto& test) { return test.param; });

TEST_P(EveryGeneratorsLaws, LatentsFillTheirRanges) {
  // A range is wrong if samples never come close to its ends. If 4096 latents are uniform, the
  // probability that all of them miss a given end by more than 1 % is 1e-18.
  const auto generator = make_small(GetParam());
  const SampleInfo& info = generator->info();
  const auto samples = test::collect(*generator, {1, 0, 4096});
  for (std::size_t l = 0; l < info.latents.size(); ++l) {
    const LatentInfo& latent = info.latents[l];
    if (latent.ends == LatentEnds::rare) continue;
    float low = samples.latent(0, l), high = low;
    for (std::size_t i = 0; i < samples.count(); ++i) {
      low = std::min(low, samples.latent(i, l));
      high = std::max(high, samples.latent(i, l));
    }
    const float slack = 0.01f * (latent.high - latent.low);
    EXPECT_LE(low, latent.low + slack) << latent.name;
    EXPECT_GE(high, latent.high - slack) << latent.name;
  }
}

// Configurations use these ranges to refuse targets that never vary.
TEST(Latents, HaveASingleValueRangeIfParametersFixThem) {
  const auto range = [](const char* generator, std::vector<ParamSetting> settings,
                        const char* name) {
    const auto made = make_generator(generator, 32, settings);
    const auto& latents = made->info().latents;
    const auto found = std::ranges::find(latents, name, &LatentInfo::name);
    return std::pair(found->low, found->high);
  };
  using Range = std::pair<float, float>;
  EXPECT_EQ(range("noise", {{"mean", "0.4", {}}}, "mean"), Range(0.4f, 0.4f));
  EXPECT_EQ(range("noise", {}, "sigma"), Range(0.25f, 0.25f));
  EXPECT_EQ(range("shapes", {{"texture", "stripes", {}}}, "texture"), Range(2, 2));
  EXPECT_EQ(range("shapes", {{"texture", "any", {}}}, "texture"), Range(0, 3));
  EXPECT_EQ(range("ode", {{"preset", "figure_eight", {}}}, "mass1"), Range(1, 1));
  EXPECT_EQ(range("ifs", {}, "variation"), Range(0, 24));
  EXPECT_EQ(range("ifs", {{"mode", "svd", {}}, {"jitters", "10", {}}}, "variation"), Range(0, 10));
  EXPECT_EQ(range("ifs", {{"mode", "one_parameter", {}}}, "variation"), Range(0, 0));
}

TEST_P(EveryGeneratorsLaws, LabelsAreBalancedAndNeighboursIndependent) {
  const auto generator = make_small(GetParam());
  const std::size_t classes = generator->info().classes.size();
  const auto label = test::collect(*generator, {12, 0, 20000}).label;
  std::vector<double> counts(classes), pairs(classes * classes);
  for (const auto k : label) counts[static_cast<std::size_t>(k)] += 1;
  for (std::size_t i = 0; i + 1 < label.size(); i += 2) {
    pairs[static_cast<std::size_t>(label[i]) * classes + static_cast<std::size_t>(label[i + 1])] +=
        1;
  }
  EXPECT_GT(test::uniform_chi_square_p(counts), test::kGate);
  EXPECT_GT(test::uniform_chi_square_p(pairs), test::kGate);
}

}  // namespace
}  // namespace wellspring
