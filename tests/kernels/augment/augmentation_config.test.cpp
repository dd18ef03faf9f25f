#include "kernels/augment/augmentation_config.h"

#include "core/error.h"
#include "tests/support/augmentation.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace wellspring {
namespace {

Augmentations read(const std::string& text) {
  const ConfigDocument document = ConfigDocument::parse(text, "a.yaml");
  Augmentations values;
  read_augmentations(document.root(), values);
  document.finish();
  return values;
}

using test::yaml_of;

/// The message of the error that `text` causes.
std::string refusal(const std::string& text) {
  SCOPED_TRACE(text);
  return test::message_of(ErrorKind::config, [&] {
    plan_augmentation(read(text), {32, 32}, {32, 32});
  });
}
void expect_refused(const std::string& text, const std::string& place, const std::string& words) {
  test::expect_parts(refusal(text), {place, words});
}

template <class Op>
const OperationParams<Op>& params(const Augmentations& values, std::size_t i) {
  return std::get<OperationParams<Op>>(values.list[i].params);
}

TEST(AugmentationOps, HaveUniqueNamesAndNumbers) {
  std::set<std::string> names;
  std::set<AugmentOp> ops = {op_of<augment::ContrastAboutMean>, op_of<augment::SolariseAdd>};
  for (const AugmentEntry& entry : augmentation_table()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_TRUE(ops.insert(entry.op).second) << entry.name;
    EXPECT_FALSE(entry.summary.empty());
    bool has_main = false;
    for (const ParamRow& row : entry.rows()) has_main |= row.name == entry.main;
    EXPECT_TRUE(has_main) << entry.name;
    EXPECT_EQ(&augmentation_entry(entry.op), &entry);
  }
  EXPECT_EQ(names.size(), 28u);
}

TEST(AugmentationOps, RefuseMagnitudesThatTimmDoesNotHave) {
  expect_refused("augment: [rand_augment: {table: timm, magnitude: 11}]", "augment.rand_augment",
                 "at most 10");
  EXPECT_EQ(plan_augmentation(read("augment: [rand_augment: {table: timm, magnitude: 9}]"),
                              {32, 32}, {32, 32})
                .colour[0]
                .value[3],
            1);
}

TEST(AugmentationOps, RunInListOrder) {
  const Augmentations values = read(R"(
augment:
  - crop_resize: {scale: [0.2, 1], ratio: [0.8, 1.25]}
  - flip_x: 0.25
  - brightness: 0.4
  - blur: {sigma: [0.5, 1], kernel: 5}
  - grey
  - erase: 8
normalise: {mean: [0.1, 0.2, 0.3], std: [0.5]}
padding: edge
)");
  ASSERT_EQ(values.list.size(), 6u);
  EXPECT_EQ(params<augment::CropResize>(values, 0).ratio[1], 1.25);
  EXPECT_EQ(params<augment::FlipX>(values, 1).probability, 0.25);
  EXPECT_EQ(params<augment::Blur>(values, 3).kernel, 5);
  EXPECT_EQ(values.list[4].op(), op_of<augment::Grey>);
  EXPECT_EQ(params<augment::Grey>(values, 4).probability, 0.1);
  EXPECT_EQ(values.list[5].place.line, 8);

  const AugmentationPlan plan = plan_augmentation(values, {40, 40}, {32, 32});
  EXPECT_EQ(plan.geometry_count, 2);
  EXPECT_EQ(plan.geometry[0].op, op_of<augment::CropResize>);
  EXPECT_EQ(plan.colour_count, 2);
  EXPECT_EQ(plan.colour_before_blur, 1);
  EXPECT_FLOAT_EQ(plan.colour[0].value[0], 0.6f);
  EXPECT_FLOAT_EQ(plan.colour[0].value[1], 1.4f);
  EXPECT_EQ(plan.blur_radius, 2);
  EXPECT_EQ(plan.erase.value[0], 8);
  EXPECT_EQ(plan.padding, Padding::edge);
  EXPECT_EQ(plan.mean[2], 0.3f);
  EXPECT_EQ(plan.inv_std[2], 2);
}

// Runs without a centre crop keep their identity.
TEST(AugmentationOps, AreWrittenWithTheCentreCropOfHeldOutSamples) {
  EXPECT_EQ(yaml_of(read("padding: edge")).find("centre_crop"), std::string::npos);
  const Augmentations values = read(yaml_of(read("augment: [crop: 40]\ncentre_crop: 36")));
  EXPECT_EQ(params<augment::Crop>(values, 0).resize, 40);
  const Augmentations held_out = values.held_out();
  ASSERT_EQ(held_out.list.size(), 1u);
  EXPECT_EQ(params<augment::Crop>(held_out, 0).resize, 36);
  EXPECT_EQ(params<augment::Crop>(held_out, 0).place, augment::CropPlace::centre);
  EXPECT_TRUE(read("").held_out().list.empty());
}

TEST(AugmentationOps, HaveTheDocumentedDefaults) {
  const Augmentations values = read("augment: [flip_x, crop_resize, blur]");
  EXPECT_EQ(params<augment::FlipX>(values, 0).probability, 0.5);
  EXPECT_EQ(params<augment::CropResize>(values, 1).scale, (std::vector<double>{0.08, 1}));
  EXPECT_EQ(params<augment::Blur>(values, 2).probability, 0.5);
  EXPECT_EQ(plan_augmentation(read(""), {8, 8}, {8, 8}).colour_count, 0);
}

TEST(AugmentationOps, ReplaceTheWholeListInASource) {
  const ConfigDocument document = ConfigDocument::parse(
      "augment: [flip_x: 0.5, grey: 1]\nnormalise: {mean: [0.5]}\n"
      "own: {augment: [shift: 0.1], normalise: {std: [2]}}\nbare: {augment: []}\n",
      "a.yaml");
  Augmentations shared;
  read_augmentations(document.root(), shared);
  Augmentations own = shared, bare = shared;
  read_augmentations(document.root().section("own"), own);
  read_augmentations(document.root().section("bare"), bare);
  document.finish();
  ASSERT_EQ(own.list.size(), 1u);
  EXPECT_EQ(own.list[0].op(), op_of<augment::Shift>);
  EXPECT_EQ(own.normalisation.mean[0], 0.5);
  EXPECT_EQ(own.normalisation.std[0], 2);
  EXPECT_TRUE(bare.list.empty());
}

TEST(AugmentationOps, RoundTripThroughYaml) {
  const Augmentations values = read(
      "augment: [rotate: 30, zoom: [0.8, 1.25], hue: 0.1, blur: [0.1, 2]]\n"
      "normalise: {std: [0.25]}\n");
  const Augmentations again = read(yaml_of(values));
  EXPECT_EQ(yaml_of(again), yaml_of(values));
  EXPECT_EQ(plan_augmentation(again, {64, 64}, {64, 64}),
            plan_augmentation(values, {64, 64}, {64, 64}));
  EXPECT_EQ(yaml_of(read(yaml_of({}))), yaml_of({}));
}

TEST(AugmentationOps, RefuseMistakesWithTheirLocation) {
  expect_refused("augment:\n  - flip_x: 0.5\n  - flipy: 0.5\n", "a.yaml:3", "flip_y");
  expect_refused("augment: [flipx]", "a.yaml:1:11", "flip_x");
  expect_refused("augment:\n  - flip_x: 1.5\n", "a.yaml:2", "1.5");
  expect_refused("augment:\n  - flip_x: {probabilty: 1}\n", "a.yaml:2", "probability");
  expect_refused("augment:\n  - zoom: 2\n", "a.yaml:2", "2");
  expect_refused("augment:\n  - zoom\n", "a.yaml:2", "scale");
  expect_refused("augment:\n  - zoom: [2, 1]\n", "a.yaml:2", "swap the two");
  expect_refused("augment:\n  - {flip_x: 1, flip_y: 1}\n", "a.yaml:2", "on its own line");
  expect_refused("augment:\n  - [flip_x]\n", "a.yaml:2", "not an operation");
  expect_refused("augment:\n  - flip_x: 1\n  - flip_x: 0.5\n", "a.yaml:3", "listed twice");
  expect_refused("augment: {flip_x: 1}", "a.yaml:1", "augment");
  expect_refused("augment:\n  - blur: {kernel: 4}\n", "a.yaml:2", "odd");
  expect_refused("augment:\n  - blur: [8, 16]\n", "a.yaml:2", "48 pixels");
  expect_refused("augment:\n  - affine: {shear: [3]}\n", "a.yaml:2", "[x, y]");
  expect_refused("augment:\n  - erase_box: {scale: [0.3, 0.1]}\n", "a.yaml:2", "swap the two");
  expect_refused("augment:\n  - rand_augment: {operations: 5}\n", "a.yaml:2", "5");
  expect_refused("augment:\n  - posterise\n", "a.yaml:2", "bits");
  expect_refused("augment:\n  - erase_box: 0.25\n", "a.yaml:2", "write erase_box: {probability");
  expect_refused("normalise: {mean: [0.1, 0.2]}", "a.yaml", "2 values");
  expect_refused("normalise: {std: [0]}", "a.yaml:1", "std");
}

TEST(AugmentationOps, PlanRandAugmentAsGeometryAndColours) {
  const AugmentationPlan plan = plan_augmentation(
      read("augment: [crop_resize, rand_augment: {operations: 3, magnitude: 12}, grey: 0.2]"),
      {64, 64}, {32, 32});
  EXPECT_EQ(plan.geometry_count, 2);
  EXPECT_EQ(plan.geometry[1].op, op_of<augment::RandAugment>);
  EXPECT_EQ(plan.colour_count, 2);
  EXPECT_EQ(plan.colour[0].value[0], 3);
  EXPECT_EQ(plan.colour[0].value[1], 12);
  EXPECT_EQ(plan.colour[0].value[2], 0);
  EXPECT_TRUE(plan.whole_images);
  EXPECT_FALSE(
      plan_augmentation(read("augment: [contrast: 0.4, erase_box]"), {9, 9}, {9, 9}).whole_images);
  EXPECT_TRUE(
      plan_augmentation(read("augment: [erase_box: {fill: noise}]"), {9, 9}, {9, 9}).whole_images);
}

TEST(AugmentationOps, MaskWholePatches) {
  const auto mask = [](const std::string& values, FrameSize out) {
    return plan_augmentation(read("augment: [crop_resize, mask_patches: " + values + "]"),
                             {224, 200}, out);
  };
  EXPECT_EQ(mask("0.75", {224, 224}).erase.value[1], 147);
  EXPECT_EQ(mask("{patch: 8, ratio: 0.29}", {80, 80}).erase.value[1],
            29);  // 0.29 * 100 < 29 in f64
  EXPECT_EQ(mask("{patch: 8, ratio: 0.5}", {40, 8}).erase.value[1], 2);
  EXPECT_TRUE(mask("0.75", {32, 32}).whole_images);
  expect_refused("augment:\n  - mask_patches: {patch: 5}\n", "a.yaml:2", "32 x 32");
  expect_refused("augment:\n  - mask_patches: {patch: 1, ratio: 1.5}\n", "a.yaml:2", "1.5");
  expect_refused("augment:\n  - mask_patches: 0.5\n  - erase: 4\n", "a.yaml:3", "remove one");
  EXPECT_NE(test::message_of(ErrorKind::config,
                             [&] {
                               mask("{patch: 2}", {224, 224});
                             })
                .find("12544 patches"),
            std::string::npos);
}

TEST(AugmentationOps, RefuseOperationsThatMixSamples) {
  expect_refused("augment:\n  - flip_x\n  - mixup: 0.8\n", "a.yaml:3",
                 "mix: {mixup: 1} under data");
  expect_refused("augment: [cutmix]", "a.yaml:1:11", "mix: {cutmix: 1} under data");
}

TEST(AugmentationOps, RefuseImpossibleOrders) {
  expect_refused("augment:\n  - blur\n  - rotate: 10\n", "a.yaml:3", "before blur");
  expect_refused("augment:\n  - erase: 4\n  - grey\n", "a.yaml:3", "before erase");
  expect_refused("augment:\n  - equalise\n  - rotate: 10\n", "a.yaml:3", "before equalise");
  expect_refused("augment:\n  - rand_augment\n  - crop_resize\n", "a.yaml:3",
                 "before rand_augment");
  expect_refused("augment:\n  - contrast: {strength: 1, about: mean}\n  - flip_x\n", "a.yaml:3",
                 "before contrast");
  expect_refused("augment:\n  - blur\n  - rand_augment\n", "a.yaml:3", "before blur");
  expect_refused("augment:\n  - erase: 4\n  - erase_box\n", "a.yaml:3", "remove one");
  read("augment: [contrast: 0.3, flip_x]");
  read("augment: [grey, sharpen: 2, hue: 0.1, equalise, rand_augment, blur, solarise, erase_box]");
  read("augment: [blur, sharpen: 2, contrast: {strength: 0.3, about: mean}]");
  // Colours may come before, between and after geometry, and after the blur.
  read("augment: [grey: 1, flip_x: 1, hue: 0.1, rotate: 10, blur: [1, 2], solarise: 0.5]");
}

TEST(AugmentationOps, NameTheReplacementOfTheFormerKey) {
  expect_refused("view: {flip_x: 0.5}", "a.yaml:1", "augment: [flip_x: 0.5");
  expect_refused("view: {mean: [0.5]}", "a.yaml:1", "normalise:");
}

TEST(AugmentationOps, RefuseRegressionIfLatentsCannotBeMapped) {
  const auto refuses = [](const std::string& list, LatentRole role) {
    try {
      expect_mappable(read("augment: " + list), role, "angle");
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("a.yaml:1"), std::string::npos) << error.what();
      return true;
    }
    return false;
  };
  EXPECT_FALSE(refuses("[flip_x, rotate: 10, crop_resize]", LatentRole::angle));
  EXPECT_TRUE(refuses("[flip_x, perspective]", LatentRole::position_x));
  EXPECT_FALSE(refuses("[perspective]", LatentRole::fixed));
  EXPECT_TRUE(refuses("[flip_x]", LatentRole::unmapped));
  EXPECT_FALSE(refuses("[grey, erase: 4]", LatentRole::unmapped));
  EXPECT_TRUE(refuses("[hue: 0.1]", LatentRole::colour));
  EXPECT_FALSE(refuses("[flip_x, perspective, erase: 4]", LatentRole::colour));
  EXPECT_FALSE(refuses("[affine, rand_augment]", LatentRole::angle));
  EXPECT_TRUE(refuses("[affine]", LatentRole::unmapped));
  EXPECT_TRUE(refuses("[rand_augment]", LatentRole::unmapped));
  EXPECT_TRUE(refuses("[rand_augment]", LatentRole::colour));
  EXPECT_TRUE(refuses("[equalise]", LatentRole::colour));
  EXPECT_FALSE(refuses("[equalise, noise]", LatentRole::position_x));
}

}  // namespace
}  // namespace wellspring
