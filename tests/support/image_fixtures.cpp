#include "tests/support/image_fixtures.h"

#include <fmt/format.h>
#include <png.h>
#include <turbojpeg.h>
#include <zlib.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <stdexcept>
#include <webp/encode.h>

namespace wellspring::test {

namespace fs = std::filesystem;

void write_bytes(const fs::path& path, const Bytes& bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
  if (!out.flush()) throw std::runtime_error("cannot write " + path.string());
}

Bytes noise_rgb(int width, int height, std::uint32_t seed) {
  std::mt19937 random(seed);
  Bytes rgb(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3);
  for (std::uint8_t& value : rgb) value = static_cast<std::uint8_t>(random() >> 24);
  return rgb;
}

Bytes encode_jpeg(const Bytes& rgb, int width, int height, JpegKind kind) {
  tjhandle handle = tjInitCompress();
  unsigned char* out = nullptr;
  unsigned long size = 0;
  Bytes source = rgb;
  int format = TJPF_RGB, sampling = TJSAMP_420;
  if (kind == JpegKind::grey) sampling = TJSAMP_GRAY;
  if (kind == JpegKind::cmyk) {
    format = TJPF_CMYK;
    source.assign(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 4, 100);
  }
  const int status =
      tjCompress2(handle, source.data(), width, 0, height, format, &out, &size, sampling, 90, 0);
  Bytes result(out, out + size);
  tjFree(out);
  tjDestroy(handle);
  if (status != 0) throw std::runtime_error("cannot encode a JPEG");
  return result;
}

namespace {

/// Position after the segment that starts at `at` in a JPEG file.
std::size_t after_segment(const Bytes& jpeg, std::size_t at) {
  return at + 2 + (std::size_t{jpeg[at + 2]} << 8 | jpeg[at + 3]);
}

constexpr std::uint8_t kScan = 0xda, kFrame = 0xc0;

std::ptrdiff_t offset(std::size_t at) {
  return static_cast<std::ptrdiff_t>(at);
}

}  // namespace

Bytes without_segments(const Bytes& jpeg, std::uint8_t kind) {
  Bytes result(jpeg.begin(), jpeg.begin() + 2);
  std::size_t at = 2;
  for (; jpeg[at + 1] != kScan; at = after_segment(jpeg, at)) {
    if (jpeg[at + 1] == kind) continue;
    result.insert(result.end(), jpeg.begin() + offset(at),
                  jpeg.begin() + offset(after_segment(jpeg, at)));
  }
  result.insert(result.end(), jpeg.begin() + offset(at), jpeg.end());
  return result;
}

Bytes before_scan(const Bytes& jpeg) {
  std::size_t at = 2;
  while (jpeg[at + 1] != kScan) at = after_segment(jpeg, at);
  return Bytes(jpeg.begin(), jpeg.begin() + offset(at));
}

Bytes with_size(Bytes jpeg, int width, int height) {
  std::size_t at = 2;
  while (jpeg[at + 1] != kFrame) at = after_segment(jpeg, at);
  const auto put = [&](std::size_t where, int value) {
    jpeg[at + where] = static_cast<std::uint8_t>(value >> 8);
    jpeg[at + where + 1] = static_cast<std::uint8_t>(value);
  };
  put(5, height);
  put(7, width);
  return jpeg;
}

Bytes encode_webp(const Bytes& rgb, int width, int height) {
  std::uint8_t* out = nullptr;
  const std::size_t size = WebPEncodeLosslessRGB(rgb.data(), width, height, 3 * width, &out);
  Bytes result(out, out + size);
  WebPFree(out);
  if (size == 0) throw std::runtime_error("cannot encode a WebP");
  return result;
}

Bytes encode_ppm(const Bytes& rgb, int width, int height) {
  const std::string head = fmt::format("P6\n# by a test\n{} {}\n255\n", width, height);
  Bytes result(head.begin(), head.end());
  result.insert(result.end(), rgb.begin(), rgb.end());
  return result;
}

Bytes encode_pgm(const Bytes& rgb, int width, int height) {
  const std::string head = fmt::format("P5 {} {} 255 ", width, height);
  Bytes result(head.begin(), head.end());
  for (std::size_t i = 0; i < rgb.size(); i += 3) result.push_back(rgb[i]);
  return result;
}

Bytes encode_png(const Bytes& rgb, int width, int height, PngKind kind) {
  Bytes out;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &out,
      [](png_structp p, png_bytep data, std::size_t size) {
        auto* bytes = static_cast<Bytes*>(png_get_io_ptr(p));
        bytes->insert(bytes->end(), data, data + size);
      },
      nullptr);
  int type = PNG_COLOR_TYPE_RGB, bits = 8, values = 3;
  if (kind == PngKind::rgba8) type = PNG_COLOR_TYPE_RGB_ALPHA, values = 4;
  if (kind == PngKind::grey8) type = PNG_COLOR_TYPE_GRAY, values = 1;
  if (kind == PngKind::palette8) type = PNG_COLOR_TYPE_PALETTE, values = 1;
  if (kind == PngKind::rgb16) bits = 16, values = 6;
  png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height), bits,
               type, kind == PngKind::interlaced_rgb8 ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (kind == PngKind::palette8) {  // entry i is (i, 255 - i, 7)
    png_color palette[256];
    for (int i = 0; i < 256; ++i) {
      palette[i] = {static_cast<png_byte>(i), static_cast<png_byte>(255 - i), 7};
    }
    png_set_PLTE(png, info, palette, 256);
  }
  png_write_info(png, info);
  Bytes pixels;
  for (std::size_t i = 0; i < rgb.size(); i += 3) {
    const Bytes pixel(rgb.begin() + static_cast<std::ptrdiff_t>(i),
                      rgb.begin() + static_cast<std::ptrdiff_t>(i + 3));
    if (kind == PngKind::rgb16) {  // v * 257, which scales back to v exactly
      for (const std::uint8_t v : pixel) pixels.insert(pixels.end(), {v, v});
    } else {
      pixels.insert(pixels.end(), pixel.begin(), pixel.begin() + std::min(values, 3));
      if (kind == PngKind::rgba8) pixels.push_back(128);
    }
  }
  const std::size_t stride = static_cast<std::size_t>(width) * static_cast<std::size_t>(values);
  std::vector<png_bytep> rows;
  for (int y = 0; y < height; ++y) {
    rows.push_back(pixels.data() + static_cast<std::size_t>(y) * stride);
  }
  png_write_image(png, rows.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return out;
}

