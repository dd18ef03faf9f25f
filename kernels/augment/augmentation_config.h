// The table of augmentation operations, what a configuration says about them, and the planner that
// makes an AugmentationPlan of it. For configuration readers, sources and the command line; host
// only.
//
//     augment:
//       - crop_resize: {scale: [0.08, 1], ratio: [0.75, 1.3333]}
//       - flip_x: 0.5              one value: the operation's main parameter
//       - grey                     nothing: its defaults
//     normalise: {mean: [0.5], std: [0.25]}
#pragma once

#include "core/config/config.h"
#include "core/config/config_values.h"
#include "core/config/params.h"
#include "kernels/augment/augmentation.h"
#include "kernels/augment/latent_map.h"

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring {

/// What contrast leaves as it is.
enum class ContrastCentre : std::uint8_t {
  middle,  ///< 0.5: in the same pass as everything else
  mean,    ///< that of the image, as torchvision has it: another pass
};
/// What an erased box is filled with, after normalisation.
enum class ErasedFill : std::uint8_t { mean, noise };

/// The parameters of all operations; each reads its own. Ranges are [from, to].
struct AugmentParams {
  double probability = 1;
  std::vector<double> scale = {0.08, 1};  ///< crop_resize
  std::vector<double> ratio = {0.75, 4. / 3};
  double fraction = 0.125;  ///< shift
  std::vector<double> zoom = {1, 1};
  double angle = 0;                               ///< rotate, affine; degrees
  std::vector<double> translate = {0, 0};         ///< affine, along x and along y
  std::vector<double> shear = {0, 0};             ///< affine, degrees, along x and along y
  double distortion = 0.5;                        ///< perspective
  double strength = 0;                            ///< brightness, contrast, saturation, hue
  ContrastCentre about = ContrastCentre::middle;  ///< contrast
  double threshold = 0.5;                         ///< solarise
  int bits = 8;                                   ///< posterise
  double factor = 1;                              ///< sharpen
  double deviation = 0.1;                         ///< noise, rand_augment
  std::vector<double> sigma = {0.1, 2};           ///< blur
  int kernel = 0;
  int side = 0;                        ///< erase
  ErasedFill fill = ErasedFill::mean;  ///< erase_box
  int operations = 2;                  ///< rand_augment
  double magnitude = 9;
};

/// What an operation needs, and with it its place in the list: geometry and colour in any order,
/// colours that take a pass over whole images behind all geometry; then, or between pointwise
/// colours, neighbours; then erase.
enum class AugmentStage : std::uint8_t { geometry, colour, whole, neighbours, erase };

/// One row of the table of operations.
struct AugmentEntry {
  AugmentOp op = AugmentOp::none;
  std::string name;
  AugmentStage stage = AugmentStage::geometry;
  std::string main;     ///< the parameter that a single value sets
  std::string summary;  ///< one line
  std::string source;   ///< where its law comes from
  ParamTable<AugmentParams> table;
  AugmentParams defaults;

  /// Its parameters, with its own defaults.
  std::vector<ParamRow> rows() const;
};

/// All operations, in the order in which they are documented.
const std::vector<AugmentEntry>& augmentation_table();
const AugmentEntry& augmentation_entry(AugmentOp op);

/// One operation as configured.
struct AugmentSetting {
  AugmentOp op = AugmentOp::none;
  AugmentParams params;
  ConfigLocation place;
};

/// What is done to colours last.
struct Normalisation {
  std::vector<double> mean = {0};
  std::vector<double> std = {1};
};
const ParamTable<Normalisation>& normalisation_table();

/// The list of a source, its normalisation, and what is seen between the pixels of stored images
/// and beyond their border.
struct Augmentations {
  std::vector<AugmentSetting> list;
  Normalisation normalisation;
  Padding padding = Padding::zero;
  Interpolation interpolation = Interpolation::bilinear;
  ConfigLocation place;

  /// The same without the list: how held-out samples are looked at.
  Augmentations without_list() const;
};
/// Rows `padding` and `interpolation`.
const ParamTable<Augmentations>& reading_table();

/// The stage of an operation as it is configured.
AugmentStage stage_of(const AugmentSetting& setting);

/// Reads the keys `augment`, `normalise`, `padding` and `interpolation` of `node` over what
/// `values` holds; a list replaces a list as a whole. Errors (config), each with its place: an
/// operation that does not exist, a parameter out of range, an operation twice, an order that
/// cannot be kept, the key `view` of former versions.
void read_augmentations(const ConfigNode& node, Augmentations& values);
/// Writes the same keys.
void write_augmentations(ConfigWriter& writer, const Augmentations& values);

/// Errors (config) for what no single row can check: ranges upside down, lists of a wrong length,
/// an operation twice, an order that cannot be kept.
void check_augmentations(const Augmentations& values);

/// Plans for images of one shape looked at and one shape made. Errors (config) as
/// check_augmentations, and for a blur that is wider than the image.
AugmentationPlan plan_augmentation(const Augmentations& values, FrameSize source, FrameSize out);

/// Whether truth can follow: error (config) naming `what`, a regression's target with this role,
/// where the plan's geometry leaves no value for it.
void expect_mappable(const Augmentations& values, LatentRole role, const std::string& what);

}  // namespace wellspring
