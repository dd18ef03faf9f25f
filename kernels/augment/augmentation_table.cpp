// The table of augmentation operations: names, stages and parameters.
#include "core/expect.h"
#include "kernels/augment/augmentation_config.h"

#include <algorithm>
#include <utility>

namespace wellspring {
namespace {

using Table = ParamTable<AugmentParams>;
using Entries = std::vector<AugmentEntry>;

/// Adds an operation with its probability; returns its table, for the other parameters.
Table& add(Entries& entries, AugmentOp op, const std::string& name, AugmentStage stage,
           std::string main, std::string summary, std::string source,
           const AugmentParams& defaults = {}) {
  entries.push_back({op, name, stage, std::move(main), std::move(summary), std::move(source),
                     Table("augment." + name), defaults});
  return entries.back().table.real("probability", &AugmentParams::probability, {0, 1}, "",
                                   "probability of applying it to a sample");
}

void add_geometry(Entries& entries) {
  constexpr auto kStage = AugmentStage::geometry;
  add(entries, AugmentOp::crop_resize, "crop_resize", kStage, "scale",
      "random crop, resized to the size of the output",
      "torchvision.transforms.RandomResizedCrop; Szegedy et al., CVPR 2015")
      .real_list("scale", &AugmentParams::scale, {1e-4, 1}, "of the area",
                 "area of the crop, uniform in the range")
      .real_list("ratio", &AugmentParams::ratio, {0.01, 100}, "width / height",
                 "aspect ratio of the crop, log-uniform in the range");
  add(entries, AugmentOp::flip_x, "flip_x", kStage, "probability", "horizontal flip", "",
      {.probability = 0.5});
  add(entries, AugmentOp::flip_y, "flip_y", kStage, "probability", "vertical flip", "",
      {.probability = 0.5});
  add(entries, AugmentOp::shift, "shift", kStage, "fraction",
      "shift by whole pixels, uniform along x and along y", "")
      .real("fraction", &AugmentParams::fraction, {0, 0.99}, "image side",
            "largest shift along each axis");
  add(entries, AugmentOp::zoom, "zoom", kStage, "scale", "zoom about the centre", "")
      .real_list("scale", &AugmentParams::zoom, {0.05, 20}, "",
                 "magnification, log-uniform in the range; 2 shows half the width and height")
      .required();
  add(entries, AugmentOp::rotate, "rotate", kStage, "angle", "rotation about the centre",
      "torchvision.transforms.RandomRotation")
      .real("angle", &AugmentParams::angle, {0, 180}, "degree",
            "largest rotation in either direction; uniform")
      .required();
  add(entries, AugmentOp::perspective, "perspective", kStage, "distortion",
      "perspective: each corner moves inwards by whole pixels, uniform up to the distortion",
      "torchvision.transforms.RandomPerspective", {.probability = 0.5})
      .real("distortion", &AugmentParams::distortion, {0, 0.65}, "half a side",
            "largest shift of a corner along x and along y; at 2/3 and above the quadrilateral "
            "could become concave");
  add(entries, AugmentOp::affine, "affine", kStage, "angle",
      "rotation, shift by whole pixels, scaling and shear about the centre",
      "torchvision.transforms.RandomAffine")
      .real("angle", &AugmentParams::angle, {0, 180}, "degree",
            "largest rotation in either direction; uniform")
      .real_list("translate", &AugmentParams::translate, {0, 1}, "image side",
                 "largest shift along x and along y, uniform and then rounded to pixels")
      .real_list("scale", &AugmentParams::zoom, {0.05, 20}, "",
                 "magnification, uniform in the range")
      .real_list("shear", &AugmentParams::shear, {0, 60}, "degree",
                 "largest shear along x and along y in either direction; uniform");
}

/// An operation whose factor is uniform in [max(0, 1 - strength), 1 + strength].
Table& add_jitter(Entries& entries, AugmentOp op, const std::string& name, std::string summary) {
  return add(entries, op, name, AugmentStage::colour, "strength", std::move(summary),
             "torchvision.transforms.ColorJitter")
      .real("strength", &AugmentParams::strength, {0, 10}, "",
            "the factor is uniform in [1 - strength, 1 + strength], clamped at 0")
      .required();
}

void add_colours(Entries& entries) {
  constexpr auto kStage = AugmentStage::colour;
  add_jitter(entries, AugmentOp::brightness, "brightness", "multiply colours by a factor");
  add_jitter(entries, AugmentOp::contrast, "contrast",
             "multiply differences from middle grey (0.5) by a factor")
      .choice(
          "about", &AugmentParams::about,
          {{"middle", ContrastCentre::middle}, {"mean", ContrastCentre::mean}},
          "fixed point: 0.5, or the mean luma of the image as in torchvision (needs another pass)");
  add_jitter(entries, AugmentOp::saturation, "saturation",
             "multiply differences from the pixel's grey value by a factor");
  add(entries, AugmentOp::hue, "hue", kStage, "strength", "shift hues around the colour circle",
      "torchvision.transforms.ColorJitter")
      .real("strength", &AugmentParams::strength, {0, 0.5}, "turn",
            "largest shift in either direction; uniform")
      .required();
  add(entries, AugmentOp::grey, "grey", kStage, "probability", "replace colours by their luma",
      "torchvision.transforms.RandomGrayscale", {.probability = 0.1});
  add(entries, AugmentOp::solarise, "solarise", kStage, "threshold",
      "invert values from the threshold up: 1 - value", "torchvision.transforms.RandomSolarize",
      {.probability = 0.5})
      .real("threshold", &AugmentParams::threshold, {0, 1}, "", "smallest value to invert");
  add(entries, AugmentOp::posterise, "posterise", kStage, "bits",
      "round values down to 2^bits levels", "torchvision.transforms.RandomPosterize",
      {.probability = 0.5})
      .integer("bits", &AugmentParams::bits, {1, 8}, "", "bits per value; 8 has no effect")
      .required();
}

void add_whole_images(Entries& entries) {
  constexpr auto kStage = AugmentStage::whole;
  add(entries, AugmentOp::autocontrast, "autocontrast", kStage, "probability",
      "stretch each channel to [0, 1]", "torchvision.transforms.RandomAutocontrast",
      {.probability = 0.5});
  add(entries, AugmentOp::equalise, "equalise", kStage, "probability",
      "equalise the histogram of each channel (256 levels)",
      "torchvision.transforms.RandomEqualize", {.probability = 0.5});
  add(entries, AugmentOp::sharpen, "sharpen", kStage, "factor",
      "multiply differences from the smoothed image by a factor",
      "torchvision.transforms.RandomAdjustSharpness", {.probability = 0.5})
      .real("factor", &AugmentParams::factor, {0, 10}, "", "0 smooths, 1 has no effect, 2 sharpens")
      .required();
  add(entries, AugmentOp::noise, "noise", kStage, "deviation",
      "add normal noise, independent per pixel and channel",
      "torchvision.transforms.v2.GaussianNoise")
      .real("deviation", &AugmentParams::deviation, {0, 10}, "",
            "standard deviation; values are in [0, 1]");
  add(entries, AugmentOp::rand_augment, "rand_augment", kStage, "magnitude",
      "random operations per sample, from 14: first their geometry, then their colours",
      "torchvision.transforms.v2.RandAugment; Cubuk et al., NeurIPS 2020", {.deviation = 0})
      .integer("operations", &AugmentParams::operations, {0, kMostRandOperations}, "",
               "number of operations, drawn with replacement (torchvision's num_ops)")
      .real("magnitude", &AugmentParams::magnitude, {0, 30}, "of 30",
            "magnitude: 0 weakest, 30 strongest")
      .real("deviation", &AugmentParams::deviation, {0, 30}, "of 30",
            "standard deviation of each operation's magnitude; torchvision: 0, DeiT: 0.5");
}

void add_neighbours(Entries& entries) {
  add(entries, AugmentOp::blur, "blur", AugmentStage::neighbours, "sigma",
      "Gaussian blur; the image is mirrored at its border", "torchvision.transforms.GaussianBlur",
      {.probability = 0.5})
      .real_list("sigma", &AugmentParams::sigma, {0.01, 32}, "pixel",
                 "standard deviation, uniform in the range")
      .integer(
          "kernel", &AugmentParams::kernel, {0, 193}, "pixel",
          "odd side of the kernel; 0: three times the largest standard deviation on each side");
}

void add_erasure(Entries& entries) {
  constexpr auto kStage = AugmentStage::erase;
  add(entries, AugmentOp::erase, "erase", kStage, "side",
      "set a square to the mean, with its centre anywhere in the image",
      "cutout: DeVries and Taylor, arXiv:1708.04552")
      .integer("side", &AugmentParams::side, {1, 16384}, "pixel",
               "side of the square, which may extend over the border")
      .required();
  add(entries, AugmentOp::erase_box, "erase_box", kStage, "probability",
      "erase a box of random area and ratio inside the image",
      "torchvision.transforms.v2.RandomErasing; Zhong et al., AAAI 2020",
      {.probability = 0.5, .scale = {0.02, 0.33}, .ratio = {0.3, 3.3}})
      .real_list("scale", &AugmentParams::scale, {1e-4, 1}, "of the area",
                 "area of the box, uniform in the range")
      .real_list("ratio", &AugmentParams::ratio, {0.01, 100}, "height / width",
                 "aspect ratio of the box, log-uniform in the range")
      .choice("fill", &AugmentParams::fill,
              {{"mean", ErasedFill::mean}, {"noise", ErasedFill::noise}},
              "the mean, or normal numbers (after normalisation)");
}

Entries make_table() {
  Entries entries;
  add_geometry(entries);
  add_colours(entries);
  add_whole_images(entries);
  add_neighbours(entries);
  add_erasure(entries);
  return entries;
}

}  // namespace

std::vector<ParamRow> AugmentEntry::rows() const {
  std::vector<ParamRow> all;
  for (const detail::BoundRow& bound : table.bound().rows) {
    all.push_back(bound.row);
    if (!bound.row.required)
      all.back().default_text = detail::param_text(bound.row, bound.get(&defaults));
  }
  return all;
}

const std::vector<AugmentEntry>& augmentation_table() {
  static const std::vector<AugmentEntry> table = make_table();
  return table;
}

const AugmentEntry& augmentation_entry(AugmentOp op) {
  const auto& table = augmentation_table();
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const AugmentEntry& entry) { return entry.op == op; });
  WS_EXPECT(found != table.end());
  return *found;
}

const ParamTable<Normalisation>& normalisation_table() {
  static const auto table =
      ParamTable<Normalisation>("normalise")
          .real_list("mean", &Normalisation::mean, {-10, 10}, "",
                     "subtracted from colours in [0, 1]; one value, or one per channel")
          .real_list("std", &Normalisation::std, {1e-6, 1e6}, "",
                     "then divided by; one value, or one per channel");
  return table;
}

const ParamTable<Augmentations>& reading_table() {
  static const auto table =
      ParamTable<Augmentations>("augment")
          .choice("padding", &Augmentations::padding,
                  {{"zero", Padding::zero}, {"edge", Padding::edge}},
                  "values of stored images beyond their border")
          .choice("interpolation", &Augmentations::interpolation,
                  {{"bilinear", Interpolation::bilinear}, {"bicubic", Interpolation::bicubic}},
                  "interpolation of stored images between pixel centres");
  return table;
}

}  // namespace wellspring
