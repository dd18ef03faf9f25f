// Resizes 8-bit RGB images. Used by image loaders; host only.
#pragma once

#include "kernels/augment/homography.h"

#include <cstdint>
#include <vector>

namespace wellspring {

/// Gives the same bytes as torchvision's Resize and CenterCrop on a Pillow image. Each output pixel
/// is a mean weighted by a triangle whose half-width is an output pixel (or an input pixel, when
/// enlarging). The horizontal pass comes first, and both passes round to bytes. Source: Pillow,
/// Resample.c, before version 13, which swaps the passes of some narrow images. Keeps tables and
/// rows, so each thread needs its own.
class ImageResizer {
 public:
  /// Resizes to the smallest size with the same proportions that covers `to`, and crops in the
  /// centre: `rgb` [size, 3] to `out` [to, 3]. For squares, Resize(side) and CenterCrop(side).
  void resize_and_crop(const std::uint8_t* rgb, FrameSize size, FrameSize to, std::uint8_t* out);
  /// Resize: `rgb` [size, 3] to `out` [to, 3].
  void resize(const std::uint8_t* rgb, FrameSize size, FrameSize to, std::uint8_t* out);

 private:
  /// Resizes with the weights of both axes. `width`: width of the input.
  void run(const std::uint8_t* rgb, int width, std::uint8_t* out);
  /// Weights of one axis, in units of 2^-22: output i is the sum over j < count[i] of weight[i *
  /// most + j] * input[first[i] + j].
  struct Axis {
    int input = -1, length = -1, side = -1, most = 0;
    std::vector<int> first, count;
    std::vector<std::int32_t> weight;
    void fill(int input_length, int scaled_length, int output_side);
  };

  Axis across_, down_;
  std::vector<std::uint8_t> rows_;  ///< input rows, already resized horizontally
};

}  // namespace wellspring
