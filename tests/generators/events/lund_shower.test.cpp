#include "generators/events/lund_shower.h"

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
#include <numbers>
#include <vector>

namespace wellspring {
namespace {

using Params = LundShower::Params;

constexpr double kEpsilon = 0x1p-24;

using Row = test::JetRow<LundShower, 7>;

std::vector<Row> make_rows(const Params& params, std::uint64_t count) {
  const LundShower shower(params);
  std::vector<Row> rows(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    test::make_one(shower, {named_key(29, "lund_shower"), i}, rows[i], rows[i].truth);
  }
  return rows;
}

Params one_class(const std::string& name) {
  Params params;
  params.classes = {name};
  params.columns = LundShower::Columns::lund;
  return params;
}

double density(const Params& params, double colour) {
  return 2 * params.alpha_s * colour / std::numbers::pi;
}
double room(const Params& params, double kt) {
  return std::log(params.pt_low * params.radius / kt);
}

struct Four {
  double e = 0, x = 0, y = 0, z = 0;
  Four() = default;
  explicit Four(const std::array<float, 7>& v) : e(v[0]), x(v[1]), y(v[2]), z(v[3]) {}
  Four operator+(const Four& o) const {
    Four sum = *this;
    sum.e += o.e;
    sum.x += o.x;
    sum.y += o.y;
    sum.z += o.z;
    return sum;
  }
  double square() const { return e * e - x * x - y * y - z * z; }
  double mass() const { return std::sqrt(std::max(0.0, square())); }
  double pt() const { return std::hypot(x, y); }
  double eta() const { return std::asinh(z / pt()); }
  double dot(const Four& o) const { return e * o.e - x * o.x - y * o.y - z * o.z; }
};

TEST(LundShower, KeepsTheHardestConstituentsInOrder) {
  Params all, some;
  some.items = 5;
  const std::vector<Row> whole = make_rows(all, 300);
  for (const Row& row : whole) {
    for (std::size_t k = 1; k < row.items.size(); ++k) {
      ASSERT_GE(Four(row.items[k - 1]).pt() * (1 + 8 * kEpsilon), Four(row.items[k]).pt());
    }
  }
  const auto generator =
      make_generator("lund_shower", 1, {{"items", "5", {}}, {"columns", "lund", {}}});
  SampleMaker maker(*generator, {Device::cpu(), 64, 0});
  std::uint64_t samples = 0, items = 0;
  std::size_t jets = 0;
  maker.make({29, 0, 300}, [&](const HostSamples& made) {
    for (std::size_t i = 0; i < made.label().size(); ++i, ++jets) {
      const Row& row = whole[jets];
      const auto kept = std::min<std::size_t>(5, row.items.size());
      ASSERT_EQ(made.items()[i], static_cast<std::int32_t>(kept));
      for (std::size_t k = 0; k < kept; ++k) {
        for (std::size_t f = 0; f < 4; ++f)
          ASSERT_EQ(made.x()[i * 35 + k * 7 + f], row.items[k][f]);
      }
      samples += row.items.size() > 5 ? 1 : 0;
      items += row.items.size() - kept;
    }
  });
  EXPECT_EQ(maker.overflow().samples, samples);
  EXPECT_EQ(maker.overflow().items, items);
  EXPECT_GT(items, 100u);
}

// With a coupling of 1, a cascade would produce thousands of partons.
TEST(LundShower, ReportsUnfinishedCascades) {
  Params params = one_class("gluon");
  params.alpha_s = 1;
  params.kt_cut = 0.01;
  for (const Row& row : make_rows(params, 50)) {
    ASSERT_EQ(row.items.size(), 128u);
    ASSERT_GT(row.truth.latents[LundShower::kUnfinished], 0);
    ASSERT_EQ(row.count, 128);
    ASSERT_EQ(row.missing, static_cast<int>(row.truth.latents[LundShower::kUnfinished]));
    double pt = 0;
    for (const auto& item : row.items) pt += Four(item).pt();
    ASSERT_NEAR(pt, 500, 128 * 8 * kEpsilon * 500);
  }
}

// Jets with unfinished partons, in rows that they do not fill: a cone drops constituents, and a
// record has room for five parents of which a gluon has one. The second batch of 64 reuses the
// memory of the first.
TEST(LundShower, CountsOnlyWrittenItems) {
  const auto expect_written = [](const char* columns, const char* cone, int parents) {
    const auto generator = make_generator("lund_shower", 1,
                                          {{"classes", "[gluon]", {}},
                                           {"alpha_s", "0.5", {}},
                                           {"kt_cut", "0.1", {}},
                                           {"cone", cone, {}},
                                           {"items", "128", {}},
                                           {"columns", columns, {}}});
    std::uint64_t jets = 0, unfinished = 0;
    const auto made = [&](std::int64_t batch) {
      SampleMaker maker(*generator, {Device::cpu(), batch, 0});
      std::vector<float> x;
      jets = unfinished = 0;
      maker.make({29, 0, 150}, [&](const HostSamples& samples) {
        x.insert(x.end(), samples.x().begin(), samples.x().end());
        const std::size_t width = generator->info().latents.size();
        for (std::size_t i = 0; i < samples.items().size(); ++i) {
          const auto latents = samples.latents().subspan(i * width, width);
          ASSERT_EQ(samples.items()[i],
                    parents + static_cast<int>(latents[LundShower::kConstituents]));
          jets += latents[LundShower::kUnfinished] > 0 ? 1 : 0;
          unfinished += static_cast<std::uint64_t>(latents[LundShower::kUnfinished]);
        }
      });
      EXPECT_EQ(maker.overflow().samples, jets);
      EXPECT_EQ(maker.overflow().items, unfinished);
      return x;
    };
    EXPECT_EQ(made(64), made(150));
    EXPECT_GT(jets, 100u);
  };
  for (const char* columns : {"momenta", "kinematics"}) expect_written(columns, "0.2", 0);
  expect_written("record", "0", 1);
}

double poisson(double mean, int n) {
  return std::exp(n * std::log(mean) - mean - std::lgamma(n + 1));
}

// The optimal score is the number of emissions. With 20,000 jets, the standard errors are below 0.5
// / sqrt(10,000) for areas and below 0.5 / sqrt(20,000) for accuracies.
TEST(LundShower, ReportsTheOptimumForQuarksAgainstGluons) {
  Params params;
  params.classes = {"quark", "gluon"};
  params.cascade = LundShower::Cascade::primary;
  const SampleInfo info = LundShower::describe(params);
  const double l = room(params, params.kt_cut);
  const double quark = density(params, 4.0 / 3) * l * l / 2, gluon = density(params, 3) * l * l / 2;
  double area = 0, accuracy = 0;
  for (int n = 0; n < 60; ++n) {
    accuracy += 0.5 * std::max(poisson(quark, n), poisson(gluon, n));
    for (int k = 0; k <= n; ++k) area += (k == n ? 0.5 : 1) * poisson(gluon, n) * poisson(quark, k);
  }
  EXPECT_NEAR(info.best_result("accuracy").value(), accuracy, 1e-9);
  EXPECT_NEAR(info.best_result("area under the curve").value(), area, 1e-9);

  const double cut = (gluon - quark) / std::log(gluon / quark);
  double right = 0, above = 0, quarks = 0;
  std::array<std::array<double, 128>, 2> numbers{};
  for (const Row& row : make_rows(params, 20000)) {
    const std::size_t n = row.items.size() - 1;
    right += (static_cast<double>(n) > cut ? 1 : 0) == row.truth.label ? 1 : 0;
    numbers[static_cast<std::size_t>(row.truth.label)][n] += 1;
  }
  double gluons = 0;
  for (std::size_t n = 0; n < 128; ++n) {
    above += numbers[1][n] * (quarks + 0.5 * numbers[0][n]);
    quarks += numbers[0][n];
    gluons += numbers[1][n];
  }
  EXPECT_NEAR(right / 20000, accuracy, 5 * 0.5 / std::sqrt(20000.0));
  EXPECT_NEAR(above / (quarks * gluons), area, 5 * 0.5 / std::sqrt(10000.0));

  params.pt_high = 2000;  // momenta are observable, so the optimum is an average over them
  const double wide = LundShower::describe(params).best_result("accuracy").value();
  EXPECT_GT(wide, accuracy);
  params.cascade = LundShower::Cascade::full;
  EXPECT_TRUE(LundShower::describe(params).best.empty());
}

// The first item of a record is the initial particle.
TEST(LundShower, ReportsThatRecordsRevealTheClass) {
  Params params;
  params.columns = LundShower::Columns::record;
  EXPECT_EQ(LundShower::describe(params).best_result("accuracy"), 1);
  EXPECT_FALSE(LundShower::describe(params).best_result("area under the curve"));  // four classes
  params.classes = {"quark", "gluon"};
  params.cascade = LundShower::Cascade::primary;
  EXPECT_EQ(LundShower::describe(params).best_result("accuracy"), 1);
  EXPECT_EQ(LundShower::describe(params).best_result("area under the curve"), 1);
}

TEST(LundShower, RefusesImpossibleParameters) {
  const auto refused = [](auto change) {
    Params params;
    change(params);
    return test::message_of(ErrorKind::config, [&] { LundShower{params}; });
  };
  test::expect_parts(refused([](auto& p) {
                       p.classes = {"quark", "Top"};
                     }),
                     {"names 'Top', which is unknown", "top"});
  test::expect_parts(refused([](auto& p) { p.classes = {"W", "W"}; }), {"names W twice"});
  test::expect_parts(refused([](auto& p) { p.classes = {}; }), {"classes is empty", "quark"});
  test::expect_parts(refused([](auto& p) { p.pt_low = 600; }), {"pt_low = 600 is larger"});
  test::expect_parts(refused([](auto& p) { p.kt_cut = 400; }), {"400 GeV", "raise pt_low"});
  test::expect_parts(refused([](auto& p) { p.w_mass = 200; }), {"w_mass is 200", "above w_mass"});
}

}  // namespace
}  // namespace wellspring
