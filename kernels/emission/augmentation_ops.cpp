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
  return entries;
}

std::vector<AugmentEntry> colour_entries() {
  std::vector<AugmentEntry> entries;
  entries.push_back(jitter(AugmentOp::brightness, "brightness", "colours times a factor"));
  entries.push_back(
      jitter(AugmentOp::contrast, "contrast", "differences from middle grey, 0.5, times a factor"));
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
  return entries;
}

std::vector<AugmentEntry> make_table() {
  std::vector<AugmentEntry> entries = geometry_entries();
  for (AugmentEntry& entry : colour_entries()) entries.push_back(std::move(entry));
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

void check_setting(const AugmentSetting& setting) {
  const AugmentParams& p = setting.params;
  if (setting.op == AugmentOp::crop_resize) {
    expect_range(setting, "scale", p.scale);
    expect_range(setting, "ratio", p.ratio);
  } else if (setting.op == AugmentOp::zoom) {
    expect_range(setting, "scale", p.zoom);
  } else if (setting.op == AugmentOp::blur) {
    expect_range(setting, "sigma", p.sigma);
    if (p.kernel != 0 && p.kernel % 2 == 0) {
      fail(ErrorKind::config, {fmt::format("{}.kernel = {} is even", where(setting), p.kernel),
                               "a kernel has a pixel in its middle", "give an odd number, or 0"});
    }
  }
}

/// What an operation of a later stage says to one of an earlier stage behind it.
void expect_order(const AugmentSetting& before, const AugmentSetting& setting) {
  const AugmentEntry& first = augmentation_entry(before.op);
  const AugmentEntry& entry = augmentation_entry(setting.op);
  if (first.stage <= entry.stage ||
      (first.stage == AugmentStage::colour && entry.stage == AugmentStage::geometry)) {
    return;
  }
  if (first.stage == AugmentStage::neighbours && entry.stage == AugmentStage::colour) return;
  const char* const why = first.stage == AugmentStage::erase
                              ? "the erased square is the mean of what the network sees"
                              : "what is moved is read once, before its neighbours are known";
  fail(ErrorKind::config, {fmt::format("{} stands behind {}", where(setting), first.name), why,
                           fmt::format("move {} in front of {}", entry.name, first.name)});
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

const ParamTable<Augmentations>& padding_table() {
  static const auto table = ParamTable<Augmentations>("augment").choice(
      "padding", &Augmentations::padding, {{"zero", Padding::zero}, {"edge", Padding::edge}},
      "what stored images show beyond their border");
  return table;
}

Augmentations Augmentations::without_list() const {
  Augmentations plain = *this;
  plain.list.clear();
  return plain;
}

void read_augmentations(const ConfigNode& node, Augmentations& values) {
  if (node.has("view"))
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
  node.read(padding_table(), values);
  if (node.has("augment") || node.has("normalise") || node.has("padding"))
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
  writer.table(padding_table(), values);
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
    }
  }
  channel(values.normalisation.mean, 0, "mean", values.place);
  channel(values.normalisation.std, 0, "std", values.place);
}

}  // namespace wellspring
