#include "core/picture/png.h"

#include "core/error.h"
#include "core/io/files.h"

#include <fmt/format.h>
#include <png.h>

#include <stdexcept>

namespace wellspring {
namespace {

/// Reports an error of libpng's simplified interface, which neither prints nor jumps.
[[noreturn]] void fail_png(const png_image& control) {
  fail(ErrorKind::runtime, {"cannot encode a PNG image", control.message});
}

}  // namespace

std::vector<std::byte> encode_png(const RgbImage& image) {
  const auto wanted =
      static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.height) * 3;
  if (image.width <= 0 || image.height <= 0 || image.pixels.size() != wanted) {
    throw std::logic_error(fmt::format("an image of {} x {} has {} bytes", image.width,
                                       image.height, image.pixels.size()));
  }
  png_image control{};
  control.version = PNG_IMAGE_VERSION;
  control.width = static_cast<png_uint_32>(image.width);
  control.height = static_cast<png_uint_32>(image.height);
  control.format = PNG_FORMAT_RGB;
  std::vector<std::byte> bytes(PNG_IMAGE_PNG_SIZE_MAX(control));
  png_alloc_size_t size = bytes.size();
  if (png_image_write_to_memory(&control, bytes.data(), &size, 0, image.pixels.data(), 0,
                                nullptr) == 0) {
    fail_png(control);
  }
  bytes.resize(size);
  return bytes;
}

void write_png(const std::filesystem::path& path, const RgbImage& image) {
  write_file(path, encode_png(image));
}

}  // namespace wellspring
