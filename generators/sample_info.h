// What is known of the samples of a generator or of a data set before any is made: names, units,
// ranges and widths. Used by sources, commands, reports and tests; host only.
//
// Copies and constructors of what generators list are in sample_info.cpp: inlined into each
// generator they would take a large part of its compile time.
#pragma once

#include "kernels/augment/latent_map.h"
#include "kernels/batch/batch.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wellspring {

/// Whether samples come near both ends of a latent's range. Of a uniform law they do; of others the
/// ends may be bounds that hardly a sample comes near.
enum class LatentEnds : std::uint8_t { reached, rare };

/// One number a sample was drawn with, as exported beside it.
struct LatentInfo {
  std::string name;
  std::string help;                     ///< what it is, with its zero and its sense
  std::string unit;                     ///< "" where dimensionless
  float low = 0, high = 1;              ///< the range it lies in, ends included
  LatentRole role = LatentRole::fixed;  ///< how it moves with the picture; a position_y follows its
                                        ///< position_x, a thing's length both, a wave's angle and
                                        ///< phase its period; "image side": a unit of fractions
  LatentEnds ends = LatentEnds::reached;

  LatentInfo();
  LatentInfo(std::string_view name, std::string_view help, std::string_view unit, float low = 0,
             float high = 1, LatentRole role = LatentRole::fixed,
             LatentEnds ends = LatentEnds::reached);
  LatentInfo(const LatentInfo& other);
  LatentInfo(LatentInfo&& other) noexcept;
  LatentInfo& operator=(const LatentInfo& other);
  LatentInfo& operator=(LatentInfo&& other) noexcept;
  ~LatentInfo();
};
inline LatentInfo rarely_reached(LatentInfo latent) {
  latent.ends = LatentEnds::rare;
  return latent;
}

/// One value of a column: a feature of an event or of an item, a global, a target.
struct ValueInfo {
  std::string name;
  std::string unit;  ///< "" where dimensionless

  ValueInfo();
  ValueInfo(std::string_view name, std::string_view unit);
  ValueInfo(const ValueInfo& other);
  ValueInfo(ValueInfo&& other) noexcept;
  ValueInfo& operator=(const ValueInfo& other);
  ValueInfo& operator=(ValueInfo&& other) noexcept;
  ~ValueInfo();
};

/// What the plane of an image says of each pixel; 0 is nothing.
struct PlaneInfo {
  enum class Kind : std::uint8_t {
    number,  ///< which of several things is seen, from 1 on
    depth,   ///< how far away what is seen lies, above 0
  };
  std::string name;
  std::string help;  ///< what the numbers count, or where the depth begins
  std::string unit;  ///< of a depth; "" where dimensionless
  Kind kind = Kind::number;
};

/// How many blocks of random numbers (Philox: four words each) a sample takes at most, without its
/// augmentation. Pixels beyond the border that fill up a run count as well.
struct DrawBudget {
  std::int64_t scene = 0;  ///< to draw the scene, or the event
  std::int64_t part = 0;   ///< to prepare for the pixels of a part
  std::int64_t pixel = 0;  ///< to colour one pixel
  int side = 0;            ///< of the parts, in pixels; 0: one part
  bool cached = false;     ///< less is drawn where what a sample builds upon is still resident
};

/// The best that any predictor of the label or the targets can reach on average, known in closed
/// form or by an exact likelihood.
struct BestResult {
  std::string metric;  ///< as reports call it: "accuracy", "rmse of theta0"
  double value = 0;    ///< a share, or in the unit of what is predicted
};

/// Another generator whose samples are seen in one's own.
struct UsedGenerator {
  std::string name;
  int version = 1;
};

/// Optional members of a functor that its generator calls (functor_generator.h), named by
///
///     static constexpr GeneratorHooks kHooks = {.notes = true};
struct GeneratorHooks {
  bool best_accuracy = false;
  bool notes = false;
  bool instead = false;
  bool tables = false;       ///< Tables
  bool table_notes = false;  ///< Tables::notes
};

struct SampleInfo {
  std::string name;
  /// Counts the changes of a generator's bytes: samples of two versions are different samples.
  int version = 1;
  SampleLayout layout;               ///< with all targets and latents, without plane
  std::string summary;               ///< one line
  std::string reference;             ///< the publication or formula it follows
  std::vector<std::string> classes;  ///< label i means classes[i]
  std::vector<LatentInfo> latents;
  std::optional<PlaneInfo> plane;   ///< of images: dense truth, made where it is asked for
  std::vector<ValueInfo> features;  ///< of an event or an item; empty for images
  std::vector<ValueInfo> globals, targets;
  float low = 0, high = 1;  ///< range of the values of x without augmentation
  /// How many different samples there are; 0: as many as there are numbers of samples.
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
};

}  // namespace wellspring
