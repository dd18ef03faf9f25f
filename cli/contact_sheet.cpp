#include "cli/contact_sheet.h"

#include "core/error.h"

#include <algorithm>
#include <cmath>

namespace wellspring::cli {
namespace {

constexpr int kGap = 4;  // pixels between images
constexpr std::uint8_t kGround = 240;

}  // namespace

ContactSheet::ContactSheet(std::int64_t count, int width, int height)
    : columns_(static_cast<int>(std::ceil(std::sqrt(static_cast<double>(count))))),
      width_(width),
      height_(height) {
  const int rows = static_cast<int>((count + columns_ - 1) / columns_);
  image_.width = columns_ * (width + kGap) + kGap;
  image_.height = rows * (height + kGap) + kGap;
  image_.pixels.assign(static_cast<std::size_t>(image_.width) * image_.height * 3, kGround);
}

void ContactSheet::put(std::int64_t index, std::span<const float> pixels, int channels) {
  WS_EXPECT(channels == 1 || channels == 3);
  const auto column = static_cast<int>(index % columns_), row = static_cast<int>(index / columns_);
  const int left = kGap + column * (width_ + kGap), top = kGap + row * (height_ + kGap);
  for (int y = 0; y < height_; ++y) {
    for (int x = 0; x < width_; ++x) {
      const std::size_t from = (static_cast<std::size_t>(y) * width_ + x) * channels;
      const std::size_t to = (static_cast<std::size_t>(top + y) * image_.width + left + x) * 3;
      for (int c = 0; c < 3; ++c) {
        const float value = std::clamp(pixels[from + (channels == 3 ? c : 0)], 0.0f, 1.0f);
        image_.pixels[to + c] = static_cast<std::uint8_t>(std::lround(value * 255));
      }
    }
  }
}

}  // namespace wellspring::cli
