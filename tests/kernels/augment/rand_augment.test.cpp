// Operations, signs and magnitudes of rand_augment and trivial_augment.
#include "kernels/augment/operations/operations.h"
#include "tests/kernels/torchvision_values.h"
#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace wellspring {
namespace {

namespace tv = test::torchvision;
constexpr std::uint64_t kRandSeed = 5;

TEST(RandAugment, HasTheMagnitudesOfTheDocumentedTable) {
  for (int level = 0; level <= 30; ++level) {
    const augment::RandStep brighter{augment::RandOp::brightness, static_cast<float>(level) / 30,
                                     1};
    const auto value = [&](augment::RandOp op) {
      Augmentation a;
      ColourList list(a);
      augment::add_rand_colour({op, brighter.strength, 1}, list);
      list.mark_blur();
      list.finish();
      return a.colour_count == 0 ? -1.f : a.colour[0].value;
    };
    const auto i = static_cast<std::size_t>(level);
    if (level > 0) {
      EXPECT_NEAR(value(augment::RandOp::brightness), 1 + tv::kMagnitudes[i], 1e-6);
    }
    const float bits = tv::kMagnitudes[31 + i];
    EXPECT_EQ(value(augment::RandOp::posterise), bits < 8 ? std::exp2(bits) : -1.f);
    EXPECT_NEAR(value(augment::RandOp::solarise), tv::kMagnitudes[62 + i], 1e-6);
  }
}

TEST(RandAugment, DrawsOperationsSignsAndMagnitudesAsDocumented) {
  AugmentStep step;
  step.probability = 1;
  step.value[0] = 2;
  step.value[1] = 9;
  step.value[2] = 0.5f;
  std::vector<double> pairs(14 * 14), signs(2), magnitudes;
  for (std::uint64_t ordinal = 0; ordinal < 20000; ++ordinal) {
    AugmentRng words({kRandSeed, ordinal}, op_of<augment::RandAugment>);
    ASSERT_TRUE(words.happens(step));
    std::size_t pair = 0;
    augment::for_rand_steps(step, words, [&](const augment::RandStep& drawn) {
      pair = 14 * pair + static_cast<std::size_t>(drawn.op);
      signs[drawn.sign > 0 ? 1 : 0] += 1;
      magnitudes.push_back((30 * static_cast<double>(drawn.strength) - 9) / 0.5);
    });
    pairs[pair] += 1;
  }
  EXPECT_GT(test::uniform_chi_square_p(pairs), test::kGate);
  EXPECT_GT(test::uniform_chi_square_p(signs), test::kGate);
  EXPECT_GT(
      test::kolmogorov_p(magnitudes, [](double v) { return 0.5 * std::erfc(-v / std::sqrt(2.)); }),
      test::kGate);
}

/// The drawn colour step of an operation at a strength, with sign 1.
ColourStep rand_colour(augment::RandOp op, float strength, augment::RandTable table) {
  Augmentation a;
  ColourList list(a);
  augment::add_rand_colour({op, strength, 1, table}, list);
  list.mark_blur();
  list.finish();
  return a.colour_count == 0 ? ColourStep{} : a.colour[0];
}

// timm/data/auto_augment.py: level / 10 * 30 degrees, 4 - int(level / 10 * 4) bits, 256 - int(level
// / 10 * 256), int(level / 10 * 110), 1 + level / 10 * 0.9, level / 10 * 0.3, level / 10 * 0.45.
TEST(RandAugment, HasTheMagnitudesOfTimm) {
  using augment::RandOp;
  for (const float level : {0.f, 2.6f, 9.f, 10.f}) {
    const float s = level / 10;
    const auto value = [&](RandOp op) {
      return rand_colour(op, s, augment::RandTable::timm).value;
    };
    EXPECT_EQ(value(RandOp::posterise), std::exp2(4 - std::floor(4 * s)));
    EXPECT_FLOAT_EQ(value(RandOp::solarise), (256 - std::floor(256 * s)) / 255);
    EXPECT_FLOAT_EQ(value(RandOp::solarise_add), std::floor(110 * s) / 255);
    const ColourStep inverted = rand_colour(RandOp::invert, s, augment::RandTable::timm);
    EXPECT_TRUE(inverted.op == op_of<augment::Solarise> && inverted.value == 0);
    EXPECT_FLOAT_EQ(rand_colour(RandOp::brightness, s + 0.01f, augment::RandTable::timm).value,
                    1 + 0.9f * (s + 0.01f));
    const auto map = [&](RandOp op) {
      return augment::rand_inverse_map({op, s, 1, augment::RandTable::timm}, {200, 100});
    };
    EXPECT_FLOAT_EQ(map(RandOp::translate_x).m[2], -90 * s);
    EXPECT_FLOAT_EQ(map(RandOp::translate_y).m[5], -45 * s);
    EXPECT_FLOAT_EQ(map(RandOp::shear_x).m[1], 0.3f * s);
    EXPECT_NEAR(map(RandOp::rotate).m[3], std::sin(s * 3.14159265 / 6), 1e-6);
  }
}

// torchvision's TrivialAugmentWide in bin 24 of 31.
TEST(TrivialAugment, HasTheMagnitudesOfTorchvision) {
  using augment::RandOp;
  const auto value = [](RandOp op) {
    return rand_colour(op, 0.8f, augment::RandTable::wide).value;
  };
  EXPECT_FLOAT_EQ(value(RandOp::contrast), 1 + 0.8f * 0.99f);
  EXPECT_EQ(value(RandOp::posterise), 8);  // 8 - round(4.8) = 3 bits
  EXPECT_FLOAT_EQ(value(RandOp::solarise), 0.2f);
  const auto map = [](RandOp op) {
    return augment::rand_inverse_map({op, 0.8f, 1, augment::RandTable::wide}, {200, 100});
  };
  EXPECT_EQ(map(RandOp::translate_x).m[2], -25);  // int(25.6)
  EXPECT_FLOAT_EQ(map(RandOp::shear_y).m[3], 0.8f * 0.99f);
  EXPECT_NEAR(map(RandOp::rotate).m[3], std::sin(0.8 * 135 * 3.14159265 / 180), 1e-6);
}

TEST(TrivialAugment, DrawsEachOperationAndMagnitudeEquallyOften) {
  std::vector<double> ops(14), magnitudes(31), signs(2);
  AugmentStep step;
  step.probability = 1;
  for (std::uint64_t ordinal = 0; ordinal < 20000; ++ordinal) {
    AugmentRng words({kRandSeed, ordinal}, op_of<augment::TrivialAugment>);
    ASSERT_TRUE(words.happens(step));
    const augment::RandStep drawn = augment::TrivialAugment::drawn(words);
    ops.at(static_cast<std::size_t>(drawn.op)) += 1;
    magnitudes.at(static_cast<std::size_t>(std::lround(30 * drawn.strength))) += 1;
    signs[drawn.sign > 0 ? 1 : 0] += 1;
  }
  for (const auto& counts : {ops, magnitudes, signs})
    EXPECT_GT(test::uniform_chi_square_p(counts), test::kGate);
}

// torchvision.transforms.v2.AutoAugment()._policies: shares of the operations that are applied.
TEST(AutoAugment, AppliesOperationsAsOftenAsTorchvision) {
  using augment::RandOp;
  AugmentStep step;
  step.probability = 1;
  std::vector<double> counts(15), signs(2), expected(15);
  // Sums of the probabilities in the table, in tenths, and the magnitudes that occur.
  const std::vector<std::pair<RandOp, double>> shares = {
      {RandOp::posterise, 28},    {RandOp::rotate, 36},    {RandOp::solarise, 36},
      {RandOp::autocontrast, 12}, {RandOp::equalise, 112}, {RandOp::colour, 38},
      {RandOp::invert, 18},       {RandOp::contrast, 20},  {RandOp::sharpness, 4},
      {RandOp::shear_x, 6}};
  double all = 0;
  for (const auto& [op, tenths] : shares) {
    expected[static_cast<std::size_t>(op)] = 20000 * tenths / 10 / 25;
    all += 20000 * tenths / 10 / 25;
  }
  double total = 0;
  for (std::uint64_t ordinal = 0; ordinal < 20000; ++ordinal) {
    AugmentRng words({kRandSeed, ordinal}, op_of<augment::AutoAugment>);
    ASSERT_TRUE(words.happens(step));
    augment::AutoAugment::for_steps(words, [&](const augment::RandStep& drawn) {
      counts.at(static_cast<std::size_t>(drawn.op)) += 1;
      signs[drawn.sign > 0 ? 1 : 0] += 1;
      total += 1;
    });
  }
  std::vector<double> seen, means;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    ASSERT_EQ(counts[i] > 0, expected[i] > 0) << i;
    if (expected[i] == 0) continue;
    seen.push_back(counts[i]);
    means.push_back(expected[i] * total / all);
  }
  EXPECT_GT(test::chi_square_p(seen, means), test::kGate);
  EXPECT_GT(test::uniform_chi_square_p(signs), test::kGate);
  // At most two steps per sample, so the variance of the total is below one per sample; five and a
  // half standard deviations have a probability of 4e-8.
  EXPECT_NEAR(total, all, 5.5 * std::sqrt(20000.));
}

