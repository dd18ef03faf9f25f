// Groups and presets of augmentation lists: what is applied, how often, and in which order.
#include "kernels/augment/augmentation_draw.h"
#include "kernels/augment/augmentation_presets.h"
#include "tests/support/augmentation.h"
#include "tests/support/error_testing.h"
#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace wellspring {
namespace {

constexpr std::uint64_t kGroupSeed = 5;
constexpr int kGroupDraws = 20000;

AugmentationPlan grouped_plan(const std::string& yaml) {
  return test::plan_of(yaml, {32, 32}, {32, 32});
}
Augmentation grouped(const AugmentationPlan& plan, int ordinal) {
  return draw_augmentation(plan, {kGroupSeed, static_cast<std::uint64_t>(ordinal)});
}
/// Names of the drawn colours, in order; "blur" at its place.
std::string drawn_names(const Augmentation& a) {
  std::string names;
  for (int i = 0; i <= a.colour_count; ++i) {
    if (i == a.colour_before_blur && a.blur_sigma > 0) names += "blur ";
    if (i == a.colour_count) break;
    augment::DrawnOperations::visit(
        a.colour[i].op, [&]<class Op>() { names += std::string(Op::kInfo.name) + " "; });
  }
  return names;
}
/// How often each sequence of colours is drawn.
std::map<std::string, double> sequences(const AugmentationPlan& plan) {
  std::map<std::string, double> counts;
  for (int i = 0; i < kGroupDraws; ++i) counts[drawn_names(grouped(plan, i))] += 1;
  return counts;
}
void expect_shares(const std::map<std::string, double>& counts,
                   const std::map<std::string, double>& shares) {
  std::vector<double> seen, expected;
  for (const auto& [names, count] : counts) {
    ASSERT_TRUE(shares.contains(names)) << names;
    seen.push_back(count);
    expected.push_back(shares.at(names) * kGroupDraws);
  }
  ASSERT_EQ(counts.size(), shares.size());
  EXPECT_GT(test::chi_square_p(seen, expected), test::kGate);
}

TEST(AugmentationGroups, ApplyAllMembersOrNone) {
  expect_shares(sequences(grouped_plan("augment:\n- apply: 0.8\n  of: [grey: 1, hue: 0.1]\n")),
                {{"grey hue ", 0.8}, {"", 0.2}});
}

TEST(AugmentationGroups, ChooseOneMember) {
  expect_shares(sequences(grouped_plan("augment:\n- one_of: [grey: 1, solarise: {probability: 1}, "
                                       "blur: {probability: 1}]\n- hue: 0.1\n")),
                {{"grey hue ", 1 / 3.}, {"solarise hue ", 1 / 3.}, {"blur hue ", 1 / 3.}});
  // A member keeps its own probability.
  expect_shares(sequences(grouped_plan("augment:\n- one_of: [grey: 0.5, hue: 0.1, solarise: "
                                       "{probability: 1}]\n  weights: [2, 1, 0]\n")),
                {{"grey ", 1 / 3.}, {"hue ", 1 / 3.}, {"", 1 / 3.}});
}

TEST(AugmentationGroups, ShuffleWithEqualChances) {
  const auto plan = grouped_plan(
      "augment:\n- posterise: {bits: 4, probability: 1}\n- random_order: [brightness: 0.4, "
      "contrast: {strength: 0.4, about: mean}, saturation: 0.2, hue: 0.1]\n- grey: 1\n");
  std::map<std::string, double> shares;
  std::vector<std::string> names = {"brightness ", "contrast ", "hue ", "saturation "};
  do {
    shares["posterise " + names[0] + names[1] + names[2] + names[3] + "grey "] = 1 / 24.;
  } while (std::ranges::next_permutation(names).found);
  expect_shares(sequences(plan), shares);
}

TEST(AugmentationGroups, Nest) {
  const std::string yaml =
      "augment:\n- apply: 0.5\n  of:\n  - one_of:\n    - apply: 0.5\n      of: [grey: 1, hue: "
      "0.1]\n"
      "    - random_order: [saturation: 0.3, brightness: 0.3]\n"
      "- solarise: {probability: 1}\n";
  expect_shares(sequences(grouped_plan(yaml)), {{"grey hue solarise ", 0.125},
                                                {"saturation brightness solarise ", 0.125},
                                                {"brightness saturation solarise ", 0.125},
                                                {"solarise ", 0.625}});
}

TEST(AugmentationGroups, ContainGeometry) {
  const auto plan = grouped_plan(
      "augment:\n- one_of: [flip_x: 1, flip_y: 1]\n- apply: 0.25\n  of: [crop_resize: "
      "{scale: [0.1, 0.5]}, grey: 1]\n");
  std::vector<double> counts(4);
  for (int i = 0; i < kGroupDraws; ++i) {
    const Augmentation a = grouped(plan, i);
    ASSERT_LT(a.m00 * a.m11, 0);  // exactly one flip
    ASSERT_EQ(a.colour_count == 1, std::abs(a.m00) < 0.95f);
    counts[(a.m00 < 0 ? 2 : 0) + (a.colour_count == 1 ? 1 : 0)] += 1;
  }
  EXPECT_GT(test::chi_square_p(counts, {7500, 2500, 7500, 2500}), test::kGate);
}

// The first word of group g, number 128 + g, decides whether it is applied.
TEST(AugmentationGroups, UseTheirOwnWords) {
  const auto plan = grouped_plan(
      "augment:\n- one_of: [grey: 1, solarise: {probability: 1}]\n- apply: 0.3\n  of: [hue: "
      "0.1]\n");
  const auto plain = grouped_plan("augment: [hue: 0.1]");
  for (int i = 0; i < 200; ++i) {
    const SampleRng rng{kGroupSeed, static_cast<std::uint64_t>(i)};
    const auto uniform = [&](std::uint32_t group, std::size_t word) {
      return unit_float(rng.block(Purpose::augment, (128 + group) << 8).word[word]);
    };
    const std::string first = uniform(0, 1) < 0.5f ? "grey " : "solarise ";
    const Augmentation a = grouped(plan, i);
    ASSERT_EQ(drawn_names(a), first + (uniform(1, 0) < 0.3f ? "hue " : ""));
    if (a.colour_count == 2) {
      EXPECT_EQ(a.colour[1].value, grouped(plain, i).colour[0].value);
    }
  }
}

// Transforms of torchvision: RandomApply([ColorJitter(...)], 0.8), RandomGrayscale(0.2),
// RandomApply([GaussianBlur(...)], p). ColorJitter shuffles its four operations.
TEST(AugmentationPresets, ApplyColoursAsOftenAsPublished) {
  const std::map<std::string, double> blurs = {
      {"simclr", 0.5}, {"dino_global_1", 1}, {"dino_global_2", 0.1}, {"dino_local", 0.5}};
  for (const auto& [name, blur] : blurs) {
    SCOPED_TRACE(name);
    const auto plan = grouped_plan("augment: [" + name + "]");
    EXPECT_TRUE(plan.whole_images && plan.blurs());
    std::vector<double> counts(16), expected;
    for (int i = 0; i < kGroupDraws; ++i) {
      const std::string names = drawn_names(grouped(plan, i));
      const auto has = [&](const char* part) { return names.find(part) != std::string::npos; };
      ASSERT_EQ(has("hue"), has("contrast"));
      counts[(has("hue") ? 1u : 0u) + (has("grey") ? 2u : 0u) + (has("blur") ? 4u : 0u) +
             (has("solarise") ? 8u : 0u)] += 1;
    }
    const double solarise = name == "dino_global_2" ? 0.2 : 0;
    std::vector<double> seen;
    for (std::size_t i = 0; i < 16; ++i) {
      const double share = ((i & 1) != 0 ? 0.8 : 0.2) * ((i & 2) != 0 ? 0.2 : 0.8) *
                           ((i & 4) != 0 ? blur : 1 - blur) *
                           ((i & 8) != 0 ? solarise : 1 - solarise);
      if (share == 0) {
        ASSERT_EQ(counts[i], 0);
        continue;
      }
      seen.push_back(counts[i]);
      expected.push_back(share * kGroupDraws);
    }
    EXPECT_GT(test::chi_square_p(seen, expected), test::kGate);
  }
}

// RandomChoice of grey, Solarization and GaussianBlur, then ColorJitter(0.3, 0.3, 0.3).
TEST(AugmentationPresets, DrawThreeAugmentAsPublished) {
  const auto plan = grouped_plan("augment: [three_augment]");
  EXPECT_TRUE(plan.whole_after_blur);
  std::map<std::string, double> shares;
  std::vector<std::string> names = {"brightness ", "contrast ", "saturation "};
  do {
    for (const char* const first : {"grey ", "solarise ", "blur "})
      shares[first + names[0] + names[1] + names[2]] = 1 / 18.;
  } while (std::ranges::next_permutation(names).found);
  expect_shares(sequences(plan), shares);
}

TEST(AugmentationPresets, AreListedWithTheirSource) {
  for (const AugmentPreset& preset : augment_presets()) {
    EXPECT_FALSE(preset.summary.empty() || preset.source.empty());
    grouped_plan("augment: [" + preset.name + ", erase: 4]");
  }
}

TEST(AugmentationGroups, RoundTripThroughYaml) {
  for (const std::string yaml :
       {"augment: [simclr]", "augment: [three_augment, noise: 0.1]",
        "augment:\n- flip_x: 1\n- apply: 0.5\n  of:\n  - one_of: [grey: 1, hue: 0.1]\n    weights: "
        "[1, 3]\n  - random_order: [brightness: 0.1, equalise: 1]\n  - noise: 0.1\n- blur\n"}) {
    const Augmentations values = test::augmentations_of(yaml);
    const Augmentations again = test::augmentations_of(test::yaml_of(values));
    EXPECT_EQ(test::yaml_of(again), test::yaml_of(values));
    EXPECT_EQ(plan_augmentation(again, {32, 32}, {32, 32}),
              plan_augmentation(values, {32, 32}, {32, 32}))
        << test::yaml_of(values);
    EXPECT_GT(again.groups.size(), 0u);
  }
}

TEST(AugmentationGroups, AreRefusedWithTheirLocation) {
  const auto expect = [](const std::string& list, const std::string& words) {
    SCOPED_TRACE(list);
    test::expect_parts(
        test::message_of(ErrorKind::config, [&] { grouped_plan("augment:\n" + list); }),
        {"test.yaml:", words});
  };
  expect("- apply: 0.8\n", "apply has no operations");
  expect("- one_of: []\n", "one_of has no operations");
  expect("- apply: 1.8\n  of: [grey]\n", "1.8");
  expect("- apply: 0.8\n  off: [grey]\n", "off");
  expect("- one_of: [grey, hue: 0.1]\n  weights: [1]\n", "1 weights for 2 members");
  expect("- one_of: [grey, hue: 0.1]\n  weights: [0, 0]\n", "with sum 0");
  expect("- one_of: [grey, hue: 0.1]\n  flip_x: 1\n", "flip_x");
  expect("- random_order: [grey, flip_x]\n", "flip_x is in random_order");
  expect("- random_order: [grey, blur]\n", "blur is in random_order");
  expect("- random_order: [grey, rand_augment]\n", "rand_augment is in random_order");
  expect("- random_order: [grey, apply: 0.8]\n", "apply has no operations");
  expect("- random_order:\n  - grey\n  - apply: 0.8\n    of: [hue: 0.1]\n",
         "apply is in random_order");
  expect("- one_of: [grey, simclr]\n", "simclr is in a group");
  expect("- grey\n- apply: 1\n  of: [grey]\n", "listed twice");
  expect("- blur\n- one_of: [flip_x, grey]\n", "before blur");
  expect("- one_of: [grey]\n  random_order: [hue: 0.1]\n", "random_order");
  std::string many;
  for (int i = 0; i < 9; ++i) many += "- one_of: [grey]\n";
  expect(many, "more than 8 groups");
  expect("- simclrr\n", "simclr");
}

}  // namespace
}  // namespace wellspring
