#include "sources/files/resize.h"

#include <algorithm>
#include <cmath>

namespace wellspring {
namespace {

/// Fraction bits of a weight. A pixel is at most 255 and weights add up to 1, so a sum needs only
/// 30 of the 31 bits.
constexpr int kFraction = 22;

std::uint8_t rounded(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> kFraction, 0, 255));
}

}  // namespace

// Scales the axis from `input_length` to `scaled_length` pixels and keeps the middle `output_side`.
void ImageResizer::Axis::fill(int input_length, int scaled_length, int output_side) {
  if (input == input_length && length == scaled_length && side == output_side) return;
  input = input_length;
  length = scaled_length;
  side = output_side;
  const double scale = static_cast<double>(input) / length;
  const double radius = std::max(1.0, scale);
  most = static_cast<int>(std::ceil(radius)) * 2 + 1;
  first.assign(static_cast<std::size_t>(side), 0);
  count.assign(static_cast<std::size_t>(side), 0);
  weight.assign(static_cast<std::size_t>(side) * static_cast<std::size_t>(most), 0);
  const int skipped = static_cast<int>(std::nearbyint((length - side) / 2.0));  // half to even
  std::vector<double> triangle(static_cast<std::size_t>(most));
  for (int i = 0; i < side; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const double centre = (skipped + i + 0.5) * scale;
    const int begin = std::max(0, static_cast<int>(centre - radius + 0.5));
    const int end = std::min(input, static_cast<int>(centre + radius + 0.5));
    double sum = 0;
    for (int j = begin; j < end; ++j) {
      double& value = triangle[static_cast<std::size_t>(j - begin)];
      value = std::max(0.0, 1 - std::abs((j - centre + 0.5) * (1 / radius)));
      sum += value;
    }
    std::int32_t* const weights = weight.data() + k * static_cast<std::size_t>(most);
    for (int j = begin; j < end; ++j) {
      const double share = triangle[static_cast<std::size_t>(j - begin)] / sum;
      weights[j - begin] = static_cast<std::int32_t>(0.5 + share * (1 << kFraction));
    }
    first[k] = begin;
    count[k] = end - begin;
  }
}

void ImageResizer::resize_and_crop(const std::uint8_t* rgb, FrameSize size, FrameSize to,
                                   std::uint8_t* out) {
  const CoveringScale scale = covering_scale(size, to);
  across_.fill(size.width, scale.of(size.width), to.width);
  down_.fill(size.height, scale.of(size.height), to.height);
  run(rgb, size.width, out);
}

void ImageResizer::resize(const std::uint8_t* rgb, FrameSize size, FrameSize to,
                          std::uint8_t* out) {
  across_.fill(size.width, to.width, to.width);
  down_.fill(size.height, to.height, to.height);
  run(rgb, size.width, out);
}

void ImageResizer::run(const std::uint8_t* rgb, int width, std::uint8_t* out) {
  constexpr std::int32_t kHalf = 1 << (kFraction - 1);

  // Only the rows needed by the crop.
  const int top = down_.first.front(), bottom = down_.first.back() + down_.count.back();
  const std::size_t row_bytes = static_cast<std::size_t>(across_.side) * 3;
  rows_.resize(static_cast<std::size_t>(bottom - top) * row_bytes);
  for (int y = top; y < bottom; ++y) {
    const std::uint8_t* const from = rgb + static_cast<std::size_t>(y) * width * 3;
    std::uint8_t* const to = rows_.data() + static_cast<std::size_t>(y - top) * row_bytes;
    for (int x = 0; x < across_.side; ++x) {
      const auto k = static_cast<std::size_t>(x);
      const std::int32_t* const weights = across_.weight.data() + k * across_.most;
      const std::uint8_t* const pixels = from + static_cast<std::size_t>(across_.first[k]) * 3;
      std::int32_t r = kHalf, g = kHalf, b = kHalf;
      for (int j = 0; j < across_.count[k]; ++j) {
        r += weights[j] * pixels[3 * j];
        g += weights[j] * pixels[3 * j + 1];
        b += weights[j] * pixels[3 * j + 2];
      }
      to[3 * x] = rounded(r);
      to[3 * x + 1] = rounded(g);
      to[3 * x + 2] = rounded(b);
    }
  }
  for (int y = 0; y < down_.side; ++y) {
    const auto k = static_cast<std::size_t>(y);
    const std::int32_t* const weights = down_.weight.data() + k * down_.most;
    const std::uint8_t* const from =
        rows_.data() + static_cast<std::size_t>(down_.first[k] - top) * row_bytes;
    for (std::size_t x = 0; x < row_bytes; ++x) {
      std::int32_t sum = kHalf;
      for (int j = 0; j < down_.count[k]; ++j) {
        sum += weights[j] * from[static_cast<std::size_t>(j) * row_bytes + x];
      }
      out[k * row_bytes + x] = rounded(sum);
    }
  }
}

}  // namespace wellspring