// Magnitudes of bin 8 of 10: linspace(0, 0.3, 10)[8] and so on.
TEST(AutoAugment, HasTheMagnitudesOfTorchvision) {
  AugmentStep step;
  step.probability = 1;
  std::set<float> bits, thresholds, factors;
  for (std::uint64_t ordinal = 0; ordinal < 20000; ++ordinal) {
    Augmentation a;
    ColourList list(a);
    AugmentRng words({kRandSeed, ordinal}, op_of<augment::AutoAugment>);
    ASSERT_TRUE(words.happens(step));
    augment::AutoAugment::draw(step, words, list);
    list.mark_blur();
    list.finish();
    for (int i = 0; i < a.colour_count; ++i) {
      if (a.colour[i].op == op_of<augment::Posterise>) bits.insert(a.colour[i].value);
      if (a.colour[i].op == op_of<augment::Solarise>) thresholds.insert(a.colour[i].value);
      if (a.colour[i].op == op_of<augment::ContrastAboutMean>) factors.insert(a.colour[i].value);
    }
  }
  // 8 - round(m / 2.25) bits for m = 5, 6, 7, 8; 1 - m / 9 for m = 3, 4, 5, 7, 8, and 0 (invert);
  // 1 +- 0.8.
  EXPECT_EQ(bits, (std::set<float>{16, 32, 64}));
  ASSERT_EQ(thresholds.size(), 6u);
  auto threshold = thresholds.begin();
  for (const float m : {9.f, 8.f, 7.f, 5.f, 4.f, 3.f}) EXPECT_NEAR(*threshold++, 1 - m / 9, 1e-6);
  ASSERT_EQ(factors.size(), 2u);
  EXPECT_NEAR(*factors.begin(), 0.2, 1e-6);
  EXPECT_NEAR(*factors.rbegin(), 1.8, 1e-6);
}

