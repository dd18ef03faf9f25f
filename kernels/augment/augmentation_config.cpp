// Reads and writes the augmentation settings of a configuration.
#include "kernels/augment/augmentation_config.h"

#include "core/error.h"
#include "kernels/augment/augmentation_list.h"

#include <fmt/format.h>

namespace wellspring {

Augmentations Augmentations::held_out() const {
  Augmentations plain = *this;
  plain.list.clear();
  plain.groups.clear();
  if (centre_crop > 0) {
    OperationParams<augment::Crop> crop;
    crop.resize = static_cast<int>(centre_crop);
    crop.place = augment::CropPlace::centre;
    plain.list.push_back({crop, place});
  }
  return plain;
}

bool Normalisation::is_identity() const {
  return *this == ColumnScaling{} && globals == ColumnScaling{};
}

void read_normalisation(const ConfigNode& node, Normalisation& values) {
  if (!node.has("normalise")) return;
  using Choice = Normalisation::Choice;
  if (node.kind("normalise") == ConfigKind::scalar) {
    const std::string word = node.scalar("normalise")->value;
    if (word != "auto" && word != "none")
      node.at("normalise")
          .refuse(fmt::format("'{}' is not a normalisation", word), "",
                  "write auto, none, or normalise: {mean: [0.5], std: [0.25]}");
    values = {};
    values.choice = word == "auto" ? Choice::automatic : Choice::given;
    return;
  }
  const ConfigNode section = node.section("normalise");
  values.choice = Choice::given;
  section.read<ColumnScaling>(normalisation_table(), values);
  section.section("globals").read(normalisation_table(), values.globals);
}

void write_normalisation(ConfigWriter& writer, const Normalisation& values) {
  using Choice = Normalisation::Choice;
  if (values.choice == Choice::automatic) writer.value("normalise", "auto");
  if (values.choice != Choice::given) return;
  writer.section("normalise", [&] {
    writer.table<ColumnScaling>(normalisation_table(), values);
    if (values.globals != ColumnScaling{})
      writer.section("globals", [&] { writer.table(normalisation_table(), values.globals); });
  });
}

void read_augmentations(const ConfigNode& node, Augmentations& values) {
  if (node.is_present("view"))
    node.at("view").refuse("`view` was replaced by a list of operations",
                           "the order of the operations matters",
                           "write augment: [flip_x: 0.5, shift: 0.125] and "
                           "normalise: {mean: [0.5], std: [0.25]}; see describe augment");
  if (node.has("augment")) detail::read_list(node, values);
  read_normalisation(node, values.normalisation);
  node.read(reading_table(), values);
  if (node.has("augment") || node.has("normalise") || node.has("padding") ||
      node.has("interpolation") || node.has("centre_crop"))
    values.place = node.location();
  check_augmentations(values);
}

void write_augmentations(ConfigWriter& writer, const Augmentations& values) {
  if (values.list.empty()) writer.value("augment", "[]");
  writer.section("augment", [&] { detail::write_list(writer, values); });
  write_normalisation(writer, values.normalisation);
  // Left out if off, so that the identity of runs without it stays the same.
  writer.table(reading_table(), values, {values.centre_crop == 0 ? "centre_crop" : ""});
}

}  // namespace wellspring
