// Augmentation: how one sample is viewed. The planner in augmentation_plan.cpp runs once and makes
// a plan: the list of possible operations. For each sample, augmentation_draw.h draws a result from
// the plan: a homography from output pixels to source pixels, colour steps in order, normalisation,
// a box to erase, and a blur. Plain data, for host and device.
#pragma once

#include "kernels/augment/homography.h"
#include "kernels/batch/batch.h"
#include "kernels/random/math.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring {

/// Number of an operation, declared in the operation's file in operations/. It is part of the key
/// of the operation's random words.
enum class AugmentOp : std::uint8_t { none = 0 };

/// The stage of an operation determines where it may be in the list. Geometry and pointwise colours
/// come first, in any order; whole-image colours come after all geometry; then neighbours
/// (pointwise colours may precede or follow); then erase.
///
/// `whole`: the operation runs in the whole-image pass, because it needs neighbours or the whole
/// image, or because (like noise) its code would lengthen every generator's kernel.
enum class AugmentStage : std::uint8_t { geometry, colour, whole, neighbours, erase };

/// Properties of an operation.
struct OperationInfo {
  AugmentOp op;
  AugmentStage stage;
  const char* name;     ///< name in a configuration
  const char* main;     ///< parameter that a single value sets
  const char* summary;  ///< one-line summary
  const char* source;   ///< reference for its definition, or ""

  /// `number` must never be reused.
  constexpr OperationInfo(int number, AugmentStage at, const char* key, const char* parameter,
                          const char* line, const char* reference)
      : op(static_cast<AugmentOp>(number)),
        stage(at),
        name(key),
        main(parameter),
        summary(line),
        source(reference) {}
};
template <class Op>
inline constexpr AugmentOp op_of = Op::kInfo.op;

/// Pixels beyond the border of a stored image. Generators evaluate their formulas there.
enum class Padding : std::uint8_t {
  zero,  ///< black
  edge,  ///< repeats the nearest border pixel
};

/// Interpolation of stored images between pixel centres.
enum class Interpolation : std::uint8_t { bilinear, bicubic };

inline constexpr int kMostGeometrySteps = 12;
inline constexpr int kMostColourSteps = 14;
inline constexpr int kMostRandOperations = 4;
/// Maximum number of colour steps per sample: a full list in which rand_augment expands to its
/// operations, and auto_augment to two.
inline constexpr int kMostDrawnColours = kMostColourSteps - 2 + kMostRandOperations + 2;

inline constexpr int kStepValues = 8;

inline constexpr int kMostGroups = 8;
inline constexpr int kMostMembers = 8;

/// How the operations of a group are drawn.
enum class GroupKind : std::uint8_t {
  apply,         ///< all of them, or none
  one_of,        ///< one of the members
  random_order,  ///< all of them, in random order
};

/// The position of an operation or group in a group.
struct GroupPlace {
  std::int8_t group = -1;  ///< index of the group; -1: directly in the list
  std::int8_t member = 0;  ///< index within one_of; 0 in other groups

  friend bool operator==(const GroupPlace&, const GroupPlace&) = default;
};

/// A group of a plan. A group inside another one has a higher index.
struct AugmentGroup {
  GroupKind kind = GroupKind::apply;
  GroupPlace place;                  ///< place of the group itself
  std::int8_t first = 0, count = 0;  ///< one_of: members; random_order: range of colour steps
  float probability = 1;             ///< apply
  float until[kMostMembers] = {};    ///< one_of: cumulative chances; the last is 1

  friend bool operator==(const AugmentGroup&, const AugmentGroup&) = default;
};

/// One operation of a plan, with the values that the operation's plan() returns.
struct AugmentStep {
  AugmentOp op = AugmentOp::none;
  GroupPlace place;
  float probability = 0;
  float value[kStepValues] = {};

  friend bool operator==(const AugmentStep&, const AugmentStep&) = default;
};

WS_INLINE constexpr FrameSize frame_of(SampleShape shape) {
  return {shape.width, shape.height};
}

/// The possible augmentations of a source's samples. The default does nothing and accepts images of
/// any size.
struct AugmentationPlan {
  FrameSize source, out;  ///< size of the source image and of the output; 0: any
  AugmentStep geometry[kMostGeometrySteps];
  AugmentStep colour[kMostColourSteps];
  AugmentGroup group[kMostGroups];
  std::int32_t group_count = 0;
  std::int32_t geometry_count = 0;
  std::int32_t colour_count = 0;
  std::int32_t colour_before_blur = 0;
  AugmentStep blur, erase;        ///< AugmentOp::none if not in the list
  std::int32_t blur_radius = 0;   ///< pixels on each side
  bool whole_images = false;      ///< an operation needs the whole-image pass before the blur
  bool whole_after_blur = false;  ///< an operation needs the whole-image pass after the blur
  Padding padding = Padding::zero;
  Interpolation interpolation = Interpolation::bilinear;
  float mean[3] = {0, 0, 0};     ///< subtracted, per channel, in units of [0, 1] intensity
  float inv_std[3] = {1, 1, 1};  ///< factor applied after `mean`, per channel

