#include "sources/files/image_codec.h"

#include "core/error.h"
#include "sources/files/jpeg_segments.h"

#include <png.h>
#include <turbojpeg.h>

#include <algorithm>
#include <cctype>
#include <csetjmp>
#include <cstring>
#include <string_view>
#include <utility>
#include <webp/decode.h>

namespace wellspring {
namespace {

constexpr const char* kReplace = "replace the file, or set on_error: skip";

using Encoded = std::span<const std::uint8_t>;

// --- PNG ---------------------------------------------------------------------------------------
//
// libpng reports errors by longjmp, which runs no destructors: after setjmp, run_png has only plain
// values, and its caller owns all memory.

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
  // Skips all chunks except pixels: for texts, profiles and suggested palettes, libpng would
  // allocate whatever size they claim (2 GiB in a 40-byte file) and only warn.
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_read_info(png, info);
  const int type = png_get_color_type(png, info);
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

ImageHeader png(Encoded encoded, std::uint8_t* rgb) {
  PngJob job;
  job.data = encoded.data();
  job.size = encoded.size();
  job.rgb = rgb;
  if (!run_png(job)) throw ImageError("damaged PNG", job.message, kReplace);
  return job.header;
}

// --- JPEG --------------------------------------------------------------------------------------

/// A TurboJPEG decoder for one file. It is not reused: a decoder keeps tables, and after a failure
/// it misreads later files. A new one costs 0.5 us, 1 % of decoding the smallest images.
class JpegHandle {
 public:
  JpegHandle() : handle_(tjInitDecompress()) {
    if (handle_ == nullptr) {
      wellspring::fail(ErrorKind::runtime,
                       {"libjpeg-turbo could not be started", tjGetErrorStr2(nullptr), ""});
    }
  }
  ~JpegHandle() { tjDestroy(handle_); }
  JpegHandle(const JpegHandle&) = delete;
  JpegHandle& operator=(const JpegHandle&) = delete;
  operator tjhandle() const { return handle_; }
  [[noreturn]] void fail() const {
    throw ImageError("damaged JPEG", tjGetErrorStr2(handle_), kReplace);
  }

 private:
  tjhandle handle_;
};

ImageHeader jpeg_header(Encoded encoded, ExifRotation rotation) {
  ImageHeader header;
  int subsampling = 0, colours = 0;
  const JpegHandle handle;
  const int status = tjDecompressHeader3(handle, encoded.data(), encoded.size(), &header.width,
                                         &header.height, &subsampling, &colours);
  if (status != 0) handle.fail();
  if (header.width <= 0 || header.height <= 0) {  // the library accepts a missing header
    throw ImageError("damaged JPEG", "it has no image header", kReplace);
  }
  if (rotation == ExifRotation::apply) header.orientation = jpeg_orientation(encoded);
  if (exchanges_sides(header.orientation)) std::swap(header.width, header.height);
  if (colours == TJCS_GRAY) header.colour = ImageColour::grey;
  if (colours == TJCS_CMYK || colours == TJCS_YCCK) header.colour = ImageColour::cmyk;
  return header;
}

/// a * b / 255, rounded, as Pillow computes it.
std::uint8_t product(std::uint32_t a, std::uint32_t b) {
  const std::uint32_t scaled = a * b + 128;
  return static_cast<std::uint8_t>((scaled + (scaled >> 8)) >> 8);
}

/// Multiplies the light that each ink transmits by the share that black transmits. An
/// Adobe segment marks inverted inks (libjpeg-turbo, libjpeg.txt, "Special color spaces").
void mix_inks(std::span<const std::uint8_t> inks, bool inverted, std::uint8_t* rgb) {
  const std::uint8_t flip = inverted ? 0 : 255;
  for (std::size_t i = 0; i < inks.size(); i += 4) {
    const std::uint32_t light = inks[i + 3] ^ flip;
    for (std::size_t c = 0; c < 3; ++c) {
      const std::uint32_t ink = 255u - (inks[i + c] ^ flip);
      *rgb++ = static_cast<std::uint8_t>(light - product(ink, light));
    }
  }
}

// --- WebP --------------------------------------------------------------------------------------

ImageHeader webp_header(Encoded encoded) {
  WebPBitstreamFeatures features;
  const VP8StatusCode status = WebPGetFeatures(encoded.data(), encoded.size(), &features);
  if (status != VP8_STATUS_OK) {
    throw ImageError(
        "damaged WebP",
        status == VP8_STATUS_NOT_ENOUGH_DATA ? "the file is truncated" : "its header is not valid",
        kReplace);
  }
  if (features.has_animation != 0) {
    throw ImageError("animated WebP", "only still images can be samples",
                     "convert its first frame to PNG, or set on_error: skip");
  }
  ImageHeader header;
  header.width = features.width;
  header.height = features.height;
  if (features.has_alpha != 0) header.colour = ImageColour::rgba;
  return header;
}

void decode_webp(Encoded encoded, const ImageHeader& header, std::uint8_t* rgb) {
  const int stride = header.width * 3;
  const auto bytes = static_cast<std::size_t>(stride) * static_cast<std::size_t>(header.height);
  if (WebPDecodeRGBInto(encoded.data(), encoded.size(), rgb, bytes, stride) == nullptr)
    throw ImageError("damaged WebP", "its pixels are truncated or not valid", kReplace);
}

// --- PPM and PGM -------------------------------------------------------------------------------

struct NetpbmHeader {
  ImageHeader image;
  std::size_t pixels_at = 0;
};

/// The binary forms P5 (grey) and P6 (RGB): kind, width, height and largest value as text between
/// blanks and comments, then one blank and the pixels. Source: netpbm.sourceforge.net/doc/ppm.html.
NetpbmHeader netpbm_header(Encoded encoded) {
  constexpr int kLongestSide = 1'000'000;  // the limit of libpng
  constexpr int kPixelValues = 255;
  if (encoded[1] != '5' && encoded[1] != '6') {
    throw ImageError("PBM, PAM or plain PPM image", "only binary PPM (P6) and PGM (P5) are read",
                     std::string(kind_advice(FileKind::netpbm)));
  }
  std::size_t at = 2;
  const auto blank = [&] { return std::isspace(encoded[at]) != 0; };
  const auto number = [&] {
    for (; at < encoded.size() && (blank() || encoded[at] == '#'); ++at) {
      if (encoded[at] != '#') continue;
      while (at + 1 < encoded.size() && encoded[at + 1] != '\n') ++at;
    }
    int value = 0;
    for (; at < encoded.size() && std::isdigit(encoded[at]) != 0; ++at)
      value = std::min(10 * value + (encoded[at] - '0'), kLongestSide + 1);
    return value;
  };
  NetpbmHeader header;
  header.image.width = number();
  header.image.height = number();
  const int largest = number();
  if (std::min(header.image.width, header.image.height) < 1 ||
      std::max(header.image.width, header.image.height) > kLongestSide || at >= encoded.size() ||
      !blank()) {
    throw ImageError("damaged PPM or PGM", "its header is truncated or not valid", kReplace);
  }
  if (largest != kPixelValues) {
    throw ImageError("PPM or PGM of unsupported depth",
                     "its largest value is " + std::to_string(largest) + ", expected 255",
                     std::string(kind_advice(FileKind::netpbm)));
  }
  header.image.colour = encoded[1] == '5' ? ImageColour::grey : ImageColour::rgb;
  header.pixels_at = at + 1;
  return header;
}

void decode_netpbm(Encoded encoded, std::uint8_t* rgb) {
  const auto [image, pixels_at] = netpbm_header(encoded);
  const auto pixels =
      static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.height);
  const bool grey = image.colour == ImageColour::grey;
  const Encoded stored = encoded.subspan(pixels_at);
  if (stored.size() < pixels * (grey ? 1 : 3))
    throw ImageError("damaged PPM or PGM", "the file is truncated", kReplace);
  if (!grey) {
    std::copy_n(stored.begin(), pixels * 3, rgb);
    return;
  }
  for (std::size_t i = 0; i < pixels; ++i) rgb = std::fill_n(rgb, 3, stored[i]);
}

ImageHeader header_of(FileKind kind, Encoded encoded, ExifRotation rotation) {
  if (encoded.empty()) throw ImageError("the file is empty", "", kReplace);
  switch (kind) {
    case FileKind::jpeg:
      return jpeg_header(encoded, rotation);
    case FileKind::png:
      return png(encoded, nullptr);
    case FileKind::webp:
      return webp_header(encoded);
    case FileKind::netpbm:
      return netpbm_header(encoded).image;
    case FileKind::unknown:
      throw ImageError("not a JPEG, PNG, WebP or PPM image",
                       "its first bytes match no known format", kReplace);
    default:
      throw ImageError("not a JPEG, PNG, WebP or PPM image",
                       "it is " + std::string(kind_name(kind)),
                       std::string(kind_advice(kind).empty() ? kReplace : kind_advice(kind)));
  }
}

}  // namespace

