#include "train/preview.h"

#include "core/drawing.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace wellspring {
namespace {

constexpr int kMostImages = 64;
constexpr int kColumns = 8;
constexpr int kGap = 6;         ///< pixels between tiles
constexpr int kLeastTile = 64;  ///< pixels: smaller images are enlarged to at least this
constexpr int kLabelHeight = 12;
constexpr RgbColour kInk = {38, 38, 38};

/// An array of the device as `T` on the host.
template <class T>
std::vector<T> download(Stream& stream, const void* data, std::size_t n) {
  std::vector<T> values(n);
  stream.copy(values.data(), data, n * sizeof(T), CopyDirection::device_to_host, "preview");
  stream.synchronize();
  return values;
}

std::vector<float> download_samples(Stream& stream, const BatchView& batch) {
  const auto n = static_cast<std::size_t>(batch.size * batch.layout.elements());
  return visit_float(batch.dtype, [&](auto zero) {
    const auto raw = download<decltype(zero)>(stream, batch.x, n);
    std::vector<float> values;
    values.reserve(n);
    for (const auto value : raw) values.push_back(static_cast<float>(value));
    return values;
  });
}

std::uint8_t to_byte(float intensity) {
  return static_cast<std::uint8_t>(std::lround(255 * std::clamp(intensity, 0.0f, 1.0f)));
}

/// The sheet while it is drawn.
class Sheet {
 public:
  Sheet(int count, const SampleShape& shape)
      : shape_(shape),
        factor_((kLeastTile + shape.width - 1) / shape.width),
        columns_(std::min(kColumns, count)) {
    const int rows = (count + columns_ - 1) / columns_;
    image_.width = columns_ * (tile_width() + kGap) + kGap;
    image_.height = rows * (tile_height() + kLabelHeight + kGap) + kGap;
    image_.pixels.assign(
        static_cast<std::size_t>(image_.width) * static_cast<std::size_t>(image_.height) * 3, 255);
  }

  /// `x`: the values of one image.
  void draw(int index, const float* x, const ViewSpec& view, std::string_view label) {
    const int left = kGap + index % columns_ * (tile_width() + kGap);
    const int top = kGap + index / columns_ * (tile_height() + kLabelHeight + kGap);
    for (int row = 0; row < tile_height(); ++row)
      for (int column = 0; column < tile_width(); ++column)
        for (int c = 0; c < 3; ++c) {
          const int channel = std::min(c, shape_.channels - 1);
          const int pixel = (row / factor_ * shape_.width + column / factor_) * shape_.channels;
          at(left + column, top + row)[c] =
              to_byte(x[pixel + channel] / view.inv_std[channel] + view.mean[channel]);
        }
    write(left, top + tile_height() + 2, label);
  }

  RgbImage take() { return std::move(image_); }

 private:
  int tile_width() const { return shape_.width * factor_; }
  int tile_height() const { return shape_.height * factor_; }
  std::uint8_t* at(int x, int y) {
    return &image_.pixels[(static_cast<std::size_t>(y) * static_cast<std::size_t>(image_.width) +
                           static_cast<std::size_t>(x)) *
                          3];
  }
  void write(int left, int top, std::string_view text) {
    const auto room = static_cast<std::size_t>(tile_width() / text_width(" "));
    draw_text(image_, left, top, text.substr(0, room), kInk);
  }

  SampleShape shape_;
  int factor_, columns_;
  RgbImage image_;
};

}  // namespace

std::vector<PreviewSource> preview_sources(const RunConfig& config, const Mixture& mixture) {
  std::vector<PreviewSource> sources;
  for (int i = 0; i < mixture.size(); ++i) {
    const SourceConfig& source = config.data.sources[static_cast<std::size_t>(i)];
    sources.push_back({mixture.source(i).classes(), to_view_spec(source.view, source.spec.place)});
  }
  return sources;
}

RgbImage batch_sheet(Stream& stream, const BatchView& batch, const std::vector<Slot>& slots,
                     const std::vector<PreviewSource>& sources) {
  const std::vector<float> x = download_samples(stream, batch);
  const auto labels =
      download<std::int32_t>(stream, batch.label, static_cast<std::size_t>(batch.size));
  const int count = static_cast<int>(std::min<std::int64_t>(kMostImages, batch.size));
  Sheet sheet(count, batch.layout.shape());
  for (int i = 0; i < count; ++i) {
    const auto row = static_cast<std::size_t>(i);
    const PreviewSource& source = sources.at(slots[row].source);
    sheet.draw(i, x.data() + i * batch.layout.elements(), source.view,
               source.classes.at(static_cast<std::size_t>(labels[row])));
  }
  return sheet.take();
}

}  // namespace wellspring
