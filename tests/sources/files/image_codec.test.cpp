#include "sources/files/image_codec.h"

#include "tests/support/error_testing.h"
#include "tests/support/image_fixtures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string_view>
#include <sys/resource.h>

namespace wellspring::test {
namespace {

constexpr int kWidth = 13, kHeight = 9;

Bytes decode(ImageDecoder& decoder, const Bytes& encoded) {
  const ImageHeader header = decoder.header(encoded);
  Bytes rgb(static_cast<std::size_t>(header.width) * static_cast<std::size_t>(header.height) * 3);
  decoder.decode(encoded, header, rgb.data());
  return rgb;
}

std::string image_error(const std::function<void()>& action) {
  try {
    action();
  } catch (const ImageError& error) {
    EXPECT_FALSE(error.advice().empty());
    return std::string(error.what()) + " (" + error.why() + ")";
  }
  ADD_FAILURE() << "an error was expected";
  return {};
}

TEST(ImageCodec, DecodesPngExactly) {
  ImageDecoder decoder;
  const Bytes rgb = noise_rgb(kWidth, kHeight, 1);
  for (const PngKind kind :
       {PngKind::rgb8, PngKind::interlaced_rgb8, PngKind::rgb16, PngKind::rgba8}) {
    EXPECT_EQ(decode(decoder, encode_png(rgb, kWidth, kHeight, kind)), rgb);
  }
}

TEST(ImageCodec, ConvertsPaletteAndGreyToRgb) {
  ImageDecoder decoder;
  const Bytes rgb = noise_rgb(kWidth, kHeight, 1);
  const Bytes palette = decode(decoder, encode_png(rgb, kWidth, kHeight, PngKind::palette8));
  const Bytes grey = decode(decoder, encode_png(rgb, kWidth, kHeight, PngKind::grey8));
  for (std::size_t i = 0; i < rgb.size(); i += 3) {
    EXPECT_EQ(palette[i], rgb[i]);
    EXPECT_EQ(palette[i + 1], 255 - rgb[i]);
    EXPECT_EQ(palette[i + 2], 7);
    for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(grey[i + c], rgb[i]);
  }
}

TEST(ImageCodec, DecodesJpegApproximately) {
  ImageDecoder decoder;
  Bytes smooth;
  for (int y = 0; y < 32; ++y) {
    for (int x = 0; x < 32; ++x) {
      smooth.insert(smooth.end(),
                    {static_cast<std::uint8_t>(8 * x), static_cast<std::uint8_t>(8 * y),
                     static_cast<std::uint8_t>(4 * (x + y))});
    }
  }
  const Bytes decoded = decode(decoder, encode_jpeg(smooth, 32, 32));
  ASSERT_EQ(decoded.size(), smooth.size());
  double worst = 0;
  for (std::size_t i = 0; i < smooth.size(); ++i) {
    worst = std::max(worst, std::abs(double{1} * decoded[i] - smooth[i]));
  }
  EXPECT_LT(worst, 24);  // at quality 90 with halved chroma; swapping red and blue would give 200
}

TEST(ImageCodec, ReadsKindAndSizeFromHeaders) {
  ImageDecoder decoder;
  const Bytes rgb = noise_rgb(kWidth, kHeight, 1);
  const auto header = [&](const Bytes& encoded) { return decoder.header(encoded); };
  const ImageHeader jpeg = header(encode_jpeg(rgb, kWidth, kHeight));
  EXPECT_EQ(jpeg.kind, FileKind::jpeg);
  EXPECT_EQ(jpeg.width, kWidth);
  EXPECT_EQ(jpeg.height, kHeight);
  EXPECT_TRUE(jpeg.is_rgb8());
  EXPECT_EQ(header(encode_jpeg(rgb, kWidth, kHeight, JpegKind::grey)).colour, ImageColour::grey);
  EXPECT_EQ(header(encode_jpeg(rgb, kWidth, kHeight, JpegKind::cmyk)).colour, ImageColour::cmyk);
  EXPECT_TRUE(header(encode_png(rgb, kWidth, kHeight)).is_rgb8());
  EXPECT_TRUE(header(encode_png(rgb, kWidth, kHeight, PngKind::palette8)).is_rgb8());
  EXPECT_EQ(header(encode_png(rgb, kWidth, kHeight, PngKind::rgba8)).colour, ImageColour::rgba);
  EXPECT_EQ(header(encode_png(rgb, kWidth, kHeight, PngKind::grey8)).colour, ImageColour::grey);
  EXPECT_EQ(header(encode_png(rgb, kWidth, kHeight, PngKind::rgb16)).bits, 16);
  EXPECT_EQ(header(test::huge_png_header(60'000, 50'000)).width, 60'000);
}

TEST(ImageCodec, RefusesDamage) {
  ImageDecoder decoder;
  const Bytes rgb = noise_rgb(64, 64, 1);
  const Bytes jpeg = encode_jpeg(rgb, 64, 64), png = encode_png(rgb, 64, 64);
  const auto refused = [&](Bytes encoded) {
    return image_error([&] { decode(decoder, encoded); });
  };
  const auto cut = [](const Bytes& bytes, std::size_t size) {
    return Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
  };
  // For a truncated JPEG, libjpeg only warns and fills missing data with grey.
  expect_parts(refused(cut(jpeg, jpeg.size() / 2)), {"damaged JPEG"});
  expect_parts(refused(cut(jpeg, 10)), {"damaged JPEG"});
  expect_parts(refused(cut(png, png.size() / 2)), {"truncated"});
  expect_parts(refused(cut(png, 12)), {"damaged PNG"});
  Bytes altered = png;
  altered[png.size() / 2] ^= 0x10;
  expect_parts(refused(altered), {"damaged PNG"});
  altered = jpeg;
  std::fill(altered.begin() + static_cast<std::ptrdiff_t>(jpeg.size() / 2),
            altered.begin() + static_cast<std::ptrdiff_t>(jpeg.size() / 2 + 40),
            std::uint8_t{0xff});
  expect_parts(refused(altered), {"damaged JPEG"});
  expect_parts(refused({}), {"empty"});
  const Bytes webp = test::encode_webp(rgb, 64, 64), ppm = test::encode_ppm(rgb, 64, 64);
  expect_parts(refused(cut(webp, 20)), {"damaged WebP", "truncated"});
  expect_parts(refused(cut(webp, webp.size() / 2)), {"damaged WebP"});
  expect_parts(refused(cut(ppm, 12)), {"damaged PPM", "its header"});
  expect_parts(refused(cut(ppm, ppm.size() - 1)), {"damaged PPM", "truncated"});
  // The decoder must still work after the failures.
  EXPECT_EQ(decode(decoder, png), rgb);
  EXPECT_EQ(decode(decoder, jpeg).size(), rgb.size());
}

TEST(ImageCodec, IdentifiesFilesOfOtherKinds) {
  ImageDecoder decoder;
  const auto refused = [&](const std::string& text) {
    return image_error([&] { decoder.header(Bytes(text.begin(), text.end())); });
  };
  expect_parts(refused("GIF89a"), {"not a JPEG, PNG, WebP or PPM image", "it is a GIF image"});
  expect_parts(refused("<html>404"), {"it is a web page"});
  expect_parts(refused("text"), {"its first bytes match no known format"});
  expect_parts(refused("P3 1 1 255 0 0 0"), {"plain PPM"});
  expect_parts(refused("P6 1 1 65535 000000"), {"largest value is 65535"});
}

TEST(ImageCodec, DecodesWebPAndNetpbmExactly) {
  ImageDecoder decoder;
  const Bytes rgb = noise_rgb(kWidth, kHeight, 1);
  EXPECT_EQ(decode(decoder, test::encode_webp(rgb, kWidth, kHeight)), rgb);
  EXPECT_EQ(decode(decoder, test::encode_ppm(rgb, kWidth, kHeight)), rgb);
  const Bytes pgm = test::encode_pgm(rgb, kWidth, kHeight), grey = decode(decoder, pgm);
  EXPECT_EQ(decoder.header(pgm).colour, ImageColour::grey);
  for (std::size_t i = 0; i < rgb.size(); ++i) EXPECT_EQ(grey[i], rgb[i / 3 * 3]);
}

// The fixture stores 100 for every ink, as YCCK: Y = 155, Cb = Cr = 128, K = 100.
TEST(ImageCodec, MultipliesInks) {
  ImageDecoder decoder;
  const Bytes adobe = encode_jpeg(noise_rgb(16, 16, 1), 16, 16, JpegKind::cmyk);
  const auto expect_near = [&](const Bytes& jpeg, std::array<double, 3> expected) {
    const Bytes rgb = decode(decoder, jpeg);
    // Each stored ink is exact to one level, and two inks are multiplied.
    for (std::size_t i = 0; i < rgb.size(); ++i) EXPECT_NEAR(rgb[i], expected[i % 3], 2.5);
  };
  const double inverted = 100. * 100 / 255;
  expect_near(adobe, {inverted, inverted, inverted});
  // Without Adobe's segment, the values 155, 128, 128 and 100 are inks and not inverted.
  const double light = 255 - 100;
  expect_near(test::without_segments(adobe, 0xee),
              {light * (255 - 155) / 255, light * (255 - 128) / 255, light * (255 - 128) / 255});
}

/// Files whose result once depended on the file that the decoder had read before.
std::vector<Bytes> unlike_files() {
  const Bytes rgb = noise_rgb(64, 64, 1);
  const Bytes jpeg = encode_jpeg(rgb, 64, 64);
  return {jpeg,
          test::before_scan(jpeg),
          test::with_size(jpeg, 65535, 65535),
          test::without_segments(jpeg, 0xdb),
          test::without_segments(jpeg, 0xc4),
          encode_jpeg(rgb, 64, 64, JpegKind::grey),
          encode_jpeg(rgb, 64, 64, JpegKind::cmyk),
          Bytes(jpeg.begin(), jpeg.end() - 200),
          encode_png(rgb, 64, 64)};
}

TEST(ImageCodec, DoesNotDependOnEarlierFiles) {
  const auto result = [](ImageDecoder& decoder, const Bytes& encoded) -> std::optional<Bytes> {
    try {
      if (decoder.header(encoded).width > 1000) return Bytes();
      return decode(decoder, encoded);
    } catch (const ImageError&) {
      return std::nullopt;
    }
  };
  const std::vector<Bytes> files = unlike_files();
  for (std::size_t first = 0; first < files.size(); ++first) {
    for (std::size_t second = 0; second < files.size(); ++second) {
      ImageDecoder fresh, used;
      (void)result(used, files[first]);
      EXPECT_EQ(result(used, files[second]), result(fresh, files[second]))
          << first << " before " << second;
    }
  }
}

TEST(ImageCodec, RefusesMissingTables) {
  const Bytes jpeg = encode_jpeg(noise_rgb(64, 64, 1), 64, 64);
  ImageDecoder decoder;
  (void)decode(decoder, jpeg);
  expect_parts(image_error([&] { decode(decoder, test::without_segments(jpeg, 0xdb)); }),
               {"damaged JPEG", "Quantization table"});
}

// Before it reads such a chunk's data, libpng clears as much memory as the chunk claims.
TEST(ImageCodec, RefusesLargeChunksWithoutAllocating) {
  const Bytes whole = encode_png(noise_rgb(64, 64, 1), 64, 64);
  constexpr std::size_t kHeader = 8 + 25;               // signature and IHDR
  const std::string_view claims("\x3e\0\0\6sPLTE", 9);  // claims a suggested palette of 992 MiB
  Bytes bytes(whole.begin(), whole.begin() + kHeader);
  bytes.insert(bytes.end(), claims.begin(), claims.end());
  const auto peak = [] {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return used.ru_maxrss;  // in KiB
  };
  const auto before = peak();
  ImageDecoder decoder;
  EXPECT_THROW(decoder.header(bytes), ImageError);
  EXPECT_LT(peak() - before, 100 * 1024);
}

}  // namespace
}  // namespace wellspring::test