ImageHeader ImageDecoder::header(Encoded encoded) const {
  const FileKind kind = file_kind(encoded);
  ImageHeader header = header_of(kind, encoded, rotation_);
  header.kind = kind;
  return header;
}

bool ImageDecoder::has_header(Encoded encoded) const {
  try {
    header(encoded);
    return true;
  } catch (const ImageError&) {
    return false;
  }
}

void ImageDecoder::decode(Encoded encoded, const ImageHeader& header, std::uint8_t* rgb) {
  if (header.kind == FileKind::png) png(encoded, rgb);
  if (header.kind == FileKind::jpeg) decode_jpeg(encoded, header, rgb);
  if (header.kind == FileKind::webp) decode_webp(encoded, header, rgb);
  if (header.kind == FileKind::netpbm) decode_netpbm(encoded, rgb);
}

void ImageDecoder::decode_jpeg(Encoded encoded, const ImageHeader& header, std::uint8_t* rgb) {
  using namespace std::string_view_literals;
  constexpr std::uint8_t kApp14 = 0xee;
  int width = header.width, height = header.height;  // stored sides
  if (exchanges_sides(header.orientation)) std::swap(width, height);
  const auto pixels = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  const bool turned = header.orientation != 1, cmyk = header.colour == ImageColour::cmyk;
  if (turned) stored_.resize(pixels * 3);
  if (cmyk) inks_.resize(pixels * 4);
  std::uint8_t* const stored = turned ? stored_.data() : rgb;
  const JpegHandle handle;
  // Exact inverse DCT and smooth upsampling: the same pixels as other readers.
  if (tjDecompress2(handle, encoded.data(), encoded.size(), cmyk ? inks_.data() : stored, width, 0,
                    height, cmyk ? TJPF_CMYK : TJPF_RGB,
                    TJFLAG_ACCURATEDCT | TJFLAG_LIMITSCANS) != 0) {
    handle.fail();
  }
  if (cmyk) mix_inks(inks_, jpeg_segment(encoded, kApp14, "Adobe"sv).has_value(), stored);
  if (turned) turn_upright(header.orientation, header.width, header.height, stored, rgb);
}

}  // namespace wellspring
