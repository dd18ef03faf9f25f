// What a generator's functor is given for one sample, and where it says what is known of it. For
// all forms of emission. Host and device.
#pragma once

#include "kernels/batch/batch.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring {

/// Which sample is being made, as its functor sees it. Generators use `rng` and `shape` alone.
struct SampleKey {
  SampleRng rng;      ///< seed and sample id
  Slot slot;          ///< the place in the batch; row and sample index stored images
  SampleShape shape;  ///< of what is looked at, in source pixels
};

/// Of a functor with several labels a sample: the classes that are there, the first `labels`. One
/// may be named twice.
template <int Labels>
struct TrueLabels {
  std::int32_t labels = 0;
  std::int32_t present[Labels] = {};
};
template <>
struct TrueLabels<0> {};

/// What is known about a sample, written beside it.
template <int Latents, int Targets = 0, int Labels = 0>
struct Truth : TrueLabels<Labels> {
  std::int32_t label = 0;
  float weight = 1;
  float latents[Latents > 0 ? Latents : 1] = {};
  float target[Targets > 0 ? Targets : 1] = {};
};

namespace detail {

template <class F>
constexpr int targets_of() {
  if constexpr (requires { F::kTargets; }) {
    return F::kTargets;
  } else {
    return 0;
  }
}

template <class F>
constexpr int labels_of() {
  if constexpr (requires { F::kLabels; }) {
    static_assert(targets_of<F>() == 0, "the columns of `target` are its classes");
    return F::kLabels;
  } else {
    return 0;
  }
}

}  // namespace detail

/// The truth that a functor fills: kLatents latents and, where it has any, kTargets targets or up
/// to kLabels labels. A functor with labels has a column of `target` for each class of its
/// description: 1 where the class is there, otherwise 0 (multi-hot labels).
template <class F>
using TruthOf = Truth<F::kLatents, detail::targets_of<F>(), detail::labels_of<F>()>;

namespace detail {

/// `values` of which the row keeps as many as it has room for; the rest of the row is 0.
template <int N, class Values>
WS_INLINE void write_row(float* column, int width, std::int64_t b, const Values& values) {
  if (column == nullptr) return;
  float* const row = column + b * width;
  WS_UNROLL(16)  // constant indices: the truth stays in registers
  for (int i = 0; i < N; ++i) {
    if (i < width) row[i] = values[i];
  }
  for (int i = N; i < width; ++i) row[i] = 0;
}

/// 1 in the columns of `labels` classes, 0 in all others.
template <int Room>
WS_INLINE void write_labels(float* column, int width, std::int64_t b, int labels,
                            const std::int32_t (&present)[Room]) {
  if (column == nullptr) return;
  float* const row = column + b * width;
  for (int i = 0; i < width; ++i) row[i] = 0;
  WS_UNROLL(16)
  for (int i = 0; i < Room; ++i) {
    if (i < labels) row[present[i]] = 1;
  }
}

template <int Latents, int Targets, int Labels>
WS_INLINE void write_truth(const BatchView& batch, std::int64_t b,
                           const Truth<Latents, Targets, Labels>& truth) {
  if (batch.label != nullptr) batch.label[b] = truth.label;
  if (batch.weight != nullptr) batch.weight[b] = truth.weight;
  write_row<Latents>(batch.latents, batch.layout.latents, b, truth.latents);
  if constexpr (Labels > 0) {
    write_labels(batch.target, batch.layout.targets, b, truth.labels, truth.present);
  } else {
    write_row<Targets>(batch.target, batch.layout.targets, b, truth.target);
  }
}

}  // namespace detail
}  // namespace wellspring
