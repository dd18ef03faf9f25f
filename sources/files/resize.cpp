#include "sources/files/resize.h"

#include <algorithm>
#include <cmath>

namespace wellspring {

// Scales the axis from `input_length` to `scaled_length` pixels and keeps the middle `output_side`.
void CentreResizer::Axis::fill(int input_length, int scaled_length, int output_side) {
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
  const int skipped = (length - side) / 2;
  for (int i = 0; i < side; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const double centre = (skipped + i + 0.5) * scale;
    const int begin = std::max(0, static_cast<int>(std::floor(centre - radius)));
    const int end = std::min({input, static_cast<int>(std::ceil(centre + radius)), begin + most});
    float* const weights = weight.data() + k * static_cast<std::size_t>(most);
    double sum = 0;
    for (int j = begin; j < end; ++j) {
      sum += std::max(0.0, 1 - std::abs(j + 0.5 - centre) / radius);
    }
    for (int j = begin; j < end; ++j) {
      const double triangle = std::max(0.0, 1 - std::abs(j + 0.5 - centre) / radius);
      weights[j - begin] = static_cast<float>(triangle / sum);
    }
    first[k] = begin;
    count[k] = end - begin;
  }
}

void CentreResizer::resize(const std::uint8_t* rgb, int width, int height, int side,
                           std::uint8_t* out) {
  const double scale = static_cast<double>(side) / std::min(width, height);
  const auto scaled = [&](int length) {
    return std::max(side, static_cast<int>(std::lround(length * scale)));
  };
  across_.fill(width, scaled(width), side);
  down_.fill(height, scaled(height), side);

  // Only the rows needed by the crop.
  const int top = down_.first.front(), bottom = down_.first.back() + down_.count.back();
  const std::size_t row_floats = static_cast<std::size_t>(side) * 3;
  rows_.resize(static_cast<std::size_t>(bottom - top) * row_floats);
  for (int y = top; y < bottom; ++y) {
    const std::uint8_t* const from = rgb + static_cast<std::size_t>(y) * width * 3;
    float* const to = rows_.data() + static_cast<std::size_t>(y - top) * row_floats;
    for (int x = 0; x < side; ++x) {
      const auto k = static_cast<std::size_t>(x);
      const float* const weights = across_.weight.data() + k * across_.most;
      const std::uint8_t* const pixels = from + static_cast<std::size_t>(across_.first[k]) * 3;
      float r = 0, g = 0, b = 0;
      for (int j = 0; j < across_.count[k]; ++j) {
        r += weights[j] * pixels[3 * j];
        g += weights[j] * pixels[3 * j + 1];
        b += weights[j] * pixels[3 * j + 2];
      }
      to[3 * x] = r;
      to[3 * x + 1] = g;
      to[3 * x + 2] = b;
    }
  }
  for (int y = 0; y < side; ++y) {
    const auto k = static_cast<std::size_t>(y);
    const float* const weights = down_.weight.data() + k * down_.most;
    const float* const from =
        rows_.data() + static_cast<std::size_t>(down_.first[k] - top) * row_floats;
    for (std::size_t x = 0; x < row_floats; ++x) {
      float sum = 0;
      for (int j = 0; j < down_.count[k]; ++j) {
        sum += weights[j] * from[static_cast<std::size_t>(j) * row_floats + x];
      }
      out[k * row_floats + x] = static_cast<std::uint8_t>(std::clamp(sum + 0.5f, 0.f, 255.f));
    }
  }
}

}  // namespace wellspring