namespace {

void append_big_endian(Bytes& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8)
    out.push_back(static_cast<std::uint8_t>(value >> shift));
}

void append_chunk(Bytes& out, const std::string& type, const Bytes& data) {
  append_big_endian(out, static_cast<std::uint32_t>(data.size()));
  Bytes body(type.begin(), type.end());
  body.insert(body.end(), data.begin(), data.end());
  out.insert(out.end(), body.begin(), body.end());
  append_big_endian(
      out, static_cast<std::uint32_t>(crc32(0, body.data(), static_cast<unsigned>(body.size()))));
}

}  // namespace

Bytes huge_png_header(int width, int height) {
  Bytes out = {0x89, 'P', 'N', 'G', 0x0d, 0x0a, 0x1a, 0x0a};
  Bytes header;
  append_big_endian(header, static_cast<std::uint32_t>(width));
  append_big_endian(header, static_cast<std::uint32_t>(height));
  header.insert(header.end(), {8, 2, 0, 0, 0});
  append_chunk(out, "IHDR", header);
  append_chunk(out, "IDAT", {0x78, 0x9c, 0x03, 0x00, 0x00, 0x00, 0x00, 0x01});
  append_chunk(out, "IEND", {});
  return out;
}

void TarWriter::header(const std::string& prefix, const std::string& name, std::size_t bytes,
                       char type, const std::string& link) {
  char block[512] = {};
  std::strncpy(block, name.c_str(), 100);
  std::snprintf(block + 100, 8, "%07o", 0644u);
  std::snprintf(block + 124, 12, "%011zo", bytes);
  std::memset(block + 148, ' ', 8);
  block[156] = type;
  std::memcpy(block + 157, link.data(), std::min<std::size_t>(link.size(), 100));
  std::memcpy(block + 257, "ustar\00000", 8);
  std::strncpy(block + 345, prefix.c_str(), 155);
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  std::snprintf(block + 148, 8, "%06o", sum);
  body_.insert(body_.end(), block, block + 512);
}

void TarWriter::content(const Bytes& bytes) {
  body_.insert(body_.end(), bytes.begin(), bytes.end());
  body_.resize((body_.size() + 511) / 512 * 512, 0);
}

void TarWriter::add(const std::string& path, const Bytes& bytes, LongNames long_names) {
  const char type = path.back() == '/' ? '5' : '0';
  std::string prefix, name = path;
  if (path.size() > 100) {
    if (long_names == LongNames::ustar_prefix) {
      const std::size_t slash = path.find('/', path.size() - 100);
      prefix = path.substr(0, slash);
      name = path.substr(slash + 1);
    } else if (long_names == LongNames::gnu) {
      long_link(path, 'L');
      name = path.substr(0, 100);
    } else {
      pax_record("path", path);
      name = "overridden";
    }
  }
  header(prefix, name, bytes.size(), type);
  content(bytes);
}

void TarWriter::long_link(const std::string& text, char type) {
  header("", "././@LongLink", text.size() + 1, type);
  Bytes bytes(text.begin(), text.end());
  bytes.push_back(0);
  content(bytes);
}

/// A pax record whose length has three digits; the length includes these digits.
void TarWriter::pax_record(const std::string& key, const std::string& value) {
  const std::string rest = fmt::format(" {}={}\n", key, value);
  const std::string record = fmt::format("{}{}", rest.size() + 3, rest);
  header("", "PaxHeader", record.size(), 'x');
  content(Bytes(record.begin(), record.end()));
}

void TarWriter::add_link(const std::string& path, const std::string& target, LongNames long_names) {
  if (target.size() > 100)
    long_names == LongNames::pax ? pax_record("linkpath", target) : long_link(target, 'K');
  header("", path, 0, '1', target);
}

void TarWriter::add_special(const std::string& path, char type) {
  header("", path, 0, type);
}

Bytes TarWriter::finish() const {
  Bytes result = body_;
  result.resize(result.size() + 1024, 0);
  return result;
}

void write_image_folder(const fs::path& root, int classes, int images, int width, int height,
                        std::uint32_t first_seed) {
  for (int c = 0; c < classes; ++c) {
    for (int i = 0; i < images; ++i) {
      const Bytes rgb =
          noise_rgb(width, height, first_seed + static_cast<std::uint32_t>(1000 * c + i));
      const bool png = i % 3 == 2;
      write_bytes(
          root / fmt::format("class{}", c) / fmt::format("{:03}.{}", i, png ? "png" : "jpg"),
          png ? encode_png(rgb, width, height) : encode_jpeg(rgb, width, height));
    }
  }
}

}  // namespace wellspring::test
