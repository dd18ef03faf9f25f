// A batch on the device: the sample in each slot, and the columns of values and labels. Used by all
// code that makes, reads or stores samples. Host and device.
#pragma once

#include "kernels/runtime/dtype.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring {

/// Maximum number of sources in a mixture.
inline constexpr int kMaxSources = 16;

/// The sample assigned to one slot of a batch. In each step, the assignment (a pure function of the
/// step) writes the slots on the device. Each source's emission reads them.
struct Slot {
  std::uint64_t sample = 0;   ///< id within its source: a generator's sample id or a data set index
  std::uint64_t ordinal = 0;  ///< number of samples that the source provided before this one in the
                              ///< run; part of the augmentation's key, so that epochs differ
  std::uint32_t source = 0;   ///< index of the source in the mixture: the domain id
  std::uint32_t row = 0;      ///< row in the batch (and in a staging buffer)
};

/// The rows of a global batch that one rank makes: [first_row, first_row + rows).
struct Share {
  std::int64_t global_batch = 0;
  std::int64_t first_row = 0;
  std::int64_t rows = 0;

  /// The whole batch, for a single rank.
  static constexpr Share whole(std::int64_t batch) { return {batch, 0, batch}; }
  friend bool operator==(const Share&, const Share&) = default;
};

/// Extents of an image, or of one sample's values treated as an image. Memory order is NHWC.
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
  set,    ///< a variable number of items, all with the same number of features
};

/// The content of one row of a batch. Widths are in elements; a column of width 0 does not exist.
/// Create it with image(), event() or set(), then add further columns.
struct SampleLayout {
  SampleKind kind = SampleKind::image;
  int height = 1, width = 1, channels = 1;    ///< extents of an image, otherwise 1
  int items = 1;                              ///< maximum number of items of a set, otherwise 1
  int features = 0;                           ///< per event, or per item of a set
  int globals = 0, targets = 0, latents = 0;  ///< widths of the columns with the same names
  int planes = 0;                             ///< 1 for images with dense labels, otherwise 0
  int patches = 0;  ///< patches that mask_patches divides an image into; 0: nothing is masked

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

  /// The shape of x as an image: an event is one pixel with `features` channels; a set is a row of
  /// `items` such pixels.
  constexpr SampleShape shape() const {
    if (kind == SampleKind::image) return {height, width, channels};
    return {1, items, features};
  }
  /// Elements of x per row.
  constexpr std::int64_t elements() const { return shape().elements(); }
  /// True if one network can read rows of both layouts: their input columns are identical. Targets
  /// and latents may differ.
  constexpr bool same_input(const SampleLayout& other) const {
    return kind == other.kind && shape() == other.shape() && globals == other.globals;
  }
  friend bool operator==(const SampleLayout&, const SampleLayout&) = default;
};

/// Counts of samples and items that exceeded the capacity of set rows. Emission adds to the counts
/// until they are cleared.
struct SetOverflow {
  unsigned long long samples = 0;  ///< samples with more items than SampleLayout::items
  unsigned long long items = 0;    ///< omitted items
};

/// Device pointers to the columns of one batch; each has `size` rows. A null column was not
/// requested; x is always present. Host code that treats all columns alike iterates over
/// columns_of() in batch_columns.h.
struct BatchView {
  std::int64_t size = 0;
  SampleLayout layout;
  DType dtype = DType::f32;       ///< type of x: f32 or bf16
  void* x = nullptr;              ///< [size, elements], in the order of layout.shape()
  std::int32_t* count = nullptr;  ///< [size] number of items in a set; they come first in the row
  float* globals = nullptr;       ///< [size, globals] features of each set as a whole
  std::int32_t* label = nullptr;  ///< [size] class index within the source's label space
  float* target = nullptr;   ///< [size, targets] soft or multi-hot labels, or regression targets
  float* weight = nullptr;   ///< [size] 1 unless the generator weights its samples
  float* latents = nullptr;  ///< [size, latents] in the source's order, padded with 0
  float* plane = nullptr;    ///< [size, height, width] dense labels of images, 0: no label
  std::uint8_t* mask = nullptr;     ///< [size, patches] 1: masked; patches in row-major order
  SetOverflow* overflow = nullptr;  ///< [1] total over all sets; null: not requested
};

}  // namespace wellspring
