// Random words of the augmentation, and the list of colour steps drawn from them. Called when an
// augmentation is drawn; host and device.
//
// Random words are keyed by (seed, ordinal, view, operation, draw). An operation's words depend
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
  WS_INLINE AugmentRng(SampleRng rng, AugmentOp op, std::uint32_t view)
      : rng_(rng), draw_(view << 16 | static_cast<std::uint32_t>(op) << 8) {}

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
    a_.colour_at_emission = first_whole_ >= 0 ? first_whole_ : before_blur_;
  }

 private:
  Augmentation& a_;
  int count_ = 0, before_blur_ = 0, first_whole_ = -1;
};

}  // namespace wellspring
