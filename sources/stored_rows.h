// Rows of data sets in device memory as what a batch is made from: the whole set, or the rows of a
// ring that threads keep filled. Used by data sets as sources; host and device.
#pragma once

#include "kernels/emission/byte_images.h"

#include <cstdint>

namespace wellspring {

/// Where the row of a slot lies.
struct StoredRows {
  const std::uint8_t* bytes = nullptr;   ///< [rows or period, bytes of a row]
  const std::int32_t* labels = nullptr;  ///< [rows], by sample id in either case
  const float* latents = nullptr;        ///< [rows, latent_count], likewise; null: none
  std::int32_t latent_count = 0;
  std::uint64_t period = 0;  ///< of a ring; 0: bytes holds every row, by sample id
  /// [period] Where a rank sees a part of every batch only: the row in which the n-th sample of the
  /// source lies, at n % period. Null: row n % period.
  const std::int32_t* places = nullptr;

  /// A recorded step reads nothing from the host to know where its data is.
  WS_INLINE std::uint64_t row_of(const Slot& slot) const {
    if (period == 0) return slot.sample;
    const std::uint64_t place = slot.ordinal % period;
    return places == nullptr ? place : static_cast<std::uint64_t>(places[place]);
  }
};

/// Rows of 8-bit pixels as an image functor.
struct StoredImages {
  static constexpr int kLatents = 0;
  using Scene = ByteImages::Scene;

  StoredRows rows;
  SampleShape shape;

  WS_INLINE Scene draw(const SampleKey& key, const Augmentation& seen, Truth<0>& truth) const {
    truth.label = rows.labels[key.slot.sample];
    return {rows.bytes + rows.row_of(key.slot) * static_cast<std::uint64_t>(shape.elements()),
            seen.padding, seen.on_grid, seen.interpolation};
  }

  template <int N>
  WS_INLINE void shade(const Scene& scene, const PixelRun<N>& run, ColourRun<N>& colour) const {
    ByteImages canvas;
    canvas.shape = shape;
    canvas.shade(scene, run, colour);
  }
};

/// Map functor: rows of f32 features, one value an index.
template <class T>
struct EmitStoredFeatures {
  StoredRows rows;
  const Slot* slots;
  std::uint32_t source;
  BatchView batch;

  WS_HD void operator()(std::int64_t i) const {
    const std::int64_t features = batch.layout.elements(), b = i / features, f = i % features;
    const Slot slot = slots[b];
    if (slot.source != source) return;
    const auto* const values = reinterpret_cast<const float*>(rows.bytes);
    const auto row = static_cast<std::int64_t>(rows.row_of(slot));
    static_cast<T*>(batch.x)[i] = static_cast<T>(values[row * features + f]);
    if (f != 0) return;
    Truth<0> truth;
    truth.label = rows.labels[slot.sample];
    detail::write_truth(batch, b, truth);
    if (batch.latents == nullptr) return;
    const auto first = static_cast<std::int64_t>(slot.sample) * rows.latent_count;
    for (std::int32_t k = 0; k < rows.latent_count && k < batch.layout.latents; ++k)
      batch.latents[b * batch.layout.latents + k] = rows.latents[first + k];
  }
};

}  // namespace wellspring
