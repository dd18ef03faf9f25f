// The input of a generator's functor for one sample, and its outputs other than the values. Used by
// all forms of emission. Host and device.
#pragma once

#include "kernels/batch/batch.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring {

/// The sample to make. Generators use only `rng` and `shape`.
struct SampleKey {
  SampleRng rng;      ///< seed and sample id
  Slot slot;          ///< position in the batch; stored images use row and sample
  SampleShape shape;  ///< shape of the source image, in pixels
};

/// For functors with several labels per sample: the classes that are present, in the first `labels`
/// elements. The same class may appear twice.
template <int Labels>
struct TrueLabels {
  std::int32_t labels = 0;
  std::int32_t present[Labels] = {};
};
template <>
struct TrueLabels<0> {};

/// The labels and latents of a sample.
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
    static_assert(targets_of<F>() == 0, "a functor with labels has no targets");
    return F::kLabels;
  } else {
    return 0;
  }
}

}  // namespace detail

/// The truth that a functor fills in: kLatents latents and, if it declares them, kTargets targets
/// or up to kLabels labels. A functor with labels has one column of `target` for each class of its
/// description: 1 if the class is present, otherwise 0 (multi-hot labels).
template <class F>
using TruthOf = Truth<F::kLatents, detail::targets_of<F>(), detail::labels_of<F>()>;

namespace detail {

/// Copies as many `values` as fit into the row; fills the rest of the row with 0.
template <int N, class Values>
WS_INLINE void write_row(float* column, int width, std::int64_t b, const Values& values) {
  if (column == nullptr) return;
  float* const row = column + b * width;
  WS_UNROLL(16)  // constant indices keep the values in registers
  for (int i = 0; i < N; ++i) {
    if (i < width) row[i] = values[i];
  }
  for (int i = N; i < width; ++i) row[i] = 0;
}

/// Sets the columns of the `labels` present classes to 1 and the others to 0.
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
