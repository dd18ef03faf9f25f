// The table of augmentation operations, their settings in a configuration, and the planner that
// turns settings into an AugmentationPlan. For configuration readers, sources and the command line;
// host only.
//
//     augment:
//       - crop_resize: {scale: [0.08, 1], ratio: [0.75, 1.3333]}
//       - flip_x: 0.5              a single value sets the main parameter
//       - grey                     default parameters
//       - apply: 0.8               a group: all of these operations, or none
//         of: [hue: 0.1, solarise]
//       - simclr                   a preset (augmentation_presets.h)
//     normalise: {mean: [0.5], std: [0.25]}   or auto or none
#pragma once

#include "core/config/config.h"
#include "core/config/config_values.h"
#include "core/config/params.h"
#include "kernels/augment/augmentation.h"
#include "kernels/augment/latent_map.h"
#include "kernels/augment/operations/augmix.h"
#include "kernels/augment/operations/operations.h"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace wellspring {

/// Parameters of a configured operation.
namespace augment {
/// The operations that a list may have. Emission does not know augmix, which has a pass of its own.
using ListedOperations = Operations::With<AugMix>;
}  // namespace augment

template <class Op>
struct OperationParams : Op::template Params<std::vector<double>> {
  using Operation = Op;
  using Values = typename Op::template Params<std::vector<double>>;
};
template <class... Ops>
using OneOf = std::variant<OperationParams<Ops>...>;
using AugmentParams = augment::ListedOperations::Into<OneOf>;

/// The table of an operation's parameters, `probability` first.
template <class Op>
const ParamTable<typename OperationParams<Op>::Values>& params_table() {
  using Values = typename OperationParams<Op>::Values;
  static const auto table = [] {
    ParamTable<Values> rows(std::string("augment.") + Op::kInfo.name);
    rows.real("probability", &Values::probability, {0, 1}, "",
              "probability of applying it to a sample");
    if constexpr (requires { &Values::describe; }) Values::describe(rows);
    return rows;
  }();
  return table;
}

/// A row of the table of operations.
struct AugmentEntry {
  AugmentOp op = AugmentOp::none;
  std::string name;
  std::string main;     ///< parameter that a single value sets; see takes_value()
  std::string summary;  ///< one-line summary
  std::string source;   ///< reference for its definition
  AugmentParams defaults;

  std::vector<ParamRow> rows() const;
  /// True if `OP: VALUE` is accepted: the value is the operation's strength, or the probability if
  /// it has no other parameters.
  bool takes_value() const { return main != "probability" || rows().size() == 1; }
};

/// All operations, in the order of the documentation.
const std::vector<AugmentEntry>& augmentation_table();
const AugmentEntry& augmentation_entry(AugmentOp op);

/// A configured group.
struct GroupSetting {
  GroupKind kind = GroupKind::apply;
  GroupPlace group;  ///< place of the group itself in another group
  int members = 0;
  double probability = 1;       ///< apply
  std::vector<double> weights;  ///< one_of; empty: equal chances
  ConfigLocation place;
};
/// The rows of a group's parameters.
const ParamTable<GroupSetting>& group_table(GroupKind kind);
/// One line on what a group does.
const char* group_help(GroupKind kind);
/// The key that begins a group: "one_of".
const char* group_name(GroupKind kind);
/// The key of a group's list of operations: "of" or "one_of".
const char* group_list(GroupKind kind);
inline constexpr GroupKind kGroupKinds[] = {GroupKind::apply, GroupKind::one_of,
                                            GroupKind::random_order};

/// A configured operation.
struct AugmentSetting {
  AugmentParams params;
  ConfigLocation place;
  GroupPlace group = {};

  AugmentOp op() const;
  /// The stage; it may depend on the parameters.
  AugmentStage stage() const;
  /// "augment.zoom", after the location in the file if it is known.
  std::string where() const;
};

/// Mean and standard deviation of some columns; one value each applies to all of them.
struct ColumnScaling {
  std::vector<double> mean = {0};
  std::vector<double> std = {1};
  friend bool operator==(const ColumnScaling&, const ColumnScaling&) = default;
};

/// Smallest standard deviation: the reciprocal of a much smaller one overflows f32.
inline constexpr double kLeastStd = 1e-37;

/// The final scaling of colours, or of event and set values: (value - mean) / std.
struct Normalisation : ColumnScaling {
  enum class Choice : std::uint8_t {
    by_default,  ///< images: none; events and sets: see settle_normalisation
    automatic,   ///< `auto`: measured from the data; only for events and sets
    given,       ///< numbers, or `none`
  };
  Choice choice = Choice::by_default;
  ColumnScaling globals;  ///< scaling of the globals of sets

  /// True if it changes no value; also true until the automatic values are measured.
  bool is_identity() const;
};
const ParamTable<ColumnScaling>& normalisation_table();

/// Reads the key `normalise` of `node`, if present; it must be a map, auto or none (config error).
void read_normalisation(const ConfigNode& node, Normalisation& values);
/// Writes the key, unless the normalisation is the default.
void write_normalisation(ConfigWriter& writer, const Normalisation& values);

/// A source's operations and normalisation, and how stored images are interpolated and padded.
struct Augmentations {
  std::vector<AugmentSetting> list;  ///< in order, including the operations in groups
  std::vector<GroupSetting> groups;  ///< outer ones first
  Normalisation normalisation;
  Padding padding = Padding::zero;
  Interpolation interpolation = Interpolation::bilinear;
  std::int64_t centre_crop = 0;  ///< held-out images: shorter side before a centre crop; 0: none
  ConfigLocation place;

  /// The settings of held-out samples: the same without the list, but with the centre crop.
  Augmentations held_out() const;
};
/// The table rows `padding`, `interpolation` and `centre_crop`.
const ParamTable<Augmentations>& reading_table();

/// Reads the keys `augment`, `normalise`, `padding` and `interpolation` of `node` into `values`; a
/// new list replaces the whole previous list. Throws config errors, with their location, for an
/// unknown operation, a parameter out of range, a duplicate operation, an impossible order, or the
/// key `view` of earlier versions.
void read_augmentations(const ConfigNode& node, Augmentations& values);
/// Writes the same keys as read_augmentations(), with the operations of presets.
void write_augmentations(ConfigWriter& writer, const Augmentations& values);

/// Throws config errors that involve more than one table row: inverted ranges, a duplicate
/// operation, an impossible order, an impossible group.
void check_augmentations(const Augmentations& values);

/// Plans for a source image size ({}: each image has its own) and an output size. Throws the errors of check_augmentations, and
/// config errors for a blur wider than the image or a normalisation that does not suit colours.
AugmentationPlan plan_augmentation(const Augmentations& values, FrameSize source, FrameSize out);

/// Throws a config error if an operation or the normalisation needs colours and the images have one
/// channel.
void expect_channels(const Augmentations& values, int channels);

/// Throws a config error if an operation leaves dense labels without meaning.
void expect_pixels_labelled(const Augmentations& values);

/// Throws a config error that names the regression target `what` if the geometric operations make a
/// latent of this role undefined.
void expect_mappable(const Augmentations& values, LatentRole role, const std::string& what);

}  // namespace wellspring
