// Stored rows in device memory as the source of a batch: the whole set, or the rows of a ring. Used
// by data sets as sources; host and device.
#pragma once

#include "kernels/batch/set_count.h"
#include "kernels/emission/byte_images.h"
#include "sources/datasets/row_scaling.h"
#include "sources/mixing/assignment.h"

#include <cstdint>

namespace wellspring {

/// Number of 4-byte numbers per stored row of an event or set: x (f32), globals (f32) and, for a
/// set, its item count (i32), which includes items beyond the row's capacity. Missing items are 0.
WS_INLINE constexpr std::int64_t stored_numbers(const SampleLayout& layout) {
  return layout.elements() + layout.globals + (layout.kind == SampleKind::set ? 1 : 0);
}

/// Size of an image that is smaller than its row: two 16-bit numbers at the row's end, low byte
/// first. The pixels begin the row, without gaps; the bytes after them are 0.
struct StoredFrame {
  static constexpr std::int64_t kBytes = 4;

  static void write(FrameSize size, std::uint8_t* to) {
    for (int i = 0; i < 2; ++i) {
      to[i] = static_cast<std::uint8_t>(size.width >> (8 * i));
      to[2 + i] = static_cast<std::uint8_t>(size.height >> (8 * i));
    }
  }
  WS_INLINE static FrameSize read(const std::uint8_t* from) {
    return {from[0] | from[1] << 8, from[2] | from[3] << 8};
  }
};

/// Finds the stored row of a slot.
struct StoredRows {
  const std::uint8_t* bytes = nullptr;   ///< [rows or period, row bytes]
  const std::int32_t* labels = nullptr;  ///< [rows], always by sample id
  const float* latents = nullptr;        ///< [rows, latent_count], by sample id
  const float* targets = nullptr;        ///< [rows, target_count], by sample id
  std::int32_t latent_count = 0, target_count = 0;
  std::uint64_t period = 0;  ///< rows of the ring; 0: `bytes` holds all rows, by sample id
  /// [period] If a rank has only a part of every batch: row of the n-th sample, at n % period.
  /// Null: the row is n % period.
  const std::int32_t* places = nullptr;

  /// Computed on the device, so a recorded step needs no data from the host.
  WS_INLINE std::uint64_t row_of(const Slot& slot) const {
    if (period == 0) return slot.sample;
    const std::uint64_t place = sample_number(slot) % period;
    return places == nullptr ? place : static_cast<std::uint64_t>(places[place]);
  }
};

/// Image functor: rows of 8-bit pixels.
struct StoredImages {
  static constexpr int kLatents = 0;
  static constexpr forms::Pixels kForm = {.draw = forms::Draw::seen};
  using Scene = ByteImages::Scene;

  StoredRows rows;
  SampleShape shape;       ///< largest shape of an image
  bool own_sizes = false;  ///< true: images differ in size; see StoredFrame

  WS_INLINE FrameSize frame(const Slot& slot) const {
    if (!own_sizes) return frame_of(shape);
    return StoredFrame::read(row(slot) + shape.elements());
  }
  WS_INLINE Scene draw(const SampleKey& key, const Augmentation& view, Truth<0>& truth) const {
    truth.label = rows.labels[key.slot.sample];
    const FrameSize size = frame(key.slot);
    return {row(key.slot), size.width, size.height, view.padding, view.on_grid};
  }

  template <int N>
  WS_INLINE void shade(const Scene& scene, const PixelRun<N>& run, ColourRun<N>& colour) const {
    ByteImages canvas;
    canvas.shape = shape;
    canvas.shade(scene, run, colour);
  }

 private:
  WS_INLINE const std::uint8_t* row(const Slot& slot) const {
    const std::int64_t bytes = shape.elements() + (own_sizes ? StoredFrame::kBytes : 0);
    return rows.bytes + rows.row_of(slot) * static_cast<std::uint64_t>(bytes);
  }
};

/// Map functor: rows of events and sets, one value per index.
template <class T>
struct EmitStoredFeatures {
  StoredRows rows;
  const Slot* slots;
  std::uint32_t source;
  BatchView batch;
  ScalingTable scaling = {};

  WS_HD void operator()(std::int64_t i) const {
    const std::int64_t features = batch.layout.elements(), b = i / features, f = i % features;
    const Slot slot = slots[b];
    if (slot.source != source) return;
    const float* const row =
        reinterpret_cast<const float*>(rows.bytes) +
        static_cast<std::int64_t>(rows.row_of(slot)) * stored_numbers(batch.layout);
    const int count = batch.layout.kind == SampleKind::set ? count_of(row + features) : 1;
    static_cast<T*>(batch.x)[i] =
        static_cast<T>(scaling.element(row[f], f, batch.layout.features, count));
    if (f == 0) write_rest(b, slot.sample, row + features);
  }

 private:
  /// Number of items of a stored set; `row`: the stored values after x.
  WS_INLINE std::int32_t count_of(const float* row) const {
    return *reinterpret_cast<const std::int32_t*>(row + batch.layout.globals);
  }
  /// Writes all columns but x; `row`: the stored values after x.
  WS_INLINE void write_rest(std::int64_t b, std::uint64_t sample, const float* row) const {
    const int globals = batch.layout.globals;
    for (int k = 0; k < globals && batch.globals != nullptr; ++k)
      batch.globals[b * globals + k] =
          scaling ? scaling.apply(row[k], batch.layout.features + k) : row[k];
    if (batch.layout.kind == SampleKind::set) detail::write_count(batch, b, count_of(row));
    Truth<0> truth;
    truth.label = rows.labels[sample];
    detail::write_truth(batch, b, truth);
    copy_truth(rows.latents, rows.latent_count, sample, batch.latents, batch.layout.latents, b);
    copy_truth(rows.targets, rows.target_count, sample, batch.target, batch.layout.targets, b);
  }

  /// Copies the row of `sample` in a table to the start of row `b` of a column.
  WS_INLINE static void copy_truth(const float* table, std::int32_t count, std::uint64_t sample,
                                   float* column, int width, std::int64_t b) {
    if (column == nullptr) return;
    for (std::int32_t k = 0; k < count && k < width; ++k)
      column[b * width + k] = table[static_cast<std::int64_t>(sample) * count + k];
  }
};

}  // namespace wellspring
