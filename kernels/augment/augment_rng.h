// Random words of the augmentation, and the list of colour steps drawn from them. Called when an
// augmentation is drawn; host and device.
//
// Random words are keyed by (seed, ordinal, operation, draw). An operation's words depend
// neither on its position in the list nor on the other entries.
#pragma once

#include "kernels/augment/augmentation.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring {

/// The sequence of random words for one operation on one sample. The first word decides whether the
/// operation is applied.
class AugmentRng {
 public:
  WS_INLINE AugmentRng(SampleRng rng, AugmentOp op)
      : rng_(rng), draw_(static_cast<std::uint32_t>(op) << 8) {}

  WS_INLINE std::uint32_t next() {
    const std::uint32_t lane = used_ & 3u;
    if (lane == 0) block_ = rng_.block(Purpose::augment, draw_ + (used_ >> 2));
    ++used_;
    return block_.word[lane];
  }
  WS_INLINE float uniform() { return unit_float(next()); }
  WS_INLINE float uniform(float low, float high) { return math::lerp(low, high, uniform()); }
  /// Uniform integer in [0, most], as a float.
  WS_INLINE float whole(float most) {
    return static_cast<float>(
        static_cast<std::int32_t>(below(next(), static_cast<std::uint32_t>(most) + 1u)));
  }
  /// True if the operation is applied. Call this first.
  WS_INLINE bool happens(const AugmentStep& step) { return uniform() < step.probability; }
  WS_INLINE void key(std::uint32_t (&words)[2]) {
    words[0] = next();
    words[1] = next();
  }

 private:
  SampleRng rng_;
  std::uint32_t draw_;
  Philox4 block_{};
  std::uint32_t used_ = 0;
};

/// Number of the random words of a group, given its index. Operations have lower numbers.
WS_INLINE constexpr AugmentOp words_of_group(int index) {
  return static_cast<AugmentOp>(128 + index);
}

/// The groups drawn for a sample. The second word of one_of selects its member; the words of
/// random_order from the second on shuffle its steps.
class DrawnGroups {
 public:
  WS_HD DrawnGroups(const AugmentationPlan& plan, SampleRng rng) {
    for (int g = 0; g < plan.group_count; ++g) {
      const AugmentGroup& group = plan.group[g];
      AugmentRng words(rng, words_of_group(g));
      const bool happens = words.uniform() < group.probability;
      if (!happens || !include(group.place)) continue;
      applied_ |= 1u << g;
      if (group.kind == GroupKind::one_of) choose(g, group, words.uniform());
      if (group.kind == GroupKind::random_order) shuffle(group, words);
    }
  }
  /// True if the operation or group at this place is applied, as far as its groups decide.
  WS_INLINE bool include(GroupPlace place) const {
    if (place.group < 0) return true;
    return (applied_ >> place.group & 1u) != 0 &&
           (chosen_ >> (4 * place.group) & 15u) == static_cast<std::uint32_t>(place.member);
  }
  /// Index of the colour step that is applied in position `i`.
  WS_INLINE int colour_step(int i) const { return static_cast<int>(order_ >> (4 * i) & 15u); }

 private:
  WS_INLINE void choose(int g, const AugmentGroup& group, float u) {
    int member = 0;
    while (member + 1 < group.count && u >= group.until[member]) ++member;
    chosen_ |= static_cast<std::uint32_t>(member) << (4 * g);
  }
  /// Fisher-Yates shuffle.
  WS_INLINE void shuffle(const AugmentGroup& group, AugmentRng& words) {
    for (int last = group.count - 1; last > 0; --last) {
      const auto other =
          static_cast<int>(below(words.next(), static_cast<std::uint32_t>(last) + 1u));
      const int a = 4 * (group.first + last), b = 4 * (group.first + other);
      const std::uint64_t differ = (order_ >> a ^ order_ >> b) & 15u;
      order_ ^= differ << a | differ << b;
    }
  }

  std::uint32_t applied_ = 0;                  ///< a bit per group
  std::uint32_t chosen_ = 0;                   ///< four bits per group
  std::uint64_t order_ = 0xfedcba9876543210u;  ///< four bits per colour step
};
static_assert(kMostColourSteps <= 16 && kMostGroups * 4 <= 32 && kMostMembers <= 16);

/// Collects a sample's drawn colour steps, in order.
class ColourList {
 public:
  WS_INLINE explicit ColourList(Augmentation& a) : a_(a) {}

  /// Adds a step of operation Op, unless the step has no effect.
  template <class Op>
  WS_INLINE void add(float value) {
    if constexpr (requires { &Op::idle; }) {
      if (Op::idle(value)) return;
    }
    if (Op::kInfo.stage == AugmentStage::whole && first_whole_ < 0) first_whole_ = count_;
    a_.colour[count_] = {op_of<Op>, value};
    ++count_;
  }
  /// Draws the key of the per-pixel normal numbers.
  WS_INLINE void add_key(AugmentRng& words) { words.key(a_.noise_key); }
  /// Marks the position of the blur in the list.
  WS_INLINE void mark_blur() { before_blur_ = count_; }
  WS_INLINE void finish() const {
    a_.colour_count = count_;
    a_.colour_before_blur = before_blur_;
    const bool first = first_whole_ >= 0 && first_whole_ < before_blur_;
    a_.colour_at_emission = first ? first_whole_ : before_blur_;
  }

 private:
  Augmentation& a_;
  int count_ = 0, before_blur_ = 0, first_whole_ = -1;
};

}  // namespace wellspring
