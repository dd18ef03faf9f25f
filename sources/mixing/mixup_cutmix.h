// Mixup and cutmix of the rows of a batch, pair by pair: the random draws, labels and values.
// Called by sources/mixing/mixup_pass.cpp; host and device.
//
// Rows 2k and 2k + 1 of the global batch are a pair. Each row is mixed with the other, in place:
// one thread handles one position of both rows. Mixup: H. Zhang, M. Cisse, Y. Dauphin, D.
// Lopez-Paz, "mixup: beyond empirical risk minimization", ICLR 2018. Cutmix: S. Yun et al.,
// "CutMix: regularization strategy to train strong classifiers with localizable features", ICCV
// 2019, algorithm A1.
#pragma once

#include "kernels/batch/batch.h"
#include "kernels/random/beta.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/dtype.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/step_state.h"

#include <cstdint>
#include <limits>

namespace wellspring {

/// How pairs are mixed: probability and distributions.
struct MixLaw {
  float mixup = 0;        ///< a in Beta(a, a), the share's distribution; 0: off
  float cutmix = 0;       ///< a in Beta(a, a), the box area's distribution; 0: off
  float probability = 1;  ///< probability of mixing a pair; mixup and cutmix are equally likely
};

/// The draw for one pair.
struct PairMix {
  float own = 1;    ///< share of its own content that each row keeps; 1: unmixed
  float other = 0;  ///< share of the other row; one of the shares is 1 minus the other, in f32
  std::int32_t left = 0, top = 0, right = 0, bottom = 0;  ///< cutmix: box of exchanged pixels

  WS_INLINE constexpr bool mixes() const { return own != 1; }
  WS_INLINE constexpr bool cuts() const { return right > left; }
};

/// Mixup with `share`; a share of 1 leaves the pair unmixed.
WS_INLINE constexpr PairMix mixup_of(float share) {
  PairMix mix;
  mix.own = share;
  mix.other = 1 - share;
  return mix;
}

/// The box of algorithm A1: centre (x, y), each uniform in [0, 1) of the image; sides sqrt(1 -
/// share) times the image's sides, clipped and then rounded to pixels. The shares follow from the
/// final area.
WS_HD inline PairMix cutmix_of(float share, float x, float y, SampleShape shape) {
  const float side = 0.5f * math::sqrt(1 - share);
  const auto edge = [](float at, int length) {
    const auto size = static_cast<float>(length);
    return math::floor(math::clamp(at * size, 0.f, size) + 0.5f);
  };
  const float left = edge(x - side, shape.width), right = edge(x + side, shape.width);
  const float top = edge(y - side, shape.height), bottom = edge(y + side, shape.height);
  PairMix mix;
  if (right <= left || bottom <= top) return mix;
  // Whole numbers up to 2^24, so the product is exact.
  const float area = (right - left) * (bottom - top);
  mix.other = area / (static_cast<float>(shape.width) * static_cast<float>(shape.height));
  mix.own = 1 - mix.other;
  mix.left = static_cast<std::int32_t>(left);
  mix.right = static_cast<std::int32_t>(right);
  mix.top = static_cast<std::int32_t>(top);
  mix.bottom = static_cast<std::int32_t>(bottom);
  return mix;
}

/// The draw for pair `number` of the run. Block 0 of its words decides whether to mix, by which
/// method, and where; later words give the share.
WS_HD inline PairMix draw_mix(const MixLaw& law, std::uint64_t seed, std::uint64_t number,
                              SampleShape shape) {
  RngStream words({seed, number}, Purpose::mix);
  const float whether = words.uniform(), which = words.uniform();
  const float x = words.uniform(), y = words.uniform();
  if (!(whether < law.probability)) return {};
  const bool cut = law.cutmix > 0 && (law.mixup <= 0 || which < 0.5f);
  if (!cut && !(law.mixup > 0)) return {};
  const float alpha = cut ? law.cutmix : law.mixup;
  const float share = draw_beta(words, alpha, alpha);
  return cut ? cutmix_of(share, x, y, shape) : mixup_of(share);
}

/// Location of the class labels of a source's rows.
struct MixedLabels {
  std::int32_t space = 0;    ///< label space; only rows of one space are mixed with each other
  std::int32_t classes = 0;  ///< number of classes of the label space
  /// True: the first columns of `target`, one per class, hold probabilities or multi-hot labels.
  /// False: `label` holds the class.
  bool in_target = false;
};

/// First pass, over pairs: draws. A pair stays unmixed if its rows differ in label space, or if a
/// label is not a class.
struct DrawMixes {
  MixLaw law;
  std::uint64_t seed;
  Share share;
  SampleShape shape;
  MixedLabels labels[kMaxSources];
  const StepState* state;
  const Slot* slots;
  const std::int32_t* label;
  PairMix* pairs;

