// The chains, weights and images of augmix.
#include "kernels/augment/augmix_pass.h"
#include "tests/kernels/augment/emitted_images.h"
#include "tests/support/augmentation.h"
#include "tests/support/error_testing.h"
#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

namespace wellspring {
namespace {

using augment::AugMixDraw;
using augment::RandOp;
using test::Emitted;
using test::kImageShape;

AugMixDraw draw_of(const std::string& yaml, std::uint64_t ordinal) {
  const AugmentationPlan plan = test::plan_of(yaml, kImageShape);
  const SampleRng rng = {test::kImageSeed, ordinal};
  AugMixDraw mix;
  augment::AugMix::draw_chains(plan.colour[plan.colour_count - 1], rng, DrawnGroups(plan, rng),
                               mix);
  return mix;
}

/// The bin of torchvision's table (0 to 9) that a step was drawn from.
int bin_of(const augment::RandStep& step) {
  double strength = static_cast<double>(step.strength);
  if (step.op == RandOp::translate_x || step.op == RandOp::translate_y) strength *= 450. / 331;
  if (step.op == RandOp::posterise) strength -= 1;
  const double bin = 9 * strength;
  EXPECT_NEAR(bin, std::round(bin), 1e-5);
  return static_cast<int>(std::lround(bin));
}

/// An image in double precision, and torchvision's operations on it.
struct PlainImage {
  SampleShape shape;
  std::vector<double> values;
  bool repeats_edge = false;

