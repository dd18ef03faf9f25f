// What a batch is on the device: which sample fills each slot, its values, and the truth about it.
// Host and device.
#pragma once

#include "kernels/dtype.h"

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

/// Shape of one sample: an image (height, width, channels), or an event with `channels` features
/// and height = width = 1. Memory order is NHWC.
struct SampleShape {
  int height = 1;
  int width = 1;
  int channels = 1;
  constexpr std::int64_t elements() const { return std::int64_t{height} * width * channels; }
  friend bool operator==(const SampleShape&, const SampleShape&) = default;
};

/// Device pointers of one batch; every array has `size` rows.
struct BatchView {
  std::int64_t size = 0;
  SampleShape shape;
  DType dtype = DType::f32;       ///< of x: f32 or bf16
  void* x = nullptr;              ///< [size, height, width, channels]
  std::int32_t* label = nullptr;  ///< [size] class index within the source's label space
  float* weight = nullptr;        ///< [size] 1 unless the generator weights its samples
  float* latents = nullptr;       ///< [size, latent_stride] in the source's own order; rest is 0
  std::int64_t latent_stride = 0;
};

}  // namespace wellspring
