// What a batch is on the device: which sample fills each slot, and the columns of values and truth
// that are made for it. Used by everything that makes, reads or stores samples. Host and device.
#pragma once

#include "kernels/runtime/dtype.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring {

/// Most sources a mixture can hold.
inline constexpr int kMaxSources = 16;

/// Which sample fills one slot of a batch: written on the device each step by the assignment, a
/// pure function of the step. What the emission of each source reads.
struct Slot {
  std::uint64_t sample = 0;   ///< sample id within its source: generator id, or index in a data set
  std::uint64_t ordinal = 0;  ///< how many samples the source gave before this one in the run; keys
                              ///< the augmentation, so each pass over a data set differs
  std::uint32_t source = 0;   ///< index of the source in the mixture: the domain id
  std::uint32_t row = 0;      ///< this slot's position in the batch (= its row in a staging buffer)
};

/// The rows of a global batch that one rank makes: [first_row, first_row + rows).
struct Share {
  std::int64_t global_batch = 0;
  std::int64_t first_row = 0;
  std::int64_t rows = 0;

  /// The whole batch, as one rank alone makes it.
  static constexpr Share whole(std::int64_t batch) { return {batch, 0, batch}; }
  friend bool operator==(const Share&, const Share&) = default;
};

/// Extents of an image, or of one sample's values seen as one. Memory order is NHWC.
struct SampleShape {
  int height = 1;
  int width = 1;
  int channels = 1;
  constexpr std::int64_t elements() const { return std::int64_t{height} * width * channels; }
  friend bool operator==(const SampleShape&, const SampleShape&) = default;
};

enum class SampleKind : std::uint8_t {
  image,  ///< a grid of pixels or cells
  event,  ///< a fixed number of features
  set,    ///< a varying number of items, each of as many features
};

/// What one row of a batch holds. Widths are numbers of elements; a column of width 0 does not
/// exist. One of image(), event() or set(), with further columns added to it.
struct SampleLayout {
  SampleKind kind = SampleKind::image;
  int height = 1, width = 1, channels = 1;    ///< of an image, otherwise 1
  int items = 1;                              ///< most items of a set, otherwise 1
  int features = 0;                           ///< of an event, or of each item of a set
  int globals = 0, targets = 0, latents = 0;  ///< widths of the columns of these names
  int planes = 0;                             ///< of an image: 1 with dense truth, otherwise 0

  static constexpr SampleLayout image(int height, int width, int channels) {
    SampleLayout layout;
    layout.height = height;
    layout.width = width;
    layout.channels = channels;
    return layout;
  }
  static constexpr SampleLayout image(SampleShape shape) {
    return image(shape.height, shape.width, shape.channels);
  }
  static constexpr SampleLayout event(int features) {
    SampleLayout layout;
    layout.kind = SampleKind::event;
    layout.features = features;
    return layout;
  }
  static constexpr SampleLayout set(int items, int features) {
    SampleLayout layout = event(features);
    layout.kind = SampleKind::set;
    layout.items = items;
    return layout;
  }

  /// The values of x as an image has them: an event is one pixel of `features` channels, a set a
  /// row of `items` such pixels.
  constexpr SampleShape shape() const {
    if (kind == SampleKind::image) return {height, width, channels};
    return {1, items, features};
  }
  /// Values of x a row.
  constexpr std::int64_t elements() const { return shape().elements(); }
  /// Whether one network can read rows of both: all that it sees is equal. Truth beside it
  /// (targets, latents) may differ.
  constexpr bool same_input(const SampleLayout& other) const {
    return kind == other.kind && shape() == other.shape() && globals == other.globals;
  }
  friend bool operator==(const SampleLayout&, const SampleLayout&) = default;
};

/// What did not fit into the rows of a set, counted by its emission since it was last cleared.
struct SetOverflow {
  unsigned long long samples = 0;  ///< that had more than SampleLayout::items
  unsigned long long items = 0;    ///< left out of them
};

/// Device pointers of one batch: columns of `size` rows. A null column is not wanted (x always is).
/// Host code that treats all columns alike walks columns_of(), batch_columns.h.
struct BatchView {
  std::int64_t size = 0;
  SampleLayout layout;
  DType dtype = DType::f32;         ///< of x: f32 or bf16
  void* x = nullptr;                ///< [size, elements], in the order of layout.shape()
  std::int32_t* count = nullptr;    ///< [size] items of a set that exist: the first ones
  float* globals = nullptr;         ///< [size, globals] what a set has as a whole
  std::int32_t* label = nullptr;    ///< [size] class index within the source's label space
  float* target = nullptr;          ///< [size, targets] soft or multi-hot labels, regression
  float* weight = nullptr;          ///< [size] 1 unless the generator weights its samples
  float* latents = nullptr;         ///< [size, latents] in the source's own order; rest is 0
  float* plane = nullptr;           ///< [size, height, width] of images: dense truth, 0 for none
  SetOverflow* overflow = nullptr;  ///< [1] of all sets together; null where nobody asks
};

}  // namespace wellspring