  double& at(int y, int x, int c) {
    return values[static_cast<std::size_t>((y * shape.width + x) * shape.channels + c)];
  }
  double padded(int y, int x, int c) {
    const int iy = std::clamp(y, 0, shape.height - 1), ix = std::clamp(x, 0, shape.width - 1);
    return repeats_edge || (iy == y && ix == x) ? at(iy, ix, c) : 0;
  }
  double luma(int y, int x) {
    return shape.channels == 1 ? at(y, x, 0)
                               : 0.299 * at(y, x, 0) + 0.587 * at(y, x, 1) + 0.114 * at(y, x, 2);
  }
  template <class Visit>
  void each(const Visit& visit) const {
    for (int y = 0; y < shape.height; ++y)
      for (int x = 0; x < shape.width; ++x)
        for (int c = 0; c < shape.channels; ++c) visit(y, x, c);
  }
  /// Reads at (source_x(x, y), source_y(x, y)), bilinearly; pixel centres are at half-integers.
  template <class X, class Y>
  void warp(const X& source_x, const Y& source_y) {
    PlainImage before = *this;
    each([&](int y, int x, int c) {
      const double sx = source_x(x + 0.5, y + 0.5) - 0.5, sy = source_y(x + 0.5, y + 0.5) - 0.5;
      const int ix = static_cast<int>(std::floor(sx)), iy = static_cast<int>(std::floor(sy));
      const double u = sx - ix, v = sy - iy;
      at(y, x, c) =
          (1 - v) * ((1 - u) * before.padded(iy, ix, c) + u * before.padded(iy, ix + 1, c)) +
          v * ((1 - u) * before.padded(iy + 1, ix, c) + u * before.padded(iy + 1, ix + 1, c));
    });
  }
  void blend(double factor, PlainImage base) {
    each([&](int y, int x, int c) {
      const double from = base.at(y, x, c);
      at(y, x, c) = std::clamp(from + factor * (at(y, x, c) - from), 0., 1.);
    });
  }
  void sharpen(double factor) {
    PlainImage smooth = *this;
    each([&](int y, int x, int c) {
      if (y == 0 || x == 0 || y + 1 == shape.height || x + 1 == shape.width) return;
      double sum = 4 * at(y, x, c);
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) sum += at(y + dy, x + dx, c);
      smooth.at(y, x, c) = sum / 13;
    });
    blend(factor, smooth);
  }
  void equalise() {
    const int pixels = shape.height * shape.width;
    for (int channel = 0; channel < shape.channels; ++channel) {
      std::array<int, 256> count{}, becomes{};
      const auto level = [](double v) { return static_cast<std::size_t>(v * 255.999); };
      each([&](int y, int x, int c) { count[level(at(y, x, c))] += c == channel ? 1 : 0; });
      std::size_t last = 255;
      while (count[last] == 0) --last;
      const int unit = (pixels - count[last]) / 255;
      int before = 0;
      for (std::size_t i = 0; i < 256; ++i) {
        becomes[i] = unit == 0 ? static_cast<int>(i) : std::min(255, (before + unit / 2) / unit);
        before += count[i];
      }
      each([&](int y, int x, int c) {
        if (c == channel) at(y, x, c) = becomes[level(at(y, x, c))] / 255.;
      });
    }
  }
  void autocontrast() {
    for (int channel = 0; channel < shape.channels; ++channel) {
      double low = 1, high = 0;
      each([&](int y, int x, int c) {
        if (c != channel) return;
        low = std::min(low, at(y, x, c));
        high = std::max(high, at(y, x, c));
      });
      if (high <= low) continue;
      each([&](int y, int x, int c) {
        if (c == channel) at(y, x, c) = (at(y, x, c) - low) / (high - low);
      });
    }
  }
  /// torchvision's AugMix in this bin of 10.
  void apply(RandOp op, int bin, int sign) {
    const double part = bin / 9., factor = 1 + sign * 0.9 * part, slope = sign * 0.3 * part;
    const double turn = sign * 30 * part * std::numbers::pi / 180, w = shape.width,
                 h = shape.height;
    PlainImage base = *this;
    switch (op) {
      case RandOp::shear_x:
        return warp([&](double x, double y) { return x + slope * y; },
                    [](double, double y) { return y; });
      case RandOp::shear_y:
        return warp([](double x, double) { return x; },
                    [&](double x, double y) { return y + slope * x; });
      case RandOp::translate_x:
        return warp([&](double x, double) { return x - sign * std::floor(part * w / 3 + 1e-9); },
                    [](double, double y) { return y; });
      case RandOp::translate_y:
        return warp([](double x, double) { return x; },
                    [&](double, double y) { return y - sign * std::floor(part * h / 3 + 1e-9); });
      case RandOp::rotate:
        return warp(
            [&](double x, double y) {
              return w / 2 + std::cos(turn) * (x - w / 2) - std::sin(turn) * (y - h / 2);
            },
            [&](double x, double y) {
              return h / 2 + std::sin(turn) * (x - w / 2) + std::cos(turn) * (y - h / 2);
            });
      case RandOp::brightness:
        std::ranges::fill(base.values, 0.);
        return blend(factor, base);
      case RandOp::colour:
        each([&](int y, int x, int c) { base.at(y, x, c) = luma(y, x); });
        return blend(factor, base);
      case RandOp::contrast: {
        double mean = 0;
        each([&](int y, int x, int c) { mean += c == 0 ? luma(y, x) : 0; });
        std::ranges::fill(base.values, mean / (w * h));
        return blend(factor, base);
      }
      case RandOp::sharpness:
        return sharpen(factor);
      case RandOp::posterise: {
        const double levels = std::exp2(4 - std::round(4 * part));
        for (double& v : values) v = std::clamp(std::floor(v * levels), 0., levels - 1) / levels;
        return;
      }
      case RandOp::solarise:
        for (double& v : values) v = v < 1 - part ? v : 1 - v;
        return;
      case RandOp::autocontrast:
        return autocontrast();
      case RandOp::equalise:
        return equalise();
      default:
        FAIL() << "not an operation of augmix";
    }
  }
};

PlainImage mixed(const PlainImage& image, const AugMixDraw& mix) {
  PlainImage sum = image;
  for (double& v : sum.values) v *= static_cast<double>(mix.own);
  for (int i = 0; i < mix.chains; ++i) {
    PlainImage chain = image;
    for (int j = 0; j < mix.depth[i]; ++j) {
      const augment::RandStep& step = mix.step[i][j];
      chain.apply(step.op, bin_of(step), step.sign > 0 ? 1 : -1);
    }
    for (std::size_t k = 0; k < sum.values.size(); ++k)
      sum.values[k] += static_cast<double>(mix.weight[i]) * chain.values[k];
  }
  return sum;
}

/// The share of values of `count` samples that differ from plain chains by more than rounding.
double share_of_differences(Emitted& emit, const std::string& augmix, std::uint64_t count,
                            const std::string& before = "", bool repeats_edge = false) {
  const std::string tail = repeats_edge ? "]\npadding: edge" : "]";
  const std::string yaml = "augment: [" + before + augmix + tail;
  std::size_t differ = 0, all = 0;
  for (std::uint64_t ordinal = 0; ordinal < count; ++ordinal) {
    const auto base = emit("augment: [" + before + tail, {ordinal});
    const PlainImage image = {emit.shape, {base.begin(), base.end()}, repeats_edge};
    const PlainImage expected = mixed(image, draw_of(yaml, ordinal));
    const auto seen = emit(yaml, {ordinal});
    // At most 12 f32 operations per step, amplified up to tenfold by autocontrast, in 4 steps.
    for (std::size_t i = 0; i < seen.size(); ++i)
      differ += std::abs(seen[i] - expected.values[i]) > 12 * 4 * 10 * 0x1p-24 ? 1 : 0;
    all += seen.size();
  }
  return static_cast<double>(differ) / static_cast<double>(all);
}

// Values next to a step of equalise or posterise may fall on either side of it.
constexpr double kMostDifferences = 0.005;

TEST(AugMix, IsTheMeanOfPlainChains) {
  Emitted emit;
  EXPECT_LT(share_of_differences(emit, "augmix", 40), kMostDifferences);
  EXPECT_LT(share_of_differences(emit, "augmix: {severity: 10, chains: 4, depth: 4}", 40),
            kMostDifferences);
  EXPECT_LT(share_of_differences(emit, "augmix: 8", 10, "", true), kMostDifferences);
  // It reads the image after geometry and the colours before it.
  EXPECT_LT(share_of_differences(emit, "augmix: 10", 10, "crop_resize, flip_x: 0.5, hue: 0.2, "),
            kMostDifferences);
  emit.shape = emit.source_shape = {36, 40, 1};
  emit.bytes = test::test_image(emit.shape);
  EXPECT_LT(share_of_differences(emit, "augmix: 10", 20), kMostDifferences);
}

TEST(AugMix, ComesBeforeTheRestOfTheList) {
  Emitted emit;
  const std::vector<std::uint64_t> ordinals = {0, 1, 2, 3, 4, 5};
  const auto mix = emit("augment: [augmix]", ordinals);
  EXPECT_EQ(emit("augment: [augmix, blur: {probability: 0}]", ordinals), mix);
  const auto rest =
      emit("augment: [augmix, equalise: 1]\nnormalise: {mean: [0.5], std: [0.5]}", ordinals);
  std::size_t differ = 0;  // values on the border between two of 256 levels
  for (std::size_t row = 0; row < ordinals.size(); ++row) {
    const auto from = mix.begin() + static_cast<std::ptrdiff_t>(row) * kImageShape.elements();
    PlainImage image = {kImageShape, {from, from + kImageShape.elements()}};
    image.equalise();
    for (std::size_t i = 0; i < image.values.size(); ++i)
      differ +=
          std::abs(rest[row * image.values.size() + i] - (2 * image.values[i] - 1)) > 1e-6 ? 1 : 0;
  }
  EXPECT_LT(differ, mix.size() / 1000);
}

TEST(AugMix, LeavesSamplesThatItDoesNotApplyTo) {
  Emitted emit;
  std::vector<std::uint64_t> ordinals(40);
  for (std::size_t i = 0; i < ordinals.size(); ++i) ordinals[i] = i;
  const std::string rest = "autocontrast: {probability: 1}]";
  const auto plain = emit("augment: [" + rest, ordinals),
             mix = emit("augment: [augmix, " + rest, ordinals),
             half = emit("augment: [augmix: {probability: 0.5}, " + rest, ordinals);
  EXPECT_EQ(emit("augment: [augmix: {probability: 0}, " + rest, ordinals), plain);
  const auto same = [](const std::vector<float>& a, const std::vector<float>& b, std::size_t i) {
    const auto n = static_cast<std::ptrdiff_t>(kImageShape.elements());
    const auto from = static_cast<std::ptrdiff_t>(i) * n;
    return std::equal(a.begin() + from, a.begin() + from + n, b.begin() + from);
  };
  int applied = 0;
  for (std::size_t i = 0; i < ordinals.size(); ++i) {
    EXPECT_FALSE(same(mix, plain, i)) << i;
    ASSERT_NE(same(half, plain, i), same(half, mix, i)) << i;
    applied += same(half, mix, i) ? 1 : 0;
  }
  EXPECT_TRUE(applied > 8 && applied < 32) << applied;
  // A group decides in the same way.
  const auto grouped = emit("augment: [{apply: 0.5, of: [augmix]}, " + rest, ordinals);
  applied = 0;
  for (std::size_t i = 0; i < ordinals.size(); ++i) {
    ASSERT_NE(same(grouped, plain, i), same(grouped, mix, i)) << i;
    applied += same(grouped, mix, i) ? 1 : 0;
  }
  EXPECT_TRUE(applied > 8 && applied < 32) << applied;
}

TEST(AugMix, GivesEqualBytesForAnyTeamBatchAndType) {
  Emitted emit;
  const std::string yaml = "augment: [crop_resize, augmix: {severity: 10, depth: 4}, noise: 0.1]";
  const std::vector<std::uint64_t> ordinals = {0, 1, 2, 3, 4, 5, 6, 7};
  const auto whole = emit(yaml, ordinals);
  for (const int members : {7, 32}) {
    emit.members = members;
    EXPECT_EQ(emit(yaml, ordinals), whole) << members;
  }
  const auto one = emit(yaml, {7});
  EXPECT_TRUE(std::equal(one.begin(), one.end(), whole.end() - kImageShape.elements()));
  const auto narrow = emit.operator()<bf16>(yaml, ordinals);
  for (std::size_t i = 0; i < whole.size(); ++i)
    ASSERT_EQ(static_cast<float>(narrow[i]), static_cast<float>(static_cast<bf16>(whole[i])));
}

TEST(AugMix, DrawsChainsLikeTorchvision) {
  std::vector<double> ops(13), depths(3), signs(2), bins(3), shifts(3), own, share;
  for (std::uint64_t ordinal = 0; ordinal < 8000; ++ordinal) {
    const AugMixDraw mix = draw_of("augment: [augmix]", ordinal);
    ASSERT_EQ(mix.chains, 3);
    double sum = static_cast<double>(mix.own);
    for (int i = 0; i < mix.chains; ++i) {
      depths.at(static_cast<std::size_t>(mix.depth[i] - 1)) += 1;
      sum += static_cast<double>(mix.weight[i]);
      for (int j = 0; j < mix.depth[i]; ++j) {
        const augment::RandStep& step = mix.step[i][j];
        ops.at(static_cast<std::size_t>(step.op) - 1) += 1;
        signs[step.sign > 0 ? 1 : 0] += 1;
        auto& counts = step.op == RandOp::translate_x ? shifts : bins;
        counts.at(static_cast<std::size_t>(bin_of(step))) += 1;
      }
    }
    ASSERT_NEAR(sum, 1, 8 * 0x1p-24);
    own.push_back(static_cast<double>(mix.own));
    share.push_back(static_cast<double>(mix.weight[0]) / (1 - own.back()));
  }
  for (const auto& counts : {ops, depths, signs, bins, shifts})
    EXPECT_GT(test::uniform_chi_square_p(counts), test::kGate);
  // Beta(1, 1) is uniform; a share of Dirichlet(1, 1, 1) has the law Beta(1, 2).
  EXPECT_GT(test::kolmogorov_p(own, [](double v) { return v; }), test::kGate);
  EXPECT_GT(test::kolmogorov_p(share, [](double v) { return 1 - (1 - v) * (1 - v); }), test::kGate);
}

TEST(AugMix, FollowsItsParameters) {
  std::vector<double> own, levels;
  std::array<int, 16> ops{};
  for (std::uint64_t ordinal = 0; ordinal < 4000; ++ordinal) {
    const AugMixDraw mix = draw_of(
        "augment: [augmix: {severity: 5, chains: 2, depth: 4, alpha: 0.5, operations: published, "
        "table: timm}]",
        ordinal);
    ASSERT_EQ(mix.chains, 2);
    own.push_back(static_cast<double>(mix.own));
    for (int i = 0; i < 2; ++i) {
      ASSERT_EQ(mix.depth[i], 4);
      for (const augment::RandStep& step : mix.step[i]) {
        ops.at(static_cast<std::size_t>(step.op)) += 1;
        EXPECT_EQ(step.table, augment::RandTable::timm);
        levels.push_back(20 * static_cast<double>(step.strength) / 10);
      }
    }
  }
  // Beta(1/2, 1/2) is the arcsine law; magnitudes of timm are uniform from 0 to 5 of 10.
  EXPECT_GT(test::kolmogorov_p(
                own, [](double v) { return 2 / std::numbers::pi * std::asin(std::sqrt(v)); }),
            test::kGate);
  EXPECT_GT(test::kolmogorov_p(levels, [](double v) { return std::min(v, 1.); }), test::kGate);
  std::vector<double> chosen;
  for (std::size_t op = 0; op < ops.size(); ++op) {
    const bool published = (op >= 1 && op <= 5) || (op >= 10 && op <= 13);
    EXPECT_EQ(ops[op] > 0, published) << op;
    if (published) chosen.push_back(ops[op]);
  }
  EXPECT_GT(test::uniform_chi_square_p(chosen), test::kGate);
}

TEST(AugMix, RefusesListsThatItDoesNotFit) {
  const auto refused = [](const std::string& list) {
    return test::message_of(ErrorKind::config, [&] { test::augmentations_of("augment: " + list); });
  };
  test::expect_parts(refused("[autocontrast, augmix]"), {"move augmix before autocontrast"});
  test::expect_parts(refused("[contrast: {strength: 0.4, about: mean}, augmix]"),
                     {"move augmix before contrast"});
  test::expect_parts(refused("[blur, augmix]"), {"move augmix before blur"});
  test::expect_parts(refused("[augmix, rand_augment]"), {"together with augmix", "remove one"});
  test::expect_parts(refused("[trivial_augment, augmix]"), {"together with trivial_augment"});
  test::expect_parts(refused("[augmix, rotate: 20]"), {"move rotate before augmix"});
  test::expect_parts(refused("[augmix, blur, grey]"), {"move grey before augmix"});
  test::expect_parts(refused("[random_order: [grey, augmix]]"), {"augmix is in random_order"});
  test::expect_parts(refused("[augmix: 11]"), {"severity", "11"});
  test::expect_parts(refused("[augmix: {depth: 5}]"), {"depth", "5"});
  test::expect_parts(refused("[augmix: {alpha: 0}]"), {"alpha"});
  // Copies at other places make positions meaningless, but not classes and counts.
  const Augmentations values = test::augmentations_of("augment: [augmix]");
  EXPECT_NO_THROW(expect_mappable(values, LatentRole::fixed, "count"));
  test::expect_parts(
      test::message_of(ErrorKind::config,
                       [&] { expect_mappable(values, LatentRole::position_x, "x"); }),
      {"augment.augmix cannot be used with the regression of x"});
}

}  // namespace
}  // namespace wellspring
