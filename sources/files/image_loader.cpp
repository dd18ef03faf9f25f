#include "sources/files/image_loader.h"

#include "core/error.h"
#include "core/measure/trace.h"
#include "sources/datasets/stored_rows.h"

#include <fmt/format.h>

#include <algorithm>

namespace wellspring {
namespace {

/// Name of an image that is not 8-bit RGB.
const char* kind_of(const ImageHeader& header) {
  if (header.bits == 16) return "16-bit PNG";
  if (header.colour == ImageColour::grey) return "greyscale image";
  return header.colour == ImageColour::cmyk ? "CMYK JPEG" : "image with transparency";
}

/// Luma of RGB pixels; grey ones keep their value. Source: Pillow, Convert.c, macro L24.
void luma_of(const std::uint8_t* rgb, std::size_t pixels, std::uint8_t* out) {
  for (std::size_t i = 0; i < pixels; ++i) {
    const std::uint8_t* const p = rgb + 3 * i;
    out[i] =
        static_cast<std::uint8_t>((19595u * p[0] + 38470u * p[1] + 7471u * p[2] + 0x8000u) >> 16);
  }
}

}  // namespace

void ImageLoader::refuse(std::int64_t image, const std::string& problem, const std::string& why,
                         const std::string& advice) const {
  fail(ErrorKind::data, {set_.location(image) + ": " + problem, why, advice});
}

ImageHeader ImageLoader::open(std::int64_t image) {
  read_encoded(image, encoded_);
  return checked_header(image, encoded_);
}

ImageHeader ImageLoader::checked_header(std::int64_t image, std::span<const std::uint8_t> encoded) {
  ImageHeader header;
  try {
    header = decoder_.header(encoded);
  } catch (const ImageError& error) {
    refuse(image, error.what(), error.why(), error.advice());
  }
  const std::int64_t pixels = std::int64_t{header.width} * header.height;
  if (pixels > rules_.max_pixels) {
    refuse(image, fmt::format("image of {}x{} pixels", header.width, header.height),
           fmt::format("max_pixels is {}", rules_.max_pixels),
           "raise max_pixels if the file is intact, or shrink the image");
  }
  const bool grey = rules_.shape.channels == 1;
  const bool fits =
      header.bits == 8 && header.colour == (grey ? ImageColour::grey : ImageColour::rgb);
  if (!rules_.convert && !fits) {
    refuse(image, header.is_rgb8() ? "image with colours" : kind_of(header),
           grey ? "data.channels is 1" : "images must be 8-bit RGB",
           rules_.advice("on_convert", "convert") +
               " (colours are turned into luma if data.channels is 1, greyscale is repeated, "
               "transparency dropped, 16 bits scaled to 8, CMYK multiplied "
               "without a colour profile), or convert the file");
  }
  return header;
}

SampleShape ImageLoader::measure(std::int64_t image) {
  const ImageHeader header = open(image);
  const ImageSize size = rules_.resize.given() ? rules_.resize : rules_.canvas;
  if (size.given()) return {size.height, size.width, rules_.shape.channels};
  return {header.height, header.width, rules_.shape.channels};
}

void ImageLoader::check_size(std::int64_t image, const ImageHeader& header) const {
  if (header.width == rules_.shape.width && header.height == rules_.shape.height) return;
  refuse(image, fmt::format("image of {}x{} pixels", header.width, header.height),
         fmt::format("{} has {}x{}, but all images of a set must have the same size",
                     set_.location(rules_.measured_from), rules_.shape.width, rules_.shape.height),
         rules_.advice("resize", ImageSize(rules_.shape.height, rules_.shape.width).to_string()) +
             " (with a centre crop), or make all files the same size");
}

std::uint8_t* ImageLoader::make_room(const ImageHeader& header) {
  decoded_.resize(static_cast<std::size_t>(header.width) * static_cast<std::size_t>(header.height) *
                  3);
  return decoded_.data();
}

void ImageLoader::decode_pixels(std::int64_t image, std::span<const std::uint8_t> encoded,
                                const ImageHeader& header, std::uint8_t* rgb) {
  const TraceSpan span(stages::kDecode);
  try {
    decoder_.decode(encoded, header, rgb);
  } catch (const ImageError& error) {
    refuse(image, error.what(), error.why(), error.advice());
  }
}

void ImageLoader::read_encoded(std::int64_t image, std::vector<std::uint8_t>& bytes) {
  const TraceSpan span(stages::kRead);
  set_.read(image, bytes);
}

void ImageLoader::read(std::int64_t image, std::uint8_t* row) {
  read_encoded(image, encoded_);
  decode(image, encoded_, row);
}

void ImageLoader::decode(std::int64_t image, std::span<const std::uint8_t> encoded,
                         std::uint8_t* row) {
  const ImageHeader header = checked_header(image, encoded);
  if (!rules_.resize.given() && rules_.canvas == 0) check_size(image, header);
  const FrameSize own = {header.width, header.height}, size = stored_size(header);
  const bool resizes = own != size, grey = rules_.shape.channels == 1;
  const std::size_t pixels =
      static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height);
  std::uint8_t* rgb = resizes || grey ? make_room(header) : row;
  decode_pixels(image, encoded, header, rgb);
  if (resizes) {
    const TraceSpan span(stages::kResize);
    if (grey) resized_.resize(3 * pixels);
    std::uint8_t* const to = grey ? resized_.data() : row;
    if (rules_.resize.given())
      resizer_.resize_and_crop(rgb, own, size, to);
    else
      resizer_.resize(rgb, own, size, to);
    rgb = to;
  }
  if (grey) luma_of(rgb, pixels, row);
  if (rules_.canvas == 0) return;
  const auto used = static_cast<std::int64_t>(pixels) * rules_.shape.channels;
  std::fill(row + used, row + rules_.shape.elements(), std::uint8_t{0});
  StoredFrame::write(size, row + rules_.shape.elements());
}

FrameSize ImageLoader::stored_size(const ImageHeader& header) const {
  if (rules_.resize.given()) return {rules_.resize.width, rules_.resize.height};
  const int longer = std::max(header.width, header.height), side = rules_.canvas;
  if (side == 0 || longer <= side) return {header.width, header.height};
  const auto scaled = [&](int length) {
    return std::max(1, static_cast<int>((std::int64_t{side} * length + longer / 2) / longer));
  };
  return {scaled(header.width), scaled(header.height)};
}

void ImageLoader::check(std::int64_t image) {
  // Nearly every header ends here; a large profile or thumbnail may come before it.
  constexpr std::uint64_t kFirstBytes = 16 << 10;
  set_.read(image, encoded_, kFirstBytes);
  if (encoded_.size() == kFirstBytes && !decoder_.has_header(encoded_)) set_.read(image, encoded_);
  const ImageHeader header = checked_header(image, encoded_);
  if (!rules_.resize.given() && rules_.canvas == 0) check_size(image, header);
}

void ImageLoader::verify(std::int64_t image) {
  const ImageHeader header = open(image);
  decode_pixels(image, encoded_, header, make_room(header));
}

}  // namespace wellspring
