// The table of augmentation operations: what each is called, what it needs, and its parameters.
#include "core/expect.h"
#include "kernels/augment/augmentation_config.h"

#include <algorithm>
#include <utility>

namespace wellspring {
namespace {

using Table = ParamTable<AugmentParams>;
using Entries = std::vector<AugmentEntry>;

/// Adds an operation, which has a probability; what comes back takes its other parameters.
Table& add(Entries& entries, AugmentOp op, const std::string& name, AugmentStage stage,
           std::string main, std::string summary, std::string source,
           const AugmentParams& defaults = {}) {
  entries.push_back({op, name, stage, std::move(main), std::move(summary), std::move(source),
                     Table("augment." + name), defaults});
  return entries.back().table.real("probability", &AugmentParams::probability, {0, 1}, "",
                                   "how often it is done to a sample");
}

void add_geometry(Entries& entries) {
  constexpr auto kStage = AugmentStage::geometry;
  add(entries, AugmentOp::crop_resize, "crop_resize", kStage, "scale",
      "a box of random area and ratio, scaled to the size of the output",
      "torchvision.transforms.RandomResizedCrop; Szegedy et al., CVPR 2015")
      .real_list("scale", &AugmentParams::scale, {1e-4, 1}, "of the area",
                 "area of the box, uniform between the two")
      .real_list("ratio", &AugmentParams::ratio, {0.01, 100}, "width / height",
                 "of the box, log-uniform between the two");
  add(entries, AugmentOp::flip_x, "flip_x", kStage, "probability", "left and right change places",
      "", {.probability = 0.5});
  add(entries, AugmentOp::flip_y, "flip_y", kStage, "probability", "top and bottom change places",
      "", {.probability = 0.5});
  add(entries, AugmentOp::shift, "shift", kStage, "fraction",
      "moved by whole pixels, each distance equally likely along x and along y", "")
      .real("fraction", &AugmentParams::fraction, {0, 0.99}, "image side",
            "largest distance along each axis");
  add(entries, AugmentOp::zoom, "zoom", kStage, "scale", "made larger or smaller about the centre",
      "")
      .real_list("scale", &AugmentParams::zoom, {0.05, 20}, "",
                 "of the content, log-uniform between the two; 2 shows half as much")
      .required();
  add(entries, AugmentOp::rotate, "rotate", kStage, "angle", "turned about the centre",
      "torchvision.transforms.RandomRotation")
      .real("angle", &AugmentParams::angle, {0, 180}, "degree", "largest turn, either way; uniform")
      .required();
  add(entries, AugmentOp::perspective, "perspective", kStage, "distortion",
      "seen at an angle: each corner moves inwards by whole pixels, uniform up to the distortion",
      "torchvision.transforms.RandomPerspective", {.probability = 0.5})
      .real("distortion", &AugmentParams::distortion, {0, 0.65}, "half a side",
            "largest way of a corner, along x and along y; from 2/3 on the four corners could "
            "enclose a dent");
  add(entries, AugmentOp::affine, "affine", kStage, "angle",
      "turned, moved by whole pixels, made larger or smaller and sheared, about the centre",
      "torchvision.transforms.RandomAffine")
      .real("angle", &AugmentParams::angle, {0, 180}, "degree", "largest turn, either way; uniform")
      .real_list("translate", &AugmentParams::translate, {0, 1}, "image side",
                 "largest distance along x and along y, uniform and then rounded to pixels")
      .real_list("scale", &AugmentParams::zoom, {0.05, 20}, "",
                 "of the content, uniform between the two")
      .real_list("shear", &AugmentParams::shear, {0, 60}, "degree",
                 "largest shear along x and along y, either way; uniform");
}

/// An operation whose factor is uniform in [max(0, 1 - strength), 1 + strength].
Table& add_jitter(Entries& entries, AugmentOp op, const std::string& name, std::string summary) {
  return add(entries, op, name, AugmentStage::colour, "strength", std::move(summary),
             "torchvision.transforms.ColorJitter")
      .real("strength", &AugmentParams::strength, {0, 10}, "",
            "the factor is uniform in [1 - strength, 1 + strength], but not below 0")
      .required();
}

void add_colours(Entries& entries) {
  constexpr auto kStage = AugmentStage::colour;
  add_jitter(entries, AugmentOp::brightness, "brightness", "colours times a factor");
  add_jitter(entries, AugmentOp::contrast, "contrast",
             "differences from middle grey, 0.5, times a factor")
      .choice("about", &AugmentParams::about,
              {{"middle", ContrastCentre::middle}, {"mean", ContrastCentre::mean}},
              "what stays as it is: 0.5, or the mean of the image's luma, as torchvision has it, "
              "in another pass");
  add_jitter(entries, AugmentOp::saturation, "saturation",
             "differences from the pixel's own grey times a factor");
  add(entries, AugmentOp::hue, "hue", kStage, "strength", "hues turned around the colour circle",
      "torchvision.transforms.ColorJitter")
      .real("strength", &AugmentParams::strength, {0, 0.5}, "turn",
            "largest turn, either way; uniform")
      .required();
  add(entries, AugmentOp::grey, "grey", kStage, "probability", "colours replaced by their luma",
      "torchvision.transforms.RandomGrayscale", {.probability = 0.1});
  add(entries, AugmentOp::solarise, "solarise", kStage, "threshold",
      "values from the threshold on become 1 - value", "torchvision.transforms.RandomSolarize",
      {.probability = 0.5})
      .real("threshold", &AugmentParams::threshold, {0, 1}, "",
            "from where on values are turned over");
  add(entries, AugmentOp::posterise, "posterise", kStage, "bits",
      "values rounded down to few levels", "torchvision.transforms.RandomPosterize",
      {.probability = 0.5})
      .integer("bits", &AugmentParams::bits, {1, 8}, "",
               "that are kept of each value; 8 changes nothing")
      .required();
}

void add_whole_images(Entries& entries) {
  constexpr auto kStage = AugmentStage::whole;
  add(entries, AugmentOp::autocontrast, "autocontrast", kStage, "probability",
      "the least value of each channel becomes 0, the largest 1",
      "torchvision.transforms.RandomAutocontrast", {.probability = 0.5});
  add(entries, AugmentOp::equalise, "equalise", kStage, "probability",
      "256 levels of each channel, moved until all are as frequent",
      "torchvision.transforms.RandomEqualize", {.probability = 0.5});
  add(entries, AugmentOp::sharpen, "sharpen", kStage, "factor",
      "differences from the smoothed image times a factor",
      "torchvision.transforms.RandomAdjustSharpness", {.probability = 0.5})
      .real("factor", &AugmentParams::factor, {0, 10}, "",
            "0 smooths, 1 changes nothing, 2 sharpens")
      .required();
  add(entries, AugmentOp::noise, "noise", kStage, "deviation",
      "normal noise, independent from pixel to pixel and channel to channel",
      "torchvision.transforms.v2.GaussianNoise")
      .real("deviation", &AugmentParams::deviation, {0, 10}, "",
            "standard deviation; values lie in [0, 1]");
  add(entries, AugmentOp::rand_augment, "rand_augment", kStage, "magnitude",
      "operations drawn for every sample anew among 14: geometry of them first, then colours",
      "torchvision.transforms.v2.RandAugment; Cubuk et al., NeurIPS 2020", {.deviation = 0})
      .integer("operations", &AugmentParams::operations, {0, kMostRandOperations}, "",
               "how many, with replacement; torchvision's num_ops")
      .real("magnitude", &AugmentParams::magnitude, {0, 30}, "of 30", "how much: 0 least, 30 most")
      .real("deviation", &AugmentParams::deviation, {0, 30}, "of 30",
            "standard deviation of each operation's own magnitude; 0 is torchvision's, 0.5 that "
            "of DeiT");
}

void add_neighbours(Entries& entries) {
  add(entries, AugmentOp::blur, "blur", AugmentStage::neighbours, "sigma",
      "Gaussian blur; beyond the border the image is mirrored",
      "torchvision.transforms.GaussianBlur", {.probability = 0.5})
      .real_list("sigma", &AugmentParams::sigma, {0.01, 32}, "pixel",
                 "standard deviation, uniform between the two")
      .integer("kernel", &AugmentParams::kernel, {0, 193}, "pixel",
               "odd side of the kernel; 0: three of the largest standard deviations each way");
}

void add_erasure(Entries& entries) {
  constexpr auto kStage = AugmentStage::erase;
  add(entries, AugmentOp::erase, "erase", kStage, "side",
      "a square set to the mean, its centre anywhere in the image",
      "cutout: DeVries and Taylor, arXiv:1708.04552")
      .integer("side", &AugmentParams::side, {1, 16384}, "pixel",
               "of the square, which may hang over the border")
      .required();
  add(entries, AugmentOp::erase_box, "erase_box", kStage, "probability",
      "a box of random area and ratio within the image, erased",
      "torchvision.transforms.v2.RandomErasing; Zhong et al., AAAI 2020",
      {.probability = 0.5, .scale = {0.02, 0.33}, .ratio = {0.3, 3.3}})
      .real_list("scale", &AugmentParams::scale, {1e-4, 1}, "of the area",
                 "area of the box, uniform between the two")
      .real_list("ratio", &AugmentParams::ratio, {0.01, 100}, "height / width",
                 "of the box, log-uniform between the two")
      .choice("fill", &AugmentParams::fill,
              {{"mean", ErasedFill::mean}, {"noise", ErasedFill::noise}},
              "the mean, or a normal number a value; after normalisation");
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
                     "subtracted from colours in [0, 1]; one value, or one a channel")
          .real_list("std", &Normalisation::std, {1e-6, 1e6}, "",
                     "divided by after that; one value, or one a channel");
  return table;
}

const ParamTable<Augmentations>& reading_table() {
  static const auto table =
      ParamTable<Augmentations>("augment")
          .choice("padding", &Augmentations::padding,
                  {{"zero", Padding::zero}, {"edge", Padding::edge}},
                  "what stored images show beyond their border")
          .choice("interpolation", &Augmentations::interpolation,
                  {{"bilinear", Interpolation::bilinear}, {"bicubic", Interpolation::bicubic}},
                  "how stored images are read between their pixels");
  return table;
}

}  // namespace wellspring
