#include "sources/files/image_loader.h"

#include "core/error.h"
#include "core/measure/trace.h"

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

}  // namespace

void ImageLoader::refuse(std::int64_t image, const std::string& problem, const std::string& why,
                         const std::string& advice) const {
  fail(ErrorKind::data, {set_.location(image) + ": " + problem, why, advice});
}

ImageHeader ImageLoader::open(std::int64_t image) {
  {
    const TraceSpan span(stages::kRead);
    set_.read(image, encoded_);
  }
  return checked_header(image);
}

/// Header of the image in encoded_.
ImageHeader ImageLoader::checked_header(std::int64_t image) {
  ImageHeader header;
  try {
    header = decoder_.header(encoded_);
  } catch (const ImageError& error) {
    refuse(image, error.what(), error.why(), error.advice());
  }
  const std::int64_t pixels = std::int64_t{header.width} * header.height;
  if (pixels > rules_.max_pixels) {
    refuse(image, fmt::format("image of {}x{} pixels", header.width, header.height),
           fmt::format("max_pixels is {}", rules_.max_pixels),
           "raise max_pixels if the file is intact, or shrink the image");
  }
  if (!rules_.convert && !header.is_rgb8()) {
    refuse(
        image, kind_of(header), "images must be 8-bit RGB",
        rules_.advice("on_convert", "convert") +
            " (greyscale is repeated, transparency dropped, 16 bits scaled to 8, CMYK multiplied "
            "without a colour profile), or convert the file");
  }
  return header;
}

SampleShape ImageLoader::measure(std::int64_t image) {
  const ImageHeader header = open(image);
  if (rules_.resize > 0) return {rules_.resize, rules_.resize, 3};
  return {header.height, header.width, 3};
}

void ImageLoader::check_size(std::int64_t image, const ImageHeader& header) const {
  if (header.width == rules_.shape.width && header.height == rules_.shape.height) return;
  refuse(
      image, fmt::format("image of {}x{} pixels", header.width, header.height),
      fmt::format("{} has {}x{}, but all images of a set must have the same size",
                  set_.location(rules_.measured_from), rules_.shape.width, rules_.shape.height),
      rules_.advice("resize", std::to_string(std::min(rules_.shape.width, rules_.shape.height))) +
          " (shorter side, then centre crop), or make all files the same size");
}

std::uint8_t* ImageLoader::make_room(const ImageHeader& header) {
  decoded_.resize(static_cast<std::size_t>(header.width) * static_cast<std::size_t>(header.height) *
                  3);
  return decoded_.data();
}

void ImageLoader::decode(std::int64_t image, const ImageHeader& header, std::uint8_t* rgb) {
  const TraceSpan span(stages::kDecode);
  try {
    decoder_.decode(encoded_, header, rgb);
  } catch (const ImageError& error) {
    refuse(image, error.what(), error.why(), error.advice());
  }
}

void ImageLoader::read(std::int64_t image, std::uint8_t* row) {
  const ImageHeader header = open(image);
  if (rules_.resize == 0) {
    check_size(image, header);
    decode(image, header, row);
    return;
  }
  std::uint8_t* const rgb = make_room(header);
  decode(image, header, rgb);
  const TraceSpan span(stages::kResize);
  resizer_.resize(rgb, header.width, header.height, rules_.resize, row);
}

void ImageLoader::check(std::int64_t image) {
  // Nearly every header ends here; a large profile or thumbnail may come before it.
  constexpr std::uint64_t kFirstBytes = 16 << 10;
  set_.read(image, encoded_, kFirstBytes);
  if (encoded_.size() == kFirstBytes && !decoder_.has_header(encoded_)) set_.read(image, encoded_);
  const ImageHeader header = checked_header(image);
  if (rules_.resize == 0) check_size(image, header);
}

void ImageLoader::verify(std::int64_t image) {
  const ImageHeader header = open(image);
  decode(image, header, make_room(header));
}

}  // namespace wellspring
