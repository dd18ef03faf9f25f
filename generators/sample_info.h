// Description of the samples of a generator or of a data set: names, units, ranges and widths. Used
// by sources, commands, reports and tests; host only.
//
// Constructors and copies are in sample_info.cpp, because inlining them into every generator would
// take a large part of the compile time.
#pragma once

#include "generators/latents.h"
#include "kernels/batch/batch.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wellspring {

/// One value of a column: a feature of an event or of an item, a global, a target.
struct ValueInfo {
  std::string name;
  std::string unit;  ///< "" if dimensionless

  ValueInfo();
  ValueInfo(std::string_view name, std::string_view unit);
  ValueInfo(const ValueInfo& other);
  ValueInfo(ValueInfo&& other) noexcept;
  ValueInfo& operator=(const ValueInfo& other);
  ValueInfo& operator=(ValueInfo&& other) noexcept;
  ~ValueInfo();
};

/// Dense labels of an image; 0 means nothing is visible there.
struct PlaneInfo {
  enum class Kind : std::uint8_t {
    number,        ///< index of the visible object, starting at 1
    class_number,  ///< class index + 1
    depth,         ///< distance of the visible object, above 0
  };
  std::string name;
  std::string help;  ///< meaning of the numbers, or origin of the depth
  std::string unit;  ///< unit of a depth; "" if dimensionless
  Kind kind = Kind::number;
};

/// Upper bound of the number of random blocks (Philox, four words each) per sample, for square
/// images without augmentation. Includes pixels beyond the border that complete a run.
struct DrawBudget {
  std::int64_t scene = 0;  ///< blocks to draw the scene or the event
  std::int64_t part = 0;   ///< blocks to prepare a part of the image
  std::int64_t pixel = 0;  ///< blocks to colour one pixel
  int side = 0;            ///< side of a part, pixels; 0: the image is one part
  bool cached = false;     ///< true: a cached state may reduce the number of blocks
};

/// The best mean result of any predictor of the label or the targets, known in
/// closed form or from an exact likelihood.
struct BestResult {
  std::string metric;  ///< name in reports, such as "accuracy" or "rmse of theta0"
  double value = 0;    ///< a fraction, or in the unit of the prediction
};

/// Another generator whose samples this one shows.
struct UsedGenerator {
  std::string name;
  int version = 1;
};

/// Optional members of a functor that its generator calls (functor_generator.h). A functor names
/// them with
///
///     static constexpr GeneratorHooks kHooks = {.notes = true};
struct GeneratorHooks {
  bool best_accuracy = false;
  bool notes = false;
  bool instead = false;
  bool tables = false;       ///< has Tables
  bool table_notes = false;  ///< has Tables::notes
};

/// Help of the parameter `render`, for generators that set SampleInfo::canvas.
inline constexpr const char* kRenderHelp =
    "shorter side of the canvas on which the picture is drawn; the output and its crops are read "
    "from it with antialiasing; 0: the size of the output";

struct SampleInfo {
  std::string name;
  /// Increases whenever the bytes of the samples change.
  int version = 1;
  SampleLayout layout;  ///< with all targets and latents, without dense labels
  int canvas = 0;  ///< shorter side of the canvas that images are read from; 0: the layout's size
  std::string summary;                 ///< one-line summary
  std::string reference;               ///< the publication or formula that it follows
  std::vector<std::string> classes;    ///< label i means classes[i]
  std::vector<double> cross_sections;  ///< by class, pb; empty: not modelled
  std::vector<LatentInfo> latents;
  /// Number of leading latents that the caller can set (EmitCall::latents); the others follow from
  /// them or cannot be set.
  int settable_latents = 0;
  std::optional<PlaneInfo> plane;   ///< dense labels of images, made on request
  std::vector<ValueInfo> features;  ///< features of an event or an item; empty for images
  std::vector<ValueInfo> globals, targets;
  float low = 0, high = 1;  ///< range of the values of x without augmentation
  /// Number of different samples; 0: unlimited.
  std::uint64_t distinct = 0;
  DrawBudget draws;
  std::vector<BestResult> best;
  std::vector<UsedGenerator> uses;

  SampleInfo();
  SampleInfo(const SampleInfo& other);
  SampleInfo(SampleInfo&& other) noexcept;
  SampleInfo& operator=(const SampleInfo& other);
  SampleInfo& operator=(SampleInfo&& other) noexcept;
  ~SampleInfo();

  std::optional<double> best_result(std::string_view metric) const;
  /// Shape of the image that the augmentation reads: a canvas has the layout's proportions.
  SampleShape source_shape() const;
};

}  // namespace wellspring