  WS_HD void operator()(std::int64_t pair) const {
    const MixedLabels& a = labels[slots[2 * pair].source];
    const MixedLabels& b = labels[slots[2 * pair + 1].source];
    PairMix mix;
    if (a.space == b.space && named(a, 2 * pair) && named(b, 2 * pair + 1)) {
      const std::int64_t of_step = share.first_row / 2 + pair;
      const std::uint64_t number =
          state->step * static_cast<std::uint64_t>(share.global_batch / 2) +
          static_cast<std::uint64_t>(of_step);
      mix = draw_mix(law, seed, number, shape);
    }
    pairs[pair] = mix;
  }
  WS_INLINE bool named(const MixedLabels& of, std::int64_t row) const {
    return of.in_target || (label[row] >= 0 && label[row] < of.classes);
  }
};

/// Second pass, over pairs and columns: writes the share of each class into `target` of every row,
/// linear in the labels of the pair. Writes 0 beyond the classes of the label space. If the label
/// is not a class, writes NaN, which stops the run.
struct MixTargets {
  const PairMix* pairs;
  MixedLabels labels[kMaxSources];
  const Slot* slots;
  const std::int32_t* label;
  float* target;
  std::int32_t width;

  WS_HD void operator()(std::int64_t i) const {
    const std::int64_t pair = i / width, a = 2 * pair, b = a + 1;
    const auto column = static_cast<std::int32_t>(i % width);
    const PairMix mix = pairs[pair];
    const float of_a = said(a, column), of_b = said(b, column);
    float* const row = target + a * width + column;
    row[0] = mix.mixes() ? math::fma(mix.own, of_a, mix.other * of_b) : of_a;
    row[width] = mix.mixes() ? math::fma(mix.own, of_b, mix.other * of_a) : of_b;
  }
  WS_INLINE float said(std::int64_t row, std::int32_t column) const {
    const MixedLabels& of = labels[slots[row].source];
    if (column >= of.classes) return 0;
    if (of.in_target) return target[row * width + column];
    if (label[row] < 0 || label[row] >= of.classes) return std::numeric_limits<float>::quiet_NaN();
    return label[row] == column ? 1.f : 0.f;
  }
};

/// Third pass, over pairs and over runs of N neighbouring values; N divides the number of values
/// per row. Either N times the size of T is 16 bytes, or N is 1.
template <class T, int N>
struct MixValues {
  const PairMix* pairs;
  T* x;
  SampleShape shape;

  struct alignas(N * sizeof(T)) Run {
    T value[N];
  };

  WS_HD void operator()(std::int64_t i) const {
    const std::int64_t elements = shape.elements(), runs = elements / N;
    const std::int64_t pair = i / runs, first = i % runs * N;
    const PairMix mix = pairs[pair];
    if (!mix.mixes()) return;
    T* const a = x + 2 * pair * elements + first;
    T* const b = a + elements;
    if (mix.cuts()) {
      swap(mix, first, a, b);
    } else {
      blend(mix, a, b);
    }
  }

  WS_INLINE void blend(const PairMix& mix, T* a, T* b) const {
    Run of_a = load(a), of_b = load(b);
    WS_UNROLL(8)
    for (int k = 0; k < N; ++k) {
      const auto va = static_cast<float>(of_a.value[k]), vb = static_cast<float>(of_b.value[k]);
      of_a.value[k] = static_cast<T>(math::fma(mix.own, va, mix.other * vb));
      of_b.value[k] = static_cast<T>(math::fma(mix.own, vb, mix.other * va));
    }
    store(a, of_a);
    store(b, of_b);
  }

  WS_INLINE void swap(const PairMix& mix, std::int64_t first, T* a, T* b) const {
    const auto at = static_cast<std::int32_t>(first);
    const std::int32_t line = shape.width * shape.channels;
    // A run may extend into the next lines.
    if ((at + N - 1) / line < mix.top || at / line >= mix.bottom) return;
    Run of_a = load(a), of_b = load(b);
    WS_UNROLL(8)
    for (int k = 0; k < N; ++k) {
      const std::int32_t row = (at + k) / line, column = (at + k) % line;
      if (row < mix.top || row >= mix.bottom || column < mix.left * shape.channels ||
          column >= mix.right * shape.channels)
        continue;
      const T kept = of_a.value[k];
      of_a.value[k] = of_b.value[k];
      of_b.value[k] = kept;
    }
    store(a, of_a);
    store(b, of_b);
  }

  /// One access of 16 bytes on a GPU.
  WS_INLINE static Run load(const T* from) {
#if WS_DEVICE_CODE
    return *reinterpret_cast<const Run*>(from);
#else
    Run run;
    for (int k = 0; k < N; ++k) run.value[k] = from[k];
    return run;
#endif
  }
  WS_INLINE static void store(T* to, const Run& run) {
#if WS_DEVICE_CODE
    *reinterpret_cast<Run*>(to) = run;
#else
    for (int k = 0; k < N; ++k) to[k] = run.value[k];
#endif
  }
};

/// Values per run: 16 bytes, if rows allow.
template <class T>
inline constexpr int kMixRun = 16 / static_cast<int>(sizeof(T));

}  // namespace wellspring
