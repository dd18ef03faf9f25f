// Normalises the values of events and sets when rows are written into a batch: (value - mean) /
// std, per feature and per global. Missing items stay 0. Used by sources; host and device.
#pragma once

#include "kernels/batch/batch.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring {

/// Scaling of a source's values, in device memory.
struct ScalingTable {
  /// [features, then globals][mean, 1 / std]; null: values stay unchanged.
  const float* columns = nullptr;

  WS_INLINE explicit operator bool() const { return columns != nullptr; }
  WS_INLINE float apply(float value, std::int64_t column) const {
    return (value - columns[2 * column]) * columns[2 * column + 1];
  }
  /// Element `i` of a row of x. `count`: items of the row's set, 1 for an event.
  WS_INLINE float element(float value, std::int64_t i, int features, int count) const {
    return columns == nullptr || i / features >= count ? value : apply(value, i % features);
  }
};

/// Map functor: normalises the rows of one source after their generator made them, one value of x
/// per index. `made` may be batch.x.
template <class T>
struct ScaleRows {
  ScalingTable scaling;
  const Slot* slots;
  std::uint32_t source;
  const float* made;  ///< x as the generator made it, [size, elements]
  BatchView batch;

  WS_HD void operator()(std::int64_t i) const {
    const SampleLayout& layout = batch.layout;
    const std::int64_t b = i / layout.elements(), f = i % layout.elements();
    if (slots[b].source != source) return;
    const int count = layout.kind == SampleKind::set ? batch.count[b] : 1;
    static_cast<T*>(batch.x)[i] =
        static_cast<T>(scaling.element(made[i], f, layout.features, count));
    for (int k = 0; f == 0 && batch.globals != nullptr && k < layout.globals; ++k) {
      float& global = batch.globals[b * layout.globals + k];
      global = scaling.apply(global, layout.features + k);
    }
  }
};

}  // namespace wellspring
