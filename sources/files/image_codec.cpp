#include "sources/files/image_codec.h"

#include "core/error.h"

#include <png.h>
#include <turbojpeg.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <utility>

namespace wellspring {
namespace {

constexpr const char* kReplace = "replace the file, or set on_error: skip";

// --- PNG ---------------------------------------------------------------------------------------
//
// libpng reports errors by longjmp, which runs no destructors: between setjmp and the return there
// are only plain values, and the caller owns all memory.

struct PngJob {
  const std::uint8_t* data = nullptr;
  std::size_t size = 0, position = 0;
  std::uint8_t* rgb = nullptr;  ///< null: header only
  ImageHeader header;
  char message[128] = "";
};

void png_fail(png_structp png, png_const_charp message) {
  auto* job = static_cast<PngJob*>(png_get_error_ptr(png));
  std::strncpy(job->message, message, sizeof(job->message) - 1);
  png_longjmp(png, 1);
}

// Warnings concern profiles, times and text, none of which are used.
void png_ignore(png_structp, png_const_charp) {}

void png_feed(png_structp png, png_bytep out, std::size_t count) {
  auto* job = static_cast<PngJob*>(png_get_io_ptr(png));
  if (count > job->size - job->position) png_error(png, "the file is truncated");
  std::memcpy(out, job->data + job->position, count);
  job->position += count;
}

ImageColour png_colour(int type, bool transparent) {
  if (type == PNG_COLOR_TYPE_GRAY || type == PNG_COLOR_TYPE_GRAY_ALPHA) return ImageColour::grey;
  if (type == PNG_COLOR_TYPE_RGB_ALPHA || transparent) return ImageColour::rgba;
  return ImageColour::rgb;
}

/// False on error, described in job.message.
bool run_png(PngJob& job) {
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &job, png_fail, png_ignore);
  png_infop info = png == nullptr ? nullptr : png_create_info_struct(png);
  if (info == nullptr) {
    png_destroy_read_struct(&png, nullptr, nullptr);
    std::strncpy(job.message, "libpng is out of memory", sizeof(job.message) - 1);
    return false;
  }
  if (setjmp(png_jmpbuf(png)) != 0) {
    png_destroy_read_struct(&png, &info, nullptr);
    return false;
  }
  png_set_read_fn(png, &job, png_feed);
  // Skips all chunks except pixels: text, profiles and suggested palettes would allocate the size
  // that they claim, 2 GiB in a file of 40 bytes, and libpng would only warn.
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_read_info(png, info);
  const int type = png_get_color_type(png, info);
  job.header.format = ImageFormat::png;
  job.header.width = static_cast<int>(png_get_image_width(png, info));
  job.header.height = static_cast<int>(png_get_image_height(png, info));
  job.header.colour = png_colour(type, png_get_valid(png, info, PNG_INFO_tRNS) != 0);
  job.header.bits = std::max<int>(8, png_get_bit_depth(png, info));
  if (job.rgb != nullptr) {
    png_set_scale_16(png);
    png_set_expand(png);
    png_set_strip_alpha(png);
    png_set_gray_to_rgb(png);
    const int passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    const std::size_t stride = png_get_rowbytes(png, info);
    if (stride != static_cast<std::size_t>(job.header.width) * 3) {
      png_error(png, "unexpected row size");
    }
    for (int pass = 0; pass < passes; ++pass) {
      for (int y = 0; y < job.header.height; ++y) {
        png_read_row(png, job.rgb + static_cast<std::size_t>(y) * stride, nullptr);
      }
    }
    png_read_end(png, nullptr);
  }
  png_destroy_read_struct(&png, &info, nullptr);
  return true;
}

ImageHeader png(std::span<const std::uint8_t> encoded, std::uint8_t* rgb) {
  PngJob job;
  job.data = encoded.data();
  job.size = encoded.size();
  job.rgb = rgb;
  if (!run_png(job)) throw ImageError("damaged PNG", job.message, kReplace);
  return job.header;
}

// --- JPEG --------------------------------------------------------------------------------------

[[noreturn]] void jpeg_fail(tjhandle handle) {
  throw ImageError("damaged JPEG", tjGetErrorStr2(handle), kReplace);
}

ImageHeader jpeg_header(tjhandle handle, std::span<const std::uint8_t> encoded) {
  ImageHeader header;
  int subsampling = 0, colours = 0;
  const int status = tjDecompressHeader3(handle, encoded.data(), encoded.size(), &header.width,
                                         &header.height, &subsampling, &colours);
  if (status != 0) jpeg_fail(handle);
  if (header.width <= 0 || header.height <= 0) {  // the library accepts a missing header
    throw ImageError("damaged JPEG", "it has no image header", kReplace);
  }
  header.orientation = jpeg_orientation(encoded);
  if (exchanges_sides(header.orientation)) std::swap(header.width, header.height);
  if (colours == TJCS_GRAY) header.colour = ImageColour::grey;
  if (colours == TJCS_CMYK || colours == TJCS_YCCK) header.colour = ImageColour::cmyk;
  return header;
}

bool begins_with(std::span<const std::uint8_t> data, std::initializer_list<int> magic) {
  return data.size() >= magic.size() && std::equal(magic.begin(), magic.end(), data.begin());
}

}  // namespace

void ImageHeader::require_rgb() const {
  if (colour != ImageColour::cmyk) return;
  throw ImageError("CMYK JPEG", "converting it to RGB needs a colour profile",
                   "convert the file to RGB with an image editor, or set on_error: skip");
}

ImageDecoder::ImageDecoder() : jpeg_(tjInitDecompress()) {
  if (jpeg_ == nullptr) {
    fail(ErrorKind::runtime, {"libjpeg-turbo could not be started", tjGetErrorStr2(nullptr), ""});
  }
}

ImageDecoder::~ImageDecoder() {
  tjDestroy(jpeg_);
}

ImageHeader ImageDecoder::header(std::span<const std::uint8_t> encoded) {
  if (encoded.empty()) throw ImageError("the file is empty", "", kReplace);
  if (begins_with(encoded, {0xff, 0xd8, 0xff})) return jpeg_header(jpeg_, encoded);
  if (begins_with(encoded, {0x89, 'P', 'N', 'G', 0x0d, 0x0a, 0x1a, 0x0a})) {
    return png(encoded, nullptr);
  }
  throw ImageError("neither JPEG nor PNG", "its first bytes match no known format", kReplace);
}

bool ImageDecoder::has_header(std::span<const std::uint8_t> encoded) {
  try {
    header(encoded);
    return true;
  } catch (const ImageError&) {
    return false;
  }
}

void ImageDecoder::decode(std::span<const std::uint8_t> encoded, const ImageHeader& header,
                          std::uint8_t* rgb) {
  if (header.format == ImageFormat::png) {
    png(encoded, rgb);
    return;
  }
  header.require_rgb();
  int width = header.width, height = header.height;  // stored sides
  if (exchanges_sides(header.orientation)) std::swap(width, height);
  const bool turned = header.orientation != 1;
  if (turned)
    stored_.resize(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3);
  // Exact inverse DCT and smooth upsampling: the same pixels as other readers.
  if (tjDecompress2(jpeg_, encoded.data(), encoded.size(), turned ? stored_.data() : rgb, width, 0,
                    height, TJPF_RGB, TJFLAG_ACCURATEDCT | TJFLAG_LIMITSCANS) != 0) {
    jpeg_fail(jpeg_);
  }
  if (turned) turn_upright(header.orientation, header.width, header.height, stored_.data(), rgb);
}

}  // namespace wellspring
