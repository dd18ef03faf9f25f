#include "kernels/augment/whole_image.h"

#include "tests/kernels/augment/emitted_images.h"
#include "tests/kernels/torchvision_values.h"
#include "tests/support/augmentation.h"
#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace wellspring {
namespace {

using test::Emitted;
using test::kImageSeed;
using test::test_image;
constexpr SampleShape kShape = test::kImageShape;

/// Both sides of a comparison take 16 f32 operations on values up to 2, with errors of 2^-24 each.
constexpr double kRounding = 32 * 0x1p-24;

void expect_probes(const std::vector<float>& seen, std::span<const float> expected,
                   double tolerance = kRounding) {
  ASSERT_EQ(expected.size(), (seen.size() + 162) / 163);
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(seen[163 * i], expected[i], tolerance) << "value " << 163 * i;
}

namespace tv = test::torchvision;

TEST(WholeImage, MatchesTorchvision) {
  Emitted emit;
  expect_probes(emit(""), tv::kImage, 0);
  expect_probes(emit("augment: [posterise: {bits: 3, probability: 1}]"), tv::kPosterise);
  expect_probes(emit("augment: [solarise: {threshold: 0.4, probability: 1}]"), tv::kSolarise);
  expect_probes(emit("augment: [autocontrast: 1]"), tv::kAutocontrast);
  expect_probes(emit("augment: [equalise: 1]"), tv::kEqualise);
  expect_probes(emit("augment: [sharpen: {factor: 1.8, probability: 1}]"), tv::kSharpen);
  expect_probes(emit("augment: [sharpen: {factor: 0.2, probability: 1}]"), tv::kSmooth);
}

TEST(WholeImage, LeavesTheBorderUnsharpened) {
  Emitted emit;
  const auto seen = emit("augment: [sharpen: {factor: 1.8, probability: 1}]"), plain = emit("");
  for (int y = 0; y < kShape.height; ++y) {
    for (int x = 0; x < kShape.width; ++x) {
      const bool border = y == 0 || y + 1 == kShape.height || x == 0 || x + 1 == kShape.width;
      for (int c = 0; c < 3; ++c) {
        const auto i = static_cast<std::size_t>((y * kShape.width + x) * 3 + c);
        if (border) {
          ASSERT_EQ(seen[i], plain[i]) << y << ", " << x << ", " << c;
        }
      }
    }
  }
}

TEST(WholeImage, AppliesContrastAboutTheMean) {
  // The program draws the factor, but torchvision's values are for a fixed one. The red weight of
  // luma is 0.299 here and 0.2989 in torchvision, so a mean below 0.5 differs by 5e-5, and the
  // result by 0.6 times that.
  Emitted emit;
  const std::string yaml = "augment: [contrast: {strength: 0.6, about: mean}]";
  const auto seen = emit(yaml), plain = emit("");
  const Augmentation a = draw_augmentation(test::plan_of(yaml, kShape), {kImageSeed, 0});
  ASSERT_EQ(a.colour[0].op, op_of<augment::ContrastAboutMean>);
  const double factor = static_cast<double>(a.colour[0].value);
  double mean = 0;
  for (std::size_t i = 0; i < plain.size(); i += 3)
    mean += 0.2989 * plain[i] + 0.587 * plain[i + 1] + 0.114 * plain[i + 2];
  mean /= static_cast<double>(plain.size()) / 3;
  for (std::size_t i = 0; i < plain.size(); ++i)
    ASSERT_NEAR(seen[i], std::clamp(mean + factor * (plain[i] - mean), 0., 1.), 6e-5);
  // Torchvision's values follow from the formula above.
  for (std::size_t i = 0; i < std::size(tv::kContrast); ++i)
    ASSERT_NEAR(std::clamp(mean + 1.6 * (plain[163 * i] - mean), 0., 1.), tv::kContrast[i], 1e-6);
}

/// An ordinal at which rand_augment draws these operations; augment_rng.h gives the word layout.
std::uint64_t ordinal_of(augment::RandOp first, int first_sign, augment::RandOp second,
                         int second_sign) {
  for (std::uint64_t ordinal = 0;; ++ordinal) {
    const auto word = [&](std::uint32_t i) {
      return SampleRng{kImageSeed, ordinal}
          .block(Purpose::augment,
                 static_cast<std::uint32_t>(op_of<augment::RandAugment>) << 8 | i / 4)
          .word[i % 4];
    };
    const auto is = [&](std::uint32_t at, augment::RandOp op, int sign) {
      return std::uint64_t{word(at)} * 14 >> 32 == static_cast<std::uint64_t>(op) &&
             (word(at + 1) < 0x80000000u ? -1 : 1) == sign;
    };
    if (is(1, first, first_sign) && is(5, second, second_sign)) return ordinal;
  }
}

TEST(RandAugment, MatchesTorchvisionInChainsOfColours) {
  using augment::RandOp;
  Emitted emit;
  const auto chain = [&](RandOp first, int first_sign, RandOp second, int second_sign) {
    return emit("augment: [rand_augment]", {ordinal_of(first, first_sign, second, second_sign)});
  };
  expect_probes(chain(RandOp::equalise, 1, RandOp::sharpness, 1), tv::kEqualiseThenSharpen);
  expect_probes(chain(RandOp::sharpness, -1, RandOp::autocontrast, 1),
                tv::kSharpenThenAutocontrast);
  expect_probes(chain(RandOp::contrast, -1, RandOp::solarise, 1), tv::kContrastThenSolarise, 3e-5);
  expect_probes(chain(RandOp::brightness, -1, RandOp::equalise, 1), tv::kBrightnessThenEqualise);
  // Saturation uses the luma weights above and is followed by rounding to 7 bits, so a value close
  // to the border between two levels may fall on either side. 1.2 % of values, or 0.3 of the 27
  // compared here, are within 9e-5 of a border.
  expect_probes(chain(RandOp::colour, 1, RandOp::posterise, 1), tv::kColourThenPosterise);
}

/// Compares the source points of three pixels of an 80 x 64 image.
void expect_places(const Augmentation& a, std::span<const float> expected) {
  const float at[3][2] = {{40.5f, 30.5f}, {50.5f, 36.5f}, {36.5f, 44.5f}};
  for (std::size_t i = 0; i < 3; ++i) {
    // Torchvision's grid stores coordinates in units of half a side (rounded to 2^-24 of 40 pixels)
    // and reads a ramp of 80 pixels. Each adds an error of 2e-5, and our rounding doubles the sum.
    EXPECT_NEAR(a.source_x(at[i][0], at[i][1]), expected[2 * i], 8e-5) << i;
    EXPECT_NEAR(a.source_y(at[i][0], at[i][1]), expected[2 * i + 1], 8e-5) << i;
  }
}

TEST(RandAugment, MatchesTorchvisionInGeometryAndItsOrder) {
  using augment::RandOp;
  const AugmentationPlan plan = test::plan_of("augment: [rand_augment]", {64, 80, 3});
  const auto seen = [&](RandOp first, int first_sign, RandOp second, int second_sign) {
    return draw_augmentation(plan,
                             {kImageSeed, ordinal_of(first, first_sign, second, second_sign)});
  };
  const auto alone = [&](RandOp op, int sign) { return seen(op, sign, RandOp::identity, 1); };
  expect_places(alone(RandOp::shear_x, 1), tv::kShearX);
  expect_places(alone(RandOp::shear_x, -1), tv::kShearXBack);
  expect_places(alone(RandOp::shear_y, 1), tv::kShearY);
  expect_places(alone(RandOp::shear_y, -1), tv::kShearYBack);
  expect_places(alone(RandOp::translate_x, 1), tv::kTranslateX);
  expect_places(alone(RandOp::translate_x, -1), tv::kTranslateXBack);
  expect_places(alone(RandOp::translate_y, 1), tv::kTranslateY);
  expect_places(alone(RandOp::translate_y, -1), tv::kTranslateYBack);
  expect_places(alone(RandOp::rotate, 1), tv::kRotate);
  expect_places(alone(RandOp::rotate, -1), tv::kRotateBack);
  expect_places(seen(RandOp::rotate, 1, RandOp::shear_x, -1), tv::kRotateThenShearX);
  expect_places(seen(RandOp::shear_x, -1, RandOp::rotate, 1), tv::kShearXThenRotate);
  EXPECT_TRUE(seen(RandOp::translate_x, 1, RandOp::translate_y, -1).on_grid);
}

TEST(Augmentation, MatchesTorchvisionInAffine) {
  Augmentation a;
  const Homography map =
      Homography::translation(40, 32) *
      augment::Affine::inverse_map(20.f / 360, 3, -2, 1.3f, 10.f / 360, -15.f / 360) *
      Homography::translation(-40, -32);
  a.m00 = map.m[0];
  a.m01 = map.m[1];
  a.origin_x = map.m[2];
  a.m10 = map.m[3];
  a.m11 = map.m[4];
  a.origin_y = map.m[5];
  expect_places(a, tv::kAffine);
}

TEST(WholeImage, IdentitiesLeaveEveryByteUnchanged) {
  Emitted emit;
  const auto plain = emit("normalise: {mean: [0.4], std: [0.3]}", {0, 1, 2});
  for (const char* const list :
       {"sharpen: {factor: 1, probability: 1}", "posterise: {bits: 8, probability: 1}", "noise: 0",
        "contrast: {strength: 0, about: mean}", "contrast: 0", "saturation: 0", "hue: 0", "affine",
        "rand_augment: {operations: 0}", "trivial_augment: 0",
        "rand_augment: {operations: 4, probability: 0}", "autocontrast: 0", "equalise: 0",
        "erase_box: {probability: 0}"}) {
    const std::string yaml =
        "normalise: {mean: [0.4], std: [0.3]}\naugment: [" + std::string(list) + "]";
    EXPECT_EQ(emit(yaml, {0, 1, 2}), plain) << list;
  }
}

// Tests operations before, between and after whole-image operations, with and without a blur.
TEST(WholeImage, RunsInListOrder) {
  Emitted emit;
  const auto lit = emit("augment: [brightness: 0.4]");
  const auto whole = emit(
      "augment: [brightness: 0.4, autocontrast: 1, solarise: {threshold: 0.5, probability: 1}, "
      "equalise: 1, posterise: {bits: 2, probability: 1}]\nnormalise: {std: [0.5]}");
  std::vector<float> step = lit;
  for (std::size_t c = 0; c < 3; ++c) {
    float low = 1, high = 0;
    for (std::size_t i = c; i < step.size(); i += 3) {
      low = std::min(low, step[i]);
      high = std::max(high, step[i]);
    }
    std::vector<int> count(256);
    for (std::size_t i = c; i < step.size(); i += 3) {
      const float v = (step[i] - low) / (high - low);
      step[i] = v < 0.5f ? v : 1 - v;
      ++count[static_cast<std::size_t>(step[i] * 255.999f)];
    }
    int last = 255, before = 0;
    while (count[static_cast<std::size_t>(last)] == 0) --last;
    const int unit = (36 * 40 - count[static_cast<std::size_t>(last)]) / 255;
    std::vector<int> becomes;
    for (const int here : count) {
      becomes.push_back(std::min(255, (before + unit / 2) / unit));
      before += here;
    }
    for (std::size_t i = c; i < step.size(); i += 3) {
      const int level = becomes[static_cast<std::size_t>(step[i] * 255.999f)];
      ASSERT_EQ(whole[i], std::floor(4 * std::min(level, 254) / 255.f) / 4 * 2) << i;
    }
  }
  // A blur after `sharpen` reads the sharpened image.
  const std::string blur = "blur: {sigma: [1, 1], kernel: 5, probability: 1}";
  Emitted sharp;
  const auto sharpened = emit("augment: [sharpen: {factor: 0.5, probability: 1}]");
  for (std::size_t i = 0; i < sharpened.size(); ++i) {
    // Bytes are exact to half of 1 / 255.
    sharp.bytes[i] = static_cast<std::uint8_t>(std::lround(255 * sharpened[i]));
  }
  const auto both = emit("augment: [sharpen: {factor: 0.5, probability: 1}, " + blur + "]");
  const auto expected = sharp("augment: [" + blur + "]");
  for (std::size_t i = 0; i < both.size(); ++i)
    ASSERT_NEAR(both[i], expected[i], 0.5 / 255 + kRounding);
}

// Operations on whole images after a blur read the blurred image.
TEST(WholeImage, FollowsABlur) {
  Emitted emit, blurred;
  const std::string blur =
      "augment: [flip_x: 1, sharpen: {factor: 0.5, probability: 1}, blur: {sigma: [1, 1], kernel: "
      "5, probability: 1}";
  const auto image = emit(blur + "]");
  double mean = 0;
  for (std::size_t i = 0; i < image.size(); i += 3)
    mean += 0.299 * image[i] + 0.587 * image[i + 1] + 0.114 * image[i + 2];
  mean /= static_cast<double>(image.size()) / 3;
  const std::string rest =
      ", solarise: {threshold: 0.9, probability: 1}, contrast: {strength: 0.6, "
      "about: mean}, posterise: {bits: 3, probability: 1}]";
  const std::string tail = "\nnormalise: {mean: [0.5], std: [0.25]}";
  const auto seen = emit(blur + rest + tail);
  const Augmentation a = draw_augmentation(test::plan_of(blur + rest, kShape), {kImageSeed, 0});
  ASSERT_EQ(a.colour_count, 4);
  ASSERT_EQ(a.colour_before_blur, 1);
  const double factor = static_cast<double>(a.colour[2].value);
  ASSERT_LT(*std::ranges::max_element(image), 0.9f);  // solarise changes nothing
  std::size_t steps = 0;
  for (std::size_t i = 0; i < image.size(); ++i) {
    const double eighths = 8 * std::clamp(mean + factor * (image[i] - mean), 0., 1.);
    // Values within rounding of a step may fall on either side.
    if (std::abs(eighths - std::round(eighths)) < 8 * kRounding) continue;
    ++steps;
    ASSERT_NEAR(seen[i], (std::min(std::floor(eighths), 7.) / 8 - 0.5) * 4, 4 * kRounding) << i;
  }
  EXPECT_GT(steps, image.size() / 2);
}

// floor(0.75 * 90) = 67 of the patches are 0 after normalisation, and the others are unchanged.
TEST(WholeImage, MasksTheDrawnPatches) {
  Emitted emit;
  const std::string tail = "\nnormalise: {mean: [2]}";  // no value is 0
  for (const std::string before : {"", "blur: {probability: 1}, "}) {
    const std::string yaml =
        "augment: [" + before + "mask_patches: {patch: 4, ratio: 0.75}]" + tail;
    std::vector<double> masked(90);
    std::vector<std::uint64_t> ordinals(400);
    for (std::size_t i = 0; i < ordinals.size(); ++i) ordinals[i] = i;
    const auto images = emit(yaml, ordinals);
    const auto plain = emit(before.empty() ? tail : "augment: [" + before + "grey: 0]" + tail, {3});
    for (const std::uint64_t ordinal : ordinals) {
      augment::PatchMask mask;
      mask.draw(draw_augmentation(test::plan_of(yaml, kShape), {kImageSeed, ordinal}), kShape);
      int count = 0;
      for (int p = 0; p < 90; ++p) {
        count += mask.masks(p) ? 1 : 0;
        masked[static_cast<std::size_t>(p)] += mask.masks(p) ? 1 : 0;
      }
      ASSERT_EQ(count, 67);
      const float* const image =
          images.data() + ordinal * static_cast<std::uint64_t>(kShape.elements());
      for (int y = 0; y < 36; ++y)
        for (int x = 0; x < 40; ++x) {
          const std::size_t at = static_cast<std::size_t>(y * 40 + x) * 3;
          const bool gone = mask.masks(y / 4 * 10 + x / 4);
          for (std::size_t c = 0; c < 3; ++c) {
            ASSERT_EQ(image[at + c] == 0, gone) << ordinal << ": " << y << ", " << x;
            if (ordinal == 3 && !gone) {
              ASSERT_EQ(image[at + c], plain[at + c]);
            }
          }
        }
    }
    // Counts of a patch over samples have variance 400 p (1 - p); the sum is fixed, so that
    // sum (count - 400 p)^2 / (400 p (1 - p)) * 89 / 90 has about a chi-square law with 89 degrees.
    double chi = 0;
    const double p = 67 / 90.;
    for (const double count : masked)
      chi += (count - 400 * p) * (count - 400 * p) / (400 * p * (1 - p)) * 89 / 90;
    EXPECT_GT(test::upper_gamma(89 / 2., chi / 2), test::kGate);
  }
}

void expect_equal_bytes(const std::string& yaml) {
  SCOPED_TRACE(yaml);
  Emitted emit;
  std::vector<std::uint64_t> ordinals(12);
  for (std::size_t i = 0; i < ordinals.size(); ++i) ordinals[i] = i;
  const auto whole = emit(yaml, ordinals);
  for (const int members : {7, 32}) {
    emit.members = members;
    EXPECT_EQ(emit(yaml, ordinals), whole) << members;
  }
  const auto one = emit(yaml, {11});
  EXPECT_TRUE(std::equal(one.begin(), one.end(), whole.end() - kShape.elements()));
  const auto half = emit.operator()<bf16>(yaml, ordinals);
  for (std::size_t i = 0; i < whole.size(); ++i)
    ASSERT_EQ(static_cast<float>(half[i]), static_cast<float>(static_cast<bf16>(whole[i])));
}

TEST(WholeImage, GivesEqualBytesForAnyTeamAndBatchSize) {
  for (const std::string yaml :
       {"augment: [crop_resize, rand_augment: {operations: 4, deviation: 1}, noise: 0.1, "
        "erase_box: {fill: noise}]",
        "augment: [three_augment, noise: 0.1]", "augment: [simclr, mask_patches: {patch: 4}]",
        "augment: [three_augment, noise: 0.1, erase_box: {fill: noise, probability: 1}]"})
    expect_equal_bytes(yaml);
}

TEST(WholeImage, HandlesImagesOfOneChannelOrOneValue) {
  Emitted emit;
  emit.shape = emit.source_shape = {36, 40, 1};
  emit.bytes = test_image(emit.shape);
  for (const float v : emit("augment: [rand_augment: {operations: 4}]", {1, 2, 3, 4, 5}))
    ASSERT_TRUE(v >= 0 && v <= 1);
  std::ranges::fill(emit.bytes, std::uint8_t{77});
  const auto flat = emit("augment: [autocontrast: 1, sharpen: {factor: 2, probability: 1}]");
  for (const float v : flat) ASSERT_NEAR(v, 77 / 255., 1e-6);
  // On an image with a single level, equalise only rounds to 8 bits.
  for (const float v : emit("augment: [equalise: 1]")) ASSERT_EQ(v, 77 / 255.f);
}

TEST(Augmentation, MatchesTorchvisionInBicubicScaling) {
  const auto expect_part = [](const std::vector<float>& seen, SampleShape shape, int y0, int y1,
                              int x0, int x1, std::span<const float> expected) {
    std::size_t i = 0;
    for (int y = y0; y < y1; ++y)
      for (int x = x0; x < x1; ++x)
        for (int c = 0; c < 3; ++c, ++i)
          ASSERT_NEAR(seen[static_cast<std::size_t>((y * shape.width + x) * 3 + c)], expected[i],
                      kRounding);
    ASSERT_EQ(i, expected.size());
  };
  Emitted emit;
  emit.shape = {72, 80, 3};
  const std::string yaml = "padding: edge\ninterpolation: bicubic";
  expect_part(emit(yaml), emit.shape, 16, 20, 18, 20, tv::kLarger);
  emit.shape = {18, 20, 3};
  expect_part(emit(yaml), emit.shape, 3, 6, 4, 6, tv::kSmaller);
  emit.shape = kShape;  // unchanged: the operation only copies
  expect_probes(emit(yaml), tv::kImage, 0);
  // The kernel overshoots next to edges, so this uses stripes of two pixels.
  emit.shape = {72, 80, 3};
  for (std::size_t i = 0; i < emit.bytes.size(); ++i) emit.bytes[i] = i / 6 % 2 == 0 ? 0 : 255;
  for (const float v : emit(yaml)) ASSERT_TRUE(v >= 0 && v <= 1) << v;
}

TEST(Augmentation, AddsClampedNormalNoise) {
  Emitted emit;
  std::ranges::fill(emit.bytes, std::uint8_t{51});
  std::vector<double> values;
  for (const float v : emit("augment: [noise: 0.02]", {0, 1})) values.push_back((v - 0.2) / 0.02);
  EXPECT_GT(
      test::kolmogorov_p(values, [](double v) { return 0.5 * std::erfc(-v / std::sqrt(2.)); }),
      test::kGate);
  double neighbours = 0, channels = 0, samples = 0;
  const std::size_t image = values.size() / 2;
  for (std::size_t i = 0; i + 3 < image; ++i) {
    neighbours += values[i] * values[i + 3];
    channels += values[i] * values[i + 1];
    samples += values[i] * values[i + image];
  }
  const double root = std::sqrt(static_cast<double>(image - 3));
  for (const double sum : {neighbours, channels, samples})
    EXPECT_GT(test::normal_p(sum / root), test::kGate);
  for (const float v : emit("augment: [noise: 3]")) ASSERT_TRUE(v >= 0 && v <= 1);
}

TEST(Augmentation, ErasesBoxesOfTheGivenAreasInsideTheImage) {
  const auto plan = test::plan_of("augment: [erase_box: {fill: noise}]", {200, 160, 3});
  std::vector<double> areas, ratios;
  double count = 0;
  std::int32_t left = 160, top = 200, right = 0, bottom = 0;
  constexpr int kCount = 20000;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const Augmentation a = draw_augmentation(plan, {kImageSeed, i});
    if (a.erase_x1 == a.erase_x0) continue;
    count += 1;
    ASSERT_TRUE(a.erase_noise);
    left = std::min(left, a.erase_x0);
    top = std::min(top, a.erase_y0);
    right = std::max(right, a.erase_x1);
    bottom = std::max(bottom, a.erase_y1);
    const double w = a.erase_x1 - a.erase_x0, h = a.erase_y1 - a.erase_y0;
    ratios.push_back(h / w);
    areas.push_back(w * h / (200 * 160));
  }
  // Boxes stay inside the image and reach its borders. A box has at most 201 possible positions, of
  // which one touches a given border, so the probability that none of about 10000 boxes does is
  // below 1e-21.
  EXPECT_EQ(left, 0);
  EXPECT_EQ(top, 0);
  EXPECT_EQ(right, 160);
  EXPECT_EQ(bottom, 200);
  // All ten tries fail with a probability below 1e-6.
  EXPECT_GT(test::normal_p((count - kCount * 0.5) / std::sqrt(kCount * 0.25)), test::kGate);
  // Boxes that do not fit are redrawn, so only small areas are uniform: below a share of 0.15 the
  // longest side is sqrt(0.15 * 3.3 * 32000) = 126 of 160.
  std::vector<double> small;
  for (const double a : areas)
    if (a < 0.14 && a > 0.03) small.push_back(a);
  std::vector<double> cells(5);
  for (const double a : small)
    cells[std::min<std::size_t>(4, static_cast<std::size_t>((a - 0.03) / 0.022))] += 1;
  EXPECT_GT(test::uniform_chi_square_p(cells), test::kGate);
  EXPECT_LT(*std::ranges::max_element(ratios), 3.5);
  EXPECT_GT(*std::ranges::min_element(ratios), 0.28);
  // Whatever the normalisation, the fill has the spread of normalised values.
  Emitted emit;
  const auto seen = emit(
      "augment: [erase_box: {fill: noise, probability: 1}]\nnormalise: {mean: [10], std: [0.1]}",
      {7});
  std::vector<double> filled;
  for (const float v : seen)
    if (v > -20) filled.push_back(v);
  ASSERT_GT(filled.size(), 60u);
  EXPECT_GT(
      test::kolmogorov_p(filled, [](double v) { return 0.5 * std::erfc(-v / std::sqrt(2.)); }),
      test::kGate);
}

}  // namespace
}  // namespace wellspring
