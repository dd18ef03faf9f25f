// Small image files, tar archives and folders, created by the tests. Tests only; host only.
#pragma once

#include "tests/support/temporary_folder.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace wellspring::test {

using Bytes = std::vector<std::uint8_t>;

void write_bytes(const std::filesystem::path& path,
                 const Bytes& bytes);  ///< creates missing folders

/// Noise of shape [height, width, 3], from the seed.
Bytes noise_rgb(int width, int height, std::uint32_t seed);

enum class JpegKind { rgb, grey, cmyk };
Bytes encode_jpeg(const Bytes& rgb, int width, int height, JpegKind kind = JpegKind::rgb);

/// The file without the segments of this kind (0xdb: quantisation tables) that precede the scan.
Bytes without_segments(const Bytes& jpeg, std::uint8_t kind);
/// The part of the file before the scan.
Bytes before_scan(const Bytes& jpeg);
/// The file with this width and height in the header.
Bytes with_size(Bytes jpeg, int width, int height);

Bytes encode_webp(const Bytes& rgb, int width, int height);  ///< lossless
/// Binary PPM, or PGM of the first channel.
Bytes encode_ppm(const Bytes& rgb, int width, int height);
Bytes encode_pgm(const Bytes& rgb, int width, int height);

enum class PngKind { rgb8, rgba8, grey8, rgb16, palette8, interlaced_rgb8 };
/// Kinds other than RGB are derived from the same pixels. A `level` of 0 means no compression.
Bytes encode_png(const Bytes& rgb, int width, int height, PngKind kind = PngKind::rgb8);
/// A PNG whose header claims this size, with almost no pixels.
Bytes huge_png_header(int width, int height);

/// Members are kept in order; a path that ends in "/" is a folder. The archive ends with two zero
/// blocks.
class TarWriter {
 public:
  enum class LongNames { ustar_prefix, gnu, pax };
  void add(const std::string& path, const Bytes& content = {},
           LongNames long_names = LongNames::gnu);
  /// A member of another type: '2' for a symbolic link, 'S' for a sparse file.
  void add_special(const std::string& path, char type);
  /// A hard link to the member `target`; `long_names` says how its name is stored.
  void add_link(const std::string& path, const std::string& target,
                LongNames long_names = LongNames::gnu);
  Bytes finish() const;
  /// The archive without its end mark, for tests of truncated archives.
  const Bytes& body() const { return body_; }

 private:
  void header(const std::string& prefix, const std::string& name, std::size_t bytes, char type,
              const std::string& link = "");
  void pax_record(const std::string& key, const std::string& value);
  void long_link(const std::string& text, char type);
  void content(const Bytes& bytes);
  Bytes body_;
};

/// Writes `classes` folders of `images` noise JPEGs (every third a PNG) of width x height to
/// `root`; the images depend on the seed.
void write_image_folder(const std::filesystem::path& root, int classes, int images, int width,
                        int height, std::uint32_t first_seed = 0);

}  // namespace wellspring::test