  WS_INLINE bool blurs() const { return blur.op != AugmentOp::none; }
  /// Number of patches per image if the plan masks some of them, otherwise 0.
  int patches() const;
  /// True if more passes follow emission.
  WS_INLINE bool goes_on() const { return blurs() || whole_images; }
  friend bool operator==(const AugmentationPlan&, const AugmentationPlan&) = default;
};

/// A drawn colour operation with its value, such as a factor, shift or threshold.
struct ColourStep {
  AugmentOp op = AugmentOp::none;
  float value = 0;
};

/// One sample's drawn augmentation. With d = output point - centre, in output pixels, the source
/// point is (m d + origin) / (w . (d, 1)), in source pixels; pixel centres are at half-integers.
struct Augmentation {
  float m00 = 1, m01 = 0, m10 = 0, m11 = 1;
  float origin_x = 0, origin_y = 0;
  float centre_x = 0, centre_y = 0;
  float w_x = 0, w_y = 0, w = 1;
  float footprint = 1;      ///< side of an output pixel in source pixels, at the centre; edges are
                            ///< anti-aliased over it
  bool projective = false;  ///< true: w is not (0, 0, 1)
  bool unfinished = false;  ///< the list continues after the emission pass
  bool on_grid = true;  ///< true: only flips and whole-pixel shifts, so pixel centres map to pixel
                        ///< centres
  Padding padding = Padding::zero;
  Interpolation interpolation = Interpolation::bilinear;
  bool erase_noise = false;  ///< true: fills the box with noise instead of the mean
  bool mask_only = false;    ///< true: masked patches keep their pixels
  std::int32_t colour_count = 0;
  std::int32_t colour_at_emission = 0;  ///< number of steps applied at emission: those before the
                                        ///< blur or the first whole-image step
  std::int32_t colour_before_blur = 0;
  ColourStep colour[kMostDrawnColours];
  float gain[3] = {1, 1, 1};  ///< normalisation: out = gain * colour + bias
  float bias[3] = {0, 0, 0};
  std::int32_t erase_x0 = 0, erase_y0 = 0, erase_x1 = 0, erase_y1 = 0;  ///< ends are exclusive
  float blur_sigma = 0;                                                 ///< pixels; 0: no blur
  std::uint32_t noise_key[2] = {0, 0},
                erase_key[2] = {0, 0};  ///< keys of the per-pixel normal numbers
  std::int32_t mask_patch = 0;  ///< side of the patches in pixels; 0: no mask. Its key is erase_key
  std::int32_t mask_count = 0;  ///< number of masked patches

  /// Source coordinates of the output point (x, y); exact for flips and whole-pixel shifts.
  WS_INLINE float source_x(float x, float y) const {
    const float dx = x - centre_x, dy = y - centre_y;
    const float along = math::fma(m00, dx, math::fma(m01, dy, origin_x));
    return projective ? along / depth(dx, dy) : along;
  }
  WS_INLINE float source_y(float x, float y) const {
    const float dx = x - centre_x, dy = y - centre_y;
    const float along = math::fma(m10, dx, math::fma(m11, dy, origin_y));
    return projective ? along / depth(dx, dy) : along;
  }
  /// The third homogeneous coordinate. The clamp maps points beyond the horizon to a far point on
  /// the near side. Even at the largest distortion, depths within the quadrilateral stay above
  /// twice the clamp's limit.
  WS_INLINE float depth(float dx, float dy) const {
    return math::max(math::fma(w_x, dx, math::fma(w_y, dy, w)), kLeastDepth);
  }

  static constexpr float kLeastDepth = 0x1p-12f;
};

/// A box in source coordinates.
struct SourceBox {
  float x0, y0, x1, y1;
};

/// Bounds the source points of the output rectangle [x, x + width] x [y, y + height]. Straight
/// lines stay straight, so this is the bounding box of the four mapped corners. The box is
/// unbounded if it reaches the horizon.
WS_INLINE SourceBox source_box(const Augmentation& a, float x, float y, float width, float height) {
  SourceBox box = {math::kInfinity, math::kInfinity, -math::kInfinity, -math::kInfinity};
  bool horizon = false;
  WS_UNROLL(4)
  for (int corner = 0; corner < 4; ++corner) {
    const float cx = (corner & 1) != 0 ? x + width : x;
    const float cy = (corner & 2) != 0 ? y + height : y;
    const float sx = a.source_x(cx, cy), sy = a.source_y(cx, cy);
    box.x0 = math::min(box.x0, sx);
    box.y0 = math::min(box.y0, sy);
    box.x1 = math::max(box.x1, sx);
    box.y1 = math::max(box.y1, sy);
    horizon |= a.projective && a.depth(cx - a.centre_x, cy - a.centre_y) <= a.kLeastDepth;
  }
  if (!horizon) return box;
  return {-math::kInfinity, -math::kInfinity, math::kInfinity, math::kInfinity};
}

}  // namespace wellspring
