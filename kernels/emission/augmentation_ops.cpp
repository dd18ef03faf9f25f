// Longer than 500 lines: the table of all operations, with what is refused of a list.
#include "kernels/emission/augmentation_ops.h"

#include "core/counted.h"
#include "core/error.h"
#include "core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace wellspring {
namespace {

using Table = ParamTable<AugmentParams>;

Table table_of(const std::string& name) {
  return Table("augment." + name)
      .real("probability", &AugmentParams::probability, {0, 1}, "",
            "how often it is done to a sample");
}

AugmentEntry geometry(AugmentOp op, std::string name, std::string main, std::string summary,
                      std::string source, Table table) {
  return {op,
          std::move(name),
          AugmentStage::geometry,
          std::move(main),
          std::move(summary),
          source,
          std::move(table),
          {}};
}

AugmentEntry flip(AugmentOp op, const std::string& name, const std::string& summary) {
  AugmentEntry entry = geometry(op, name, "probability", summary, "", table_of(name));
  entry.defaults.probability = 0.5;
  return entry;
}

/// An operation whose factor is uniform in [max(0, 1 - strength), 1 + strength].
AugmentEntry jitter(AugmentOp op, const std::string& name, const std::string& summary) {
  AugmentEntry entry = {op,
                        name,
                        AugmentStage::colour,
                        "strength",
                        summary,
                        "torchvision.transforms.ColorJitter",
                        table_of(name),
                        {}};
  entry.table
      .real("strength", &AugmentParams::strength, {0, 10}, "",
            "the factor is uniform in [1 - strength, 1 + strength], but not below 0")
      .required();
  return entry;
}

std::vector<AugmentEntry> geometry_entries() {
  std::vector<AugmentEntry> entries;
  entries.push_back(
      geometry(AugmentOp::crop_resize, "crop_resize", "scale",
               "a box of random area and ratio, scaled to the size of the output",
               "torchvision.transforms.RandomResizedCrop; Szegedy et al., CVPR 2015",
               table_of("crop_resize")
                   .real_list("scale", &AugmentParams::scale, {1e-4, 1}, "of the area",
                              "area of the box, uniform between the two")
                   .real_list("ratio", &AugmentParams::ratio, {0.01, 100}, "width / height",
                              "of the box, log-uniform between the two")));
  entries.push_back(flip(AugmentOp::flip_x, "flip_x", "left and right change places"));
  entries.push_back(flip(AugmentOp::flip_y, "flip_y", "top and bottom change places"));
  entries.push_back(
      geometry(AugmentOp::shift, "shift", "fraction",
               "moved by whole pixels, each distance equally likely along x and along y", "",
               table_of("shift").real("fraction", &AugmentParams::fraction, {0, 0.99}, "image side",
                                      "largest distance along each axis")));
  entries.push_back(
      geometry(AugmentOp::zoom, "zoom", "scale", "made larger or smaller about the centre", "",
               table_of("zoom")
                   .real_list("scale", &AugmentParams::zoom, {0.05, 20}, "",
                              "of the content, log-uniform between the two; 2 shows half as much")
                   .required()));
  entries.push_back(geometry(AugmentOp::rotate, "rotate", "angle", "turned about the centre",
                             "torchvision.transforms.RandomRotation",
                             table_of("rotate")
                                 .real("angle", &AugmentParams::angle, {0, 180}, "degree",
                                       "largest turn, either way; uniform")
                                 .required()));
  entries.push_back(geometry(
      AugmentOp::perspective, "perspective", "distortion",
      "seen at an angle: each corner moves inwards by whole pixels, uniform up to the distortion",
      "torchvision.transforms.RandomPerspective",
      table_of("perspective")
          .real("distortion", &AugmentParams::distortion, {0, 0.65}, "half a side",
                "largest way of a corner, along x and along y; from 2/3 on the four corners could "
                "enclose a dent")));
  entries.back().defaults.probability = 0.5;
  entries.push_back(geometry(
      AugmentOp::affine, "affine", "angle",
      "turned, moved by whole pixels, made larger or smaller and sheared, about the centre",
      "torchvision.transforms.RandomAffine",
      table_of("affine")
          .real("angle", &AugmentParams::angle, {0, 180}, "degree",
                "largest turn, either way; uniform")
          .real_list("translate", &AugmentParams::translate, {0, 1}, "image side",
                     "largest distance along x and along y, uniform and then rounded to pixels")
          .real_list("scale", &AugmentParams::zoom, {0.05, 20}, "",
                     "of the content, uniform between the two")
          .real_list("shear", &AugmentParams::shear, {0, 60}, "degree",
                     "largest shear along x and along y, either way; uniform")));
  return entries;
}

AugmentEntry needs_image(AugmentOp op, const std::string& name, std::string main,
                         std::string summary, std::string source, Table table) {
  AugmentEntry entry = {op,
                        name,
                        AugmentStage::whole,
                        std::move(main),
                        std::move(summary),
                        std::move(source),
                        std::move(table),
                        {}};
  entry.defaults.probability = 0.5;
  return entry;
}

std::vector<AugmentEntry> whole_entries() {
  std::vector<AugmentEntry> entries;
  entries.push_back(needs_image(AugmentOp::autocontrast, "autocontrast", "probability",
                                "the least value of each channel becomes 0, the largest 1",
                                "torchvision.transforms.RandomAutocontrast",
                                table_of("autocontrast")));
  entries.push_back(needs_image(AugmentOp::equalise, "equalise", "probability",
                                "256 levels of each channel, moved until all are as frequent",
                                "torchvision.transforms.RandomEqualize", table_of("equalise")));
  entries.push_back(needs_image(AugmentOp::sharpen, "sharpen", "factor",
                                "differences from the smoothed image times a factor",
                                "torchvision.transforms.RandomAdjustSharpness",
                                table_of("sharpen")
                                    .real("factor", &AugmentParams::factor, {0, 10}, "",
                                          "0 smooths, 1 changes nothing, 2 sharpens")
                                    .required()));
  entries.push_back(
      needs_image(AugmentOp::noise, "noise", "deviation",
                  "normal noise, independent from pixel to pixel and channel to channel",
                  "torchvision.transforms.v2.GaussianNoise",
                  table_of("noise").real("deviation", &AugmentParams::deviation, {0, 10}, "",
                                         "standard deviation; values lie in [0, 1]")));
  entries.back().defaults.probability = 1;
  AugmentEntry several = needs_image(
      AugmentOp::rand_augment, "rand_augment", "magnitude",
      "operations drawn for every sample anew among 14: geometry of them first, then colours",
      "torchvision.transforms.v2.RandAugment; Cubuk et al., NeurIPS 2020",
      table_of("rand_augment")
          .integer("operations", &AugmentParams::operations, {0, kMostRandOperations}, "",
                   "how many, with replacement; torchvision's num_ops")
          .real("magnitude", &AugmentParams::magnitude, {0, 30}, "of 30",
                "how much: 0 least, 30 most")
          .real(
              "deviation", &AugmentParams::deviation, {0, 30}, "of 30",
              "standard deviation of each operation's own magnitude; 0 is torchvision's, 0.5 that "
              "of DeiT"));
  several.defaults.probability = 1;
  several.defaults.deviation = 0;
  entries.push_back(std::move(several));
  return entries;
}

std::vector<AugmentEntry> colour_entries() {
  std::vector<AugmentEntry> entries;
  entries.push_back(jitter(AugmentOp::brightness, "brightness", "colours times a factor"));
  entries.push_back(
      jitter(AugmentOp::contrast, "contrast", "differences from middle grey, 0.5, times a factor"));
  entries.back().table.choice("about", &AugmentParams::about,
                              {{"middle", ContrastCentre::middle}, {"mean", ContrastCentre::mean}},
                              "what stays as it is: 0.5, or the mean of the image's luma, as "
                              "torchvision has it, in another "
                              "pass");
  entries.push_back(jitter(AugmentOp::saturation, "saturation",
                           "differences from the pixel's own grey times a factor"));
  entries.push_back({AugmentOp::hue,
                     "hue",
                     AugmentStage::colour,
                     "strength",
                     "hues turned around the colour circle",
                     "torchvision.transforms.ColorJitter",
                     table_of("hue")
                         .real("strength", &AugmentParams::strength, {0, 0.5}, "turn",
                               "largest turn, either way; uniform")
                         .required(),
                     {}});
  entries.push_back({AugmentOp::grey,
                     "grey",
                     AugmentStage::colour,
                     "probability",
                     "colours replaced by their luma",
                     "torchvision.transforms.RandomGrayscale",
                     table_of("grey"),
                     {}});
  entries.back().defaults.probability = 0.1;
  entries.push_back({AugmentOp::solarise,
                     "solarise",
                     AugmentStage::colour,
                     "threshold",
                     "values from the threshold on become 1 - value",
                     "torchvision.transforms.RandomSolarize",
                     table_of("solarise")
                         .real("threshold", &AugmentParams::threshold, {0, 1}, "",
                               "from where on values are turned over"),
                     {}});
  entries.back().defaults.probability = 0.5;
  entries.push_back({AugmentOp::posterise,
                     "posterise",
                     AugmentStage::colour,
                     "bits",
                     "values rounded down to few levels",
                     "torchvision.transforms.RandomPosterize",
                     table_of("posterise")
                         .integer("bits", &AugmentParams::bits, {1, 8}, "",
                                  "that are kept of each value; 8 changes nothing")
                         .required(),
                     {}});
  entries.back().defaults.probability = 0.5;
  return entries;
}

std::vector<AugmentEntry> make_table() {
  std::vector<AugmentEntry> entries = geometry_entries();
  for (AugmentEntry& entry : colour_entries()) entries.push_back(std::move(entry));
  for (AugmentEntry& entry : whole_entries()) entries.push_back(std::move(entry));
  entries.push_back(
      {AugmentOp::blur,
       "blur",
       AugmentStage::neighbours,
       "sigma",
       "Gaussian blur; beyond the border the image is mirrored",
       "torchvision.transforms.GaussianBlur",
       table_of("blur")
           .real_list("sigma", &AugmentParams::sigma, {0.01, 32}, "pixel",
                      "standard deviation, uniform between the two")
           .integer("kernel", &AugmentParams::kernel, {0, 193}, "pixel",
                    "odd side of the kernel; 0: three of the largest standard deviations each way"),
       {}});
  entries.back().defaults.probability = 0.5;
  entries.push_back({AugmentOp::erase,
                     "erase",
                     AugmentStage::erase,
                     "side",
                     "a square set to the mean, its centre anywhere in the image",
                     "cutout: DeVries and Taylor, arXiv:1708.04552",
                     table_of("erase")
                         .integer("side", &AugmentParams::side, {1, 16384}, "pixel",
                                  "of the square, which may hang over the border")
                         .required(),
                     {}});
  entries.push_back({AugmentOp::erase_box,
                     "erase_box",
                     AugmentStage::erase,
                     "probability",
                     "a box of random area and ratio within the image, erased",
                     "torchvision.transforms.v2.RandomErasing; Zhong et al., AAAI 2020",
                     table_of("erase_box")
                         .real_list("scale", &AugmentParams::scale, {1e-4, 1}, "of the area",
                                    "area of the box, uniform between the two")
                         .real_list("ratio", &AugmentParams::ratio, {0.01, 100}, "height / width",
                                    "of the box, log-uniform between the two")
                         .choice("fill", &AugmentParams::fill,
                                 {{"mean", ErasedFill::mean}, {"noise", ErasedFill::noise}},
                                 "the mean, or a normal number a value; after normalisation"),
                     {}});
  entries.back().defaults.probability = 0.5;
  entries.back().defaults.scale = {0.02, 0.33};
  entries.back().defaults.ratio = {0.3, 3.3};
  return entries;
}

/// "augment.zoom", with the place of the operation in front where there is one.
std::string where(const AugmentSetting& setting) {
  return setting.place.prefix() + "augment." + augmentation_entry(setting.op).name;
}

void expect_range(const AugmentSetting& setting, const char* name,
                  const std::vector<double>& range) {
  if (range.size() != 2) {
    fail(ErrorKind::config,
         {fmt::format("{}.{} has {}", where(setting), name, counted(range.size(), "value")),
          "it is drawn between two", "give [from, to]"});
  }
  if (range[0] > range[1]) {
    fail(ErrorKind::config, {fmt::format("{}.{} begins at {} and ends at {}", where(setting), name,
                                         range[0], range[1]),
                             "it is drawn between the two", "give the smaller one first"});
  }
}

void expect_axes(const AugmentSetting& setting, const char* name,
                 const std::vector<double>& values) {
  if (values.size() == 2) return;
  fail(ErrorKind::config,
       {fmt::format("{}.{} has {}", where(setting), name, counted(values.size(), "value")),
        "there is one for each axis", "give [along x, along y]"});
}

void check_setting(const AugmentSetting& setting) {
  const AugmentParams& p = setting.params;
  if (setting.op == AugmentOp::crop_resize || setting.op == AugmentOp::erase_box) {
    expect_range(setting, "scale", p.scale);
    expect_range(setting, "ratio", p.ratio);
  } else if (setting.op == AugmentOp::zoom) {
    expect_range(setting, "scale", p.zoom);
  } else if (setting.op == AugmentOp::affine) {
    expect_range(setting, "scale", p.zoom);
    expect_axes(setting, "translate", p.translate);
    expect_axes(setting, "shear", p.shear);
  } else if (setting.op == AugmentOp::blur) {
    expect_range(setting, "sigma", p.sigma);
    if (p.kernel != 0 && p.kernel % 2 == 0) {
      fail(ErrorKind::config, {fmt::format("{}.kernel = {} is even", where(setting), p.kernel),
                               "a kernel has a pixel in its middle", "give an odd number, or 0"});
    }
  }
}

/// What an operation of a later stage says to one of an earlier stage behind it. Pointwise colours
/// may stand anywhere in front of the erased box.
void expect_order(const AugmentSetting& before, const AugmentSetting& setting) {
  const AugmentStage first = stage_of(before), second = stage_of(setting);
  const bool pointwise = first == AugmentStage::colour || second == AugmentStage::colour;
  if (first == AugmentStage::erase ? second == first : (pointwise || first <= second)) return;
  const char* why = "what is moved is read once, before its neighbours are known";
  if (first == AugmentStage::erase) {
    why = "what is erased is filled last, with what the network sees";
  } else if (second == AugmentStage::whole) {
    why = "the blur ends the passes over an image";
  }
  const std::string &name = augmentation_entry(setting.op).name,
                    &other = augmentation_entry(before.op).name;
  fail(ErrorKind::config, {fmt::format("{} stands behind {}", where(setting), other), why,
                           fmt::format("move {} in front of {}", name, other)});
}

/// One box is erased.
void expect_one_erasure(const AugmentSetting& before, const AugmentSetting& setting) {
  if (stage_of(before) != AugmentStage::erase || stage_of(setting) != AugmentStage::erase) return;
  fail(ErrorKind::config,
       {fmt::format("{} beside {}", where(setting), augmentation_entry(before.op).name),
        "one box of a sample is erased", "remove one of the two"});
}

double channel(const std::vector<double>& values, std::size_t c, const char* name,
               const Place& place) {
  if (values.size() == 1) return values[0];
  if (values.size() == 3) return values[c];
  fail(ErrorKind::config,
       {fmt::format("{}normalise.{} has {}", place.prefix(), name, counted(values.size(), "value")),
        "images have one or three channels", "give one value, or three"});
}

/// Operations on several samples, which people know as augmentations.
void expect_no_mixing(const std::string& name, const Place& place) {
  if (name != "mixup" && name != "cutmix") return;
  fail(ErrorKind::config,
       {fmt::format("{}augment: {} mixes samples with each other", place.prefix(), name),
        "augment says what is done to each by itself",
        fmt::format("write mix: {{{}: 1}} under data; see describe config", name)});
}

AugmentSetting read_operation(const ConfigNode& element) {
  AugmentSetting setting;
  setting.place = element.place();
  if (element.kind() == ConfigKind::scalar) {
    const ParamSetting name = element.scalar();
    expect_no_mixing(name.value, name.place);
    std::vector<std::string> names;
    for (const AugmentEntry& entry : augmentation_table()) {
      names.push_back(entry.name);
      if (entry.name == name.value) setting.op = entry.op;
    }
    if (setting.op == AugmentOp::none)
      fail(ErrorKind::config,
           {fmt::format("{}there is no augmentation '{}'", name.place.prefix(), name.value), "",
            name_advice(name.value, names)});
    const AugmentEntry& entry = augmentation_entry(setting.op);
    setting.params = entry.defaults;
    entry.table.read(std::vector<ParamSetting>{}, element.place());  // what must be given
    return setting;
  }
  if (element.kind() != ConfigKind::map)
    element.refuse("this is no operation", "an operation is a name, or a name and its parameters",
                   "write flip_x: 0.5");
  for (const std::string& key : element.keys()) expect_no_mixing(key, element.place());
  const AugmentEntry* found = nullptr;
  for (const AugmentEntry& entry : augmentation_table()) {
    if (!element.has(entry.name)) continue;
    if (found != nullptr)
      element.refuse(fmt::format("{} and {} in one element", found->name, entry.name),
                     "the list is the order in which they are applied",
                     "begin a line of its own for each, with a dash");
    found = &entry;
  }
  if (found == nullptr) element.finish();  // names what is nearest to the key that stands there
  if (found == nullptr) element.refuse("this element is empty", "", "write flip_x: 0.5");
  setting.op = found->op;
  setting.params = found->defaults;
  const ConfigNode body = element.at(found->name);
  if (body.kind() == ConfigKind::map || body.kind() == ConfigKind::empty) {
    body.read(found->table, setting.params);
    element.finish();
    return setting;
  }
  element.finish();
  // The value alone: as if it stood under the main parameter's name.
  for (const ParamSetting& value : element.settings())
    found->table.set(setting.params, found->main, value.value, value.place);
  return setting;
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

AugmentStage stage_of(const AugmentSetting& setting) {
  const bool mean =
      setting.op == AugmentOp::contrast && setting.params.about == ContrastCentre::mean;
  return mean ? AugmentStage::whole : augmentation_entry(setting.op).stage;
}

Augmentations Augmentations::without_list() const {
  Augmentations plain = *this;
  plain.list.clear();
  return plain;
}

void read_augmentations(const ConfigNode& node, Augmentations& values) {
  if (node.stands("view"))
    node.at("view").refuse("`view` is now a list of operations",
                           "what is done to a sample has an order",
                           "write augment: [flip_x: 0.5, shift: 0.125] and "
                           "normalise: {mean: [0.5], std: [0.25]}; see describe augment");
  if (node.has("augment")) {
    values.list.clear();
    for (const ConfigNode& element : node.list("augment"))
      values.list.push_back(read_operation(element));
  }
  node.section("normalise").read(normalisation_table(), values.normalisation);
  node.read(reading_table(), values);
  if (node.has("augment") || node.has("normalise") || node.has("padding") ||
      node.has("interpolation"))
    values.place = node.place();
  check_augmentations(values);
}

void write_augmentations(ConfigWriter& writer, const Augmentations& values) {
  if (values.list.empty()) writer.value("augment", "[]");
  writer.section("augment", [&] {
    for (std::size_t i = 0; i < values.list.size(); ++i) {
      const AugmentEntry& entry = augmentation_entry(values.list[i].op);
      writer.element(i, [&] {
        writer.section(entry.name, [&] { writer.table(entry.table, values.list[i].params); });
      });
    }
  });
  writer.section("normalise", [&] { writer.table(normalisation_table(), values.normalisation); });
  writer.table(reading_table(), values);
}

void check_augmentations(const Augmentations& values) {
  for (std::size_t i = 0; i < values.list.size(); ++i) {
    const AugmentSetting& setting = values.list[i];
    check_setting(setting);
    for (std::size_t j = 0; j < i; ++j) {
      if (values.list[j].op == setting.op) {
        fail(ErrorKind::config, {fmt::format("{} a second time", where(setting)),
                                 "random numbers belong to an operation by its name",
                                 "widen the range of the first one"});
      }
      expect_order(values.list[j], setting);
      expect_one_erasure(values.list[j], setting);
    }
  }
  channel(values.normalisation.mean, 0, "mean", values.place);
  channel(values.normalisation.std, 0, "std", values.place);
}

}  // namespace wellspring
