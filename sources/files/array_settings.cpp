#include "sources/files/array_settings.h"

#include <limits>

namespace wellspring {
namespace {

constexpr double kLargestLabel = std::numeric_limits<std::int32_t>::max();

/// Table rows that both kinds of settings share: classes and images.
template <class Settings>
ParamTable<Settings>& add_shared(ParamTable<Settings>& table) {
  return table
      .integer("label", &Settings::label, {0, kLargestLabel}, "",
               "label of all rows if the file holds a single class")
      .integer("classes", &Settings::classes, {0, kLargestLabel}, "",
               "number of classes; 0: number of names, or the largest label + 1")
      .choice("channels", &Settings::channels,
              {{"auto", ChannelPlace::automatic},
               {"first", ChannelPlace::first},
               {"last", ChannelPlace::last}},
              "images: channel axis; auto: the axis of length 1 or 3")
      .choice("range", &Settings::range,
              {{"auto", PixelRange::automatic},
               {"0..1", PixelRange::unit},
               {"-1..1", PixelRange::symmetric},
               {"0..255", PixelRange::bytes}},
              "images: values of black and white; auto: 0..255 for integers, 0..1 for real "
              "numbers; rows are kept as 8-bit images, and values outside the range are refused");
}

ParamTable<ArraySettings> own_rows() {
  return ParamTable<ArraySettings>("arrays")
      .choice("layout", &ArraySettings::layout,
              {{"auto", ArrayLayout::automatic},
               {"columns", ArrayLayout::columns},
               {"calochallenge", ArrayLayout::calochallenge},
               {"jetnet", ArrayLayout::jetnet},
               {"icecube", ArrayLayout::icecube}},
              "columns: an array of rows, or of items of sets; calochallenge: incident_energies "
              "and showers, MeV; jetnet: particle_features and jet_features; icecube: pulses with "
              "first and last index of each event; auto: columns if array x exists or array: is "
              "given, else the first of calochallenge, jetnet, icecube whose arrays exist")
      .text("array", &ArraySettings::array, "layout columns: array of rows, or of items")
      .text("offsets", &ArraySettings::offsets,
            "layout columns: array of the first item of each set; without it rows are events "
            "or images")
      .integer("items", &ArraySettings::items, {0, 1 << 17}, "",
               "sets: keep at most the first N items of each; the rest are counted as overflow; 0: "
               "the limit of the export or the layout, or the largest set")
      .text("globals", &ArraySettings::globals,
            "sets: array [rows, numbers] of per-set values, if present")
      .text_list("latents", &ArraySettings::latents,
                 "names of arrays [rows] or [rows, columns] to use as regression targets; "
                 "NAME=ARRAY: name the columns as if the array were called NAME; []: the "
                 "exported latents, or jet_features of jetnet, or azimuth and zenith of icecube")
      .text("labels", &ArraySettings::labels,
            "array of class indices, one per row, or one-hot; without it all rows have the "
            "label `label`, and arrays called y or labels are refused unless they are named")
      .text("class_names", &ArraySettings::class_names,
            "text file of class names, one per line, relative to the folder of path; empty: "
            "the exported names, or 0, 1, 2...")
      .choice("unit", &ArraySettings::unit, {{"MeV", EnergyUnit::mev}, {"GeV", EnergyUnit::gev}},
              "calochallenge: unit of the rows and of the latent `energy`")
      .real("energy_low", &ArraySettings::energy_low, {0, 1e9}, "GeV",
            "calochallenge: lowest incident energy of the latent's range; set it to that of a "
            "generator mixed with the file; 0: from the file")
      .real("energy_high", &ArraySettings::energy_high, {0, 1e9}, "GeV",
            "calochallenge: highest incident energy; 0: from the file")
      .real("length_unit", &ArraySettings::length_unit, {1e-3, 1e5}, "m",
            "icecube: unit of x, y and z, as `unit` of a generator mixed with it")
      .real("time_unit", &ArraySettings::time_unit, {1e-3, 1e6}, "ns",
            "icecube: unit of times, as `time_unit` of a generator mixed with it");
}

}  // namespace

ArraySettings NpySettings::of(const std::filesystem::path& file) const {
  ArraySettings settings;
  settings.layout = ArrayLayout::columns;
  settings.array = file.filename().string();
  settings.offsets = settings.globals = "";
  settings.labels = labels;
  settings.label = label;
  settings.classes = classes;
  settings.class_names = class_names;
  settings.latents = latents;
  settings.channels = channels;
  settings.range = range;
  return settings;
}

const ParamTable<ArraySettings>& array_table() {
  static const auto table = [] {
    auto rows = own_rows();
    return add_shared(rows);
  }();
  return table;
}

const ParamTable<NpySettings>& npy_table() {
  static const auto table = [] {
    auto rows = ParamTable<NpySettings>("npy");
    rows.text(
            "labels", &NpySettings::labels,
            ".npy or IDX file of class indices, one per row, or one-hot, relative to the folder of "
            "path; empty: the labels next to IDX images, otherwise the label `label` for all rows")
        .text_list("latents", &NpySettings::latents,
                   ".npy files [rows] or [rows, columns] of regression targets; a column is named "
                   "after its file, or after NAME if NAME=FILE is given")
        .text("class_names", &NpySettings::class_names,
              "text file of class names, one per line; empty: 0, 1, 2...");
    return add_shared(rows);
  }();
  return table;
}

}  // namespace wellspring
