// Pretrained tensors for a network with a different input: different channels, or images of a
// different size. Called by weight transfer; host only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace wellspring {

/// Adapts a convolution [out, in, ...] to `channels` input channels. A single channel is the sum of
/// the file's channels; several are the file's, repeated or dropped and scaled by in / channels.
/// See timm's adapt_input_conv (timm 1.0, timm/models/_manipulate.py), for files of 3 channels.
std::vector<float> with_input_channels(std::span<const float> weight, std::int64_t out,
                                       std::int64_t in, std::int64_t channels);

/// Number of patches down and across an image.
struct PatchGrid {
  std::int64_t rows = 0, columns = 0;
  friend bool operator==(PatchGrid, PatchGrid) = default;
};

/// Resizes a grid [from, width] of position embeddings to [to, width], as timm's
/// resample_abs_pos_embed does (timm 1.0, timm/layers/pos_embed.py), that is, by PyTorch's bicubic
/// interpolation with antialias and without align_corners.
std::vector<float> resized_positions(std::span<const float> grid, PatchGrid from, PatchGrid to,
                                     std::int64_t width);

}  // namespace wellspring
