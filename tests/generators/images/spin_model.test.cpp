// Common behaviour of the spin lattice generators: temperatures, classes and refused settings.
#include "generators/images/spin_model.h"

#include "generators/generator.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/memory_plan.h"
#include "tests/generators/collect.h"
#include "tests/support/error_testing.h"
#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

namespace wellspring {
namespace {

struct SpinGenerator {
  std::string name;
  double critical;                      ///< critical temperature to four decimals
  std::vector<ParamSetting> more = {};  ///< settings in addition to the temperatures
};
void PrintTo(const SpinGenerator& generator, std::ostream* out) {
  *out << generator.name;
}

class SpinModel : public testing::TestWithParam<SpinGenerator> {
 protected:
  static std::string refused(const std::vector<ParamSetting>& settings) {
    return test::message_of(ErrorKind::config,
                            [&] { make_generator(GetParam().name, 16, settings); });
  }
};

TEST_P(SpinModel, FillsTheTemperatureBins) {
  std::vector<ParamSetting> settings = {
      {"label", "temperature"}, {"bins", "5"}, {"t_low", "1"}, {"t_high", "2"}, {"rounds", "1"}};
  settings.insert(settings.end(), GetParam().more.begin(), GetParam().more.end());
  const auto generator = make_generator(GetParam().name, 4, settings);
  EXPECT_EQ(generator->info().classes.size(), 5u);
  const auto samples = test::collect(*generator, {4, 0, 2000});
  std::vector<double> temperatures;
  for (std::size_t row = 0; row < samples.count(); ++row) {
    const double t = samples.latent(row, 0);
    temperatures.push_back(t);
    // The edges of bins are rounded to floats.
    EXPECT_NEAR(samples.label[row] + 0.5, 5 * (t - 1), 0.5 + 1e-5);
  }
  EXPECT_GT(test::kolmogorov_p(temperatures, [](double t) { return t - 1; }), test::kGate);
}

TEST_P(SpinModel, RefusesImpossibleParameters) {
  test::expect_parts(refused({{"side", "15"}}), {"side = 15", "even", "use 16"});
  test::expect_parts(refused({{"side", "2"}}), {"side = 2", "use 4"});
  test::expect_parts(refused({{"t_low", "3"}, {"t_high", "2"}}), {"t_low", "swap"});
  const double critical = GetParam().critical;
  test::expect_parts(refused({{"t_low", std::to_string(critical + 0.1)}}),
                     {"one phase", "lower t_low", std::to_string(critical).substr(0, 6)});
  test::expect_parts(refused({{"t_high", std::to_string(critical - 0.1)}}),
                     {"one phase", "raise t_high"});
  // Larger lattices could exhaust the random words, which are numbered with 32 bits.
  const auto large = make_generator(GetParam().name, 1025);
  test::expect_parts(test::message_of(ErrorKind::config,
                                      [&] {
                                        MemoryPlan memory(Device::cpu());
                                        large->plan(memory, 1);
                                      }),
                     {"1025 pixels", "the maximum is 1024", "set side"});
}

INSTANTIATE_TEST_SUITE_P(Generators, SpinModel,
                         testing::Values(SpinGenerator{"ising", 2.2692},
                                         SpinGenerator{"xy", 0.8929, {{"coupling", "0.5"}}}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace wellspring
