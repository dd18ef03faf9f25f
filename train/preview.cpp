#include "train/preview.h"

#include <algorithm>
#include <cmath>

namespace wellspring {
namespace {

constexpr int kMostImages = 64;
constexpr int kColumns = 8;
constexpr int kGap = 2;  ///< pixels between images

/// x [size, ...] of the batch as f32 in host memory.
std::vector<float> download(Stream& stream, const BatchView& batch) {
  const auto n = static_cast<std::size_t>(batch.size * batch.shape.elements());
  std::vector<std::byte> raw(n * size_of(batch.dtype));
  stream.copy(raw.data(), batch.x, raw.size(), CopyDirection::device_to_host, "preview");
  stream.synchronize();
  std::vector<float> values(n);
  visit_float(batch.dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto* typed = reinterpret_cast<const T*>(raw.data());
    for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<float>(typed[i]);
  });
  return values;
}

std::uint8_t to_byte(float intensity) {
  return static_cast<std::uint8_t>(std::lround(255 * std::clamp(intensity, 0.0f, 1.0f)));
}

}  // namespace

RgbImage batch_sheet(Stream& stream, const BatchView& batch, const std::vector<Slot>& slots,
                     const std::vector<ViewSpec>& views) {
  const std::vector<float> x = download(stream, batch);
  const SampleShape& shape = batch.shape;
  const int count = static_cast<int>(std::min<std::int64_t>(kMostImages, batch.size));
  const int columns = std::min(kColumns, count);
  const int rows = (count + columns - 1) / columns;
  RgbImage sheet;
  sheet.width = columns * (shape.width + kGap) - kGap;
  sheet.height = rows * (shape.height + kGap) - kGap;
  sheet.pixels.assign(static_cast<std::size_t>(sheet.width) * sheet.height * 3, 255);
  for (int i = 0; i < count; ++i) {
    const ViewSpec& view = views[slots[static_cast<std::size_t>(i)].source];
    const int x0 = i % columns * (shape.width + kGap), y0 = i / columns * (shape.height + kGap);
    for (int row = 0; row < shape.height; ++row)
      for (int column = 0; column < shape.width; ++column)
        for (int c = 0; c < 3; ++c) {
          const int channel = std::min(c, shape.channels - 1);
          const std::int64_t from =
              ((std::int64_t{i} * shape.height + row) * shape.width + column) * shape.channels +
              channel;
          const float value = x[static_cast<std::size_t>(from)];
          sheet.pixels[(static_cast<std::size_t>(y0 + row) * sheet.width + x0 + column) * 3 + c] =
              to_byte(value / view.inv_std[channel] + view.mean[channel]);
        }
  }
  return sheet;
}

}  // namespace wellspring
