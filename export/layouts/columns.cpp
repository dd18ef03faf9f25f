// Layout `columns`: the values without conversion.
#include "core/io/bytes.h"
#include "export/layouts/layouts.h"
#include "kernels/ops/narrow.h"

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace wellspring::layouts {
namespace {

/// Images and events: x unchanged.
class PlainArrays final : public ValueArrays {
 public:
  explicit PlainArrays(const SampleReader& feed) : layout_(feed.layout()), rows_(rows_of(feed)) {
    if (const SampleInfo* info = only_info(feed)) meaning_ = meaning_of(info->features);
  }
  void open(ArrayFile& file) override {
    const std::vector<std::int64_t> extents =
        layout_.kind == SampleKind::event
            ? std::vector<std::int64_t>{rows_, layout_.features}
            : std::vector<std::int64_t>{rows_, layout_.height, layout_.width, layout_.channels};
    x_ = file.open("x", {ElementType::f32, extents}, meaning_);
  }
  void append(ArrayFile& file, const HostSamples& samples) override {
    file.append(x_, bytes_of(samples.x()));
  }

 private:
  SampleLayout layout_;
  std::int64_t rows_;
  ArrayMeaning meaning_;
  ArrayFile::Array x_ = 0;
};

/// Images in a different form.
class ImageArrays final : public ValueArrays {
 public:
  ImageArrays(const SampleReader& feed, const ImageForm& form)
      : layout_(feed.layout()), rows_(rows_of(feed)), form_(form) {}
  void open(ArrayFile& file) override {
    std::vector<std::int64_t> extents = {rows_, layout_.height, layout_.width, layout_.channels};
    if (form_.channels_first) extents = {rows_, layout_.channels, layout_.height, layout_.width};
    x_ = file.open("x", {form_.pixels, extents});
  }
  void append(ArrayFile& file, const HostSamples& samples) override {
    std::vector<float> values(samples.x().begin(), samples.x().end());
    if (form_.channels_first) {
      const auto channels = static_cast<std::size_t>(layout_.channels),
                 image = static_cast<std::size_t>(layout_.elements()), plane = image / channels;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::size_t at = i % image;
        values[i - at + at % channels * plane + at / channels] = samples.x()[i];
      }
    }
    if (form_.pixels != ElementType::u8) return file.append(x_, bytes_of(values));
    std::vector<std::uint8_t> pixels;
    pixels.reserve(values.size());
    for (const float value : values) pixels.push_back(pixel_of(value));
    file.append(x_, bytes_of(pixels));
  }

 private:
  SampleLayout layout_;
  std::int64_t rows_;
  ImageForm form_;
  ArrayFile::Array x_ = 0;
};

/// Sets: the items of all sets, concatenated, and the offset of each set.
class RaggedArrays final : public ValueArrays {
 public:
  explicit RaggedArrays(const SampleReader& feed) : layout_(feed.layout()), rows_(rows_of(feed)) {
    if (const SampleInfo* info = only_info(feed)) meaning_ = meaning_of(info->features);
  }
  bool grows() const override { return true; }
  void open(ArrayFile& file) override {
    offsets_ = file.open("offsets", {ElementType::i64, {rows_ + 1}});
    file.append(offsets_, std::as_bytes(std::span(&items_, 1)));
    x_ = file.open_growing("x", {ElementType::f32, {0, layout_.features}}, meaning_);
  }
  void append(ArrayFile& file, const HostSamples& samples) override {
    const auto features = static_cast<std::size_t>(layout_.features);
    const auto width = static_cast<std::size_t>(layout_.elements());
    std::vector<float> x;
    std::vector<std::int64_t> offsets;
    for (std::size_t row = 0; row < samples.items().size(); ++row) {
      const auto items = static_cast<std::size_t>(samples.items()[row]);
      const auto values = samples.x().subspan(row * width, items * features);
      x.insert(x.end(), values.begin(), values.end());
      offsets.push_back(items_ += samples.items()[row]);
    }
    file.append(x_, bytes_of(x));
    file.append(offsets_, bytes_of(offsets));
  }

 private:
  SampleLayout layout_;
  std::int64_t rows_;
  ArrayMeaning meaning_;
  ArrayFile::Array x_ = 0, offsets_ = 0;
  std::int64_t items_ = 0;  ///< in all sets so far
};

}  // namespace

std::uint8_t pixel_of(float value) {
  const float scaled = 255 * value;
  if (scaled >= -0.5f && scaled <= 255.5f) return ops::Pixel8(value).bits;
  fail(ErrorKind::data, {fmt::format("cannot write the value {} as an 8-bit pixel", value),
                         "pixels are from 0 to 1; normalised images are not",
                         "remove normalise, or write an array of --pixels f32"});
}

std::unique_ptr<ValueArrays> images(const SampleReader& feed, const ImageForm& form) {
  return std::make_unique<ImageArrays>(feed, form);
}

ExportLayout columns() {
  return {"columns", "x (and offsets, for sets)",
          [](const SampleReader& feed) -> std::unique_ptr<ValueArrays> {
            return feed.layout().kind == SampleKind::set ? make_arrays<RaggedArrays>(feed)
                                                         : make_arrays<PlainArrays>(feed);
          }};
}

}  // namespace wellspring::layouts
