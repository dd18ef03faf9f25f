#include "sources/files/array_images.h"

#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace wellspring {
namespace {

bool are_channels(std::int64_t extent) {
  return extent == 1 || extent == 3;
}

/// Values of black and white.
std::array<double, 2> ends_of(PixelRange range) {
  if (range == PixelRange::unit) return {0, 1};
  if (range == PixelRange::symmetric) return {-1, 1};
  return {0, 255};
}

/// Decides whether the channels of [rows, a, b, c] come first.
bool is_planar(const ArrayInput& file, const NumberArray& array, ChannelPlace place) {
  const std::vector<std::int64_t>& shape = array.shape();
  const bool first = are_channels(shape[1]), last = are_channels(shape[3]);
  if (place == ChannelPlace::automatic && first && last)
    file.refuse(array, "its first or last axis could be the channels",
                "set channels: first or channels: last");
  const bool planar = place == ChannelPlace::first || (place == ChannelPlace::automatic && !last);
  if (planar ? first : last) return planar;
  file.refuse(array,
              "images are [rows, height, width, 1 or 3], [rows, 1 or 3, height, width] or [rows, "
              "height, width]",
              "store grey or RGB images, or flatten other rows: x.reshape(len(x), -1)");
}

}  // namespace

std::optional<ArrayImages> ArrayImages::of(const ArrayInput& file, const NumberArray& array,
                                           ChannelPlace channels, PixelRange range) {
  const std::vector<std::int64_t>& shape = array.shape();
  if (shape.size() != 3 && shape.size() != 4) return std::nullopt;
  ArrayImages images;
  images.bytes_ = array.is_bytes();
  if (shape.size() == 3 && !images.bytes_ && range == PixelRange::automatic)
    file.refuse(array,
                "rows may be grey images, sequences or padded sets; items of sets are [all items, "
                "features] with offsets [sets + 1]",
                "for images set range:, for example range: 0..1; flatten sequences: "
                "x.reshape(len(x), -1)");
  images.planar_ = shape.size() == 4 && is_planar(file, array, channels);
  std::vector<std::int64_t> hwc = {shape.begin() + 1, shape.end()};
  if (shape.size() == 3) hwc.push_back(1);
  if (images.planar_) hwc = {shape[2], shape[3], shape[1]};
  const auto fits = [](std::int64_t extent) { return extent > 0 && extent <= kMostPixels; };
  if (shape[0] <= 0 || !std::ranges::all_of(hwc, fits))
    file.refuse(array, fmt::format("images have 1 to {} pixels per side", kMostPixels),
                "store at least one row of such images");
  images.sample_ = SampleLayout::image(static_cast<int>(hwc[0]), static_cast<int>(hwc[1]),
                                       static_cast<int>(hwc[2]));
  if (images.planar_ && hwc[2] == 1) images.planar_ = false;  // both orders have the same bytes
  images.range_ = range;
  if (range == PixelRange::automatic)
    images.range_ = array.is_whole() ? PixelRange::bytes : PixelRange::unit;
  return images;
}

void ArrayImages::read(const NumberArray& array, std::int64_t row, const std::string& location,
                       std::uint8_t* out) const {
  if (is_verbatim()) return array.read(row, 1, out);
  const auto count = static_cast<std::size_t>(sample_.elements());
  std::vector<double> values(count);
  array.read(row, 1, values.data());
  const auto [black, white] = ends_of(range_);
  const auto channels = static_cast<std::size_t>(sample_.channels), plane = count / channels;
  for (std::size_t i = 0; i < count; ++i) {
    const double scaled = 255 * (values[i] - black) / (white - black);
    if (!(scaled >= -0.5 && scaled <= 255.5)) {
      fail(ErrorKind::data,
           {fmt::format("{}: a pixel has the value {:g}", location, values[i]),
            fmt::format("values are from {:g} (black) to {:g} (white)", black, white),
            std::isnan(values[i]) ? "remove the row or replace the value" : kRangeAdvice});
    }
    const std::size_t to = planar_ ? i % plane * channels + i / plane : i;
    out[to] = static_cast<std::uint8_t>(std::min(255.0, std::floor(scaled + 0.5)));
  }
}

namespace {

/// Index of the 1 in each row of a one-hot array.
std::vector<std::int64_t> read_one_hot(const ArrayInput& file, const NumberArray& array) {
  const std::int64_t classes = array.shape()[1];
  std::vector<double> row(static_cast<std::size_t>(classes));
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < array.rows(); ++i) {
    array.read(i, 1, row.data());
    const auto one = std::ranges::find(row, 1.0);
    if (one == row.end() || std::ranges::count(row, 0.0) != classes - 1)
      file.refuse(array.name(), fmt::format("of row {} is not one-hot", i),
                  "a row with several numbers must be one-hot: one 1, otherwise zeros",
                  "store class indices [rows], or read targets of a regression with latents:");
    labels.push_back(one - row.begin());
  }
  return labels;
}

}  // namespace

ClassLabels read_class_labels(const ArrayInput& file, const NumberArray& array, std::int64_t rows,
                              const std::string& what) {
  const std::vector<std::int64_t>& shape = array.shape();
  if (shape[0] != rows || shape.size() > 2 || (shape.size() == 2 && shape[1] < 1))
    file.refuse(array,
                fmt::format("{0}: the shape must be [{1}] or [{1}, 1], or [{1}, classes] (one-hot)",
                            what, rows),
                "store the labels of these rows");
  if (shape.size() == 2 && shape[1] > 1) return {read_one_hot(file, array), shape[1]};
  ClassLabels labels;
  labels.label.resize(static_cast<std::size_t>(rows));
  if (array.is_whole()) {
    array.read(0, rows, labels.label.data());
    return labels;
  }
  std::vector<double> values(labels.label.size());
  array.read(0, rows, values.data());
  for (std::size_t i = 0; i < values.size(); ++i) {
    constexpr double kMost = 0x1p53;
    if (std::floor(values[i]) != values[i] || !(std::abs(values[i]) <= kMost))
      file.refuse(
          array.name(), fmt::format("of row {} is {:g}", i, values[i]), "labels must be integers",
          std::isfinite(values[i])
              ? "convert them: y.astype('int64'); read targets of a regression with latents:"
              : "remove the rows without a label from all arrays");
    labels.label[i] = static_cast<std::int64_t>(values[i]);
  }
  return labels;
}

}  // namespace wellspring
