// The table of augmentation operations, their settings in a configuration, and the planner that
// makes an AugmentationPlan from them. For configuration readers, sources and the command line;
// host only.
//
//     augment:
//       - crop_resize: {scale: [0.08, 1], ratio: [0.75, 1.3333]}
//       - flip_x: 0.5              a single value sets the main parameter
//       - grey                     default parameters
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

/// The fixed point of contrast.
enum class ContrastCentre : std::uint8_t {
  middle,  ///< 0.5: needs no extra pass
  mean,    ///< the image mean, as in torchvision: needs another pass
};
/// The fill of an erased box, after normalisation.
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

/// The stage of an operation, which determines its place in the list: geometry and pointwise
/// colours in any order, whole-image colours after all geometry; then neighbours (possibly between
/// pointwise colours); then erase.
enum class AugmentStage : std::uint8_t { geometry, colour, whole, neighbours, erase };

/// A row of the table of operations.
struct AugmentEntry {
  AugmentOp op = AugmentOp::none;
  std::string name;
  AugmentStage stage = AugmentStage::geometry;
  std::string main;     ///< the parameter set by a single value
  std::string summary;  ///< one line
  std::string source;   ///< reference of its definition
  ParamTable<AugmentParams> table;
  AugmentParams defaults;

  /// The parameters, with this operation's defaults.
  std::vector<ParamRow> rows() const;
};

/// All operations, in the order of the documentation.
const std::vector<AugmentEntry>& augmentation_table();
const AugmentEntry& augmentation_entry(AugmentOp op);

/// A configured operation.
struct AugmentSetting {
  AugmentOp op = AugmentOp::none;
  AugmentParams params;
  ConfigLocation place;
};

/// The final scaling of colours.
struct Normalisation {
  std::vector<double> mean = {0};
  std::vector<double> std = {1};
};
const ParamTable<Normalisation>& normalisation_table();

/// The list of a source, its normalisation, and the interpolation and padding of stored images.
struct Augmentations {
  std::vector<AugmentSetting> list;
  Normalisation normalisation;
  Padding padding = Padding::zero;
  Interpolation interpolation = Interpolation::bilinear;
  ConfigLocation place;

  /// The same without the list, for held-out samples.
  Augmentations without_list() const;
};
/// The rows `padding` and `interpolation`.
const ParamTable<Augmentations>& reading_table();

/// The stage of a configured operation.
AugmentStage stage_of(const AugmentSetting& setting);

/// Reads the keys `augment`, `normalise`, `padding` and `interpolation` of `node` into `values`; a
/// list replaces the whole previous list. Errors (config), with their location: an unknown
/// operation, a parameter out of range, a duplicate operation, an impossible order, the key `view`
/// of earlier versions.
void read_augmentations(const ConfigNode& node, Augmentations& values);
/// Writes the same keys.
void write_augmentations(ConfigWriter& writer, const Augmentations& values);

/// Errors (config) beyond single rows: inverted ranges, lists of a wrong length, a duplicate
/// operation, an impossible order.
void check_augmentations(const Augmentations& values);

/// Plans for a source image size and an output size. Errors (config) as check_augmentations, and
/// for a blur wider than the image.
AugmentationPlan plan_augmentation(const Augmentations& values, FrameSize source, FrameSize out);

/// Error (config), naming the regression target `what`, if the plan's geometry makes a latent of
/// this role undefined.
void expect_mappable(const Augmentations& values, LatentRole role, const std::string& what);

}  // namespace wellspring