// Each of the 15 operations is applied with probability 1/2.
TEST(RandAugment, AppliesTimmsOperationsHalfOfTheTime) {
  AugmentStep step;
  step.probability = 1;
  step.value[0] = 1;
  step.value[1] = 9;
  step.value[3] = static_cast<float>(augment::RandTable::timm);
  std::vector<double> counts(16, 0), expected(16, 20000 / 30.);
  expected[0] = 10000;
  for (std::uint64_t ordinal = 0; ordinal < 20000; ++ordinal) {
    AugmentRng words({kRandSeed, ordinal}, op_of<augment::RandAugment>);
    ASSERT_TRUE(words.happens(step));
    std::size_t drawn = 0;
    augment::for_rand_steps(step, words, [&](const augment::RandStep& one) {
      drawn = static_cast<std::size_t>(one.op);
      EXPECT_FLOAT_EQ(one.strength, 0.9f);
    });
    counts.at(drawn) += 1;
  }
  EXPECT_GT(test::chi_square_p(counts, expected), test::kGate);
}

// v + value below one half, and the sum is at most 1.
TEST(RandAugment, AddsToDarkValues) {
  float r[] = {0.1f, 127.f / 255, 128.f / 255}, g[] = {0, 1, 0.7f}, b[] = {0.4f, 0.4f, 0.4f};
  augment::SolariseAdd::apply(0.75f, r, g, b);
  EXPECT_FLOAT_EQ(r[0], 0.85f);
  EXPECT_EQ(r[1], 1);
  EXPECT_EQ(r[2], 128.f / 255);
  EXPECT_TRUE(g[0] == 0.75f && g[1] == 1 && g[2] == 0.7f);
}

}  // namespace
}  // namespace wellspring
