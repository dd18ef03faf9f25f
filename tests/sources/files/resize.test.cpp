#include "sources/files/resize.h"

#include "tests/sources/files/pillow_values.h"
#include "tests/support/image_fixtures.h"

#include <gtest/gtest.h>
#include <zlib.h>

namespace wellspring::test {
namespace {

Bytes resize(const Bytes& rgb, int width, int height, int side) {
  ImageResizer resizer;
  Bytes out(static_cast<std::size_t>(side) * static_cast<std::size_t>(side) * 3);
  resizer.resize_and_crop(rgb.data(), {width, height}, {side, side}, out.data());
  return out;
}

TEST(ImageResizer, LeavesImagesOfTheTargetSizeUnchanged) {
  const Bytes rgb = noise_rgb(17, 17, 1);
  EXPECT_EQ(resize(rgb, 17, 17, 17), rgb);
}

TEST(ImageResizer, CropsTheCentre) {
  const int width = 24, height = 16;
  const Bytes rgb = noise_rgb(width, height, 2);
  const Bytes out = resize(rgb, width, height, 16);  // the height fits; columns 4 to 19 remain
  for (std::size_t y = 0; y < 16; ++y) {
    for (std::size_t x = 0; x < 16 * 3; ++x) {
      ASSERT_EQ(out[y * 48 + x], rgb[y * 72 + 12 + x]);
    }
  }
  const Bytes tall = resize(noise_rgb(16, 24, 2), 16, 24, 16);
  const Bytes source = noise_rgb(16, 24, 2);
  EXPECT_TRUE(std::equal(tall.begin(), tall.end(), source.begin() + 4 * 48));
}

// The middle of the image that just covers the output.
TEST(ImageResizer, CoversSizesThatAreNotSquare) {
  struct Case {
    FrameSize image, out, scaled;
  };
  for (const auto& [image, out, scaled] : {Case{{40, 30}, {24, 12}, {24, 18}},
                                           {{40, 30}, {12, 24}, {32, 24}},
                                           {{20, 60}, {9, 7}, {9, 27}},
                                           {{16, 8}, {32, 16}, {32, 16}}}) {
    const Bytes rgb = noise_rgb(image.width, image.height, 5);
    const auto bytes = [](FrameSize size) {
      return static_cast<std::size_t>(size.width * size.height * 3);
    };
    Bytes whole(bytes(scaled)), cut(bytes(out));
    ImageResizer resizer;
    resizer.resize(rgb.data(), image, scaled, whole.data());
    resizer.resize_and_crop(rgb.data(), image, out, cut.data());
    const int left = (scaled.width - out.width) / 2, top = (scaled.height - out.height) / 2;
    for (int y = 0; y < out.height; ++y)
      EXPECT_TRUE(std::equal(cut.begin() + y * out.width * 3, cut.begin() + (y + 1) * out.width * 3,
                             whole.begin() + ((top + y) * scaled.width + left) * 3))
          << y;
  }
}

TEST(ImageResizer, PreservesConstantImagesAtAnyScale) {
  for (const int side : {1, 5, 16, 31, 64}) {
    for (const std::uint8_t value : {0, 1, 127, 255}) {
      const Bytes out = resize(Bytes(40 * 30 * 3, value), 40, 30, side);
      EXPECT_EQ(out, Bytes(out.size(), value));
    }
  }
}

// Must have the geometry and rounding of torchvision's Resize and CenterCrop.
TEST(ImageResizer, MatchesPillow) {
  for (const test::ResizedByPillow& c : test::kResizedByPillow) {
    Bytes rgb(static_cast<std::size_t>(c.width) * static_cast<std::size_t>(c.height) * 3);
    for (std::uint64_t i = 0; i < rgb.size(); ++i)
      rgb[i] = static_cast<std::uint8_t>((i * i * 7 + i * 13) % 251);
    const Bytes out = resize(rgb, c.width, c.height, c.side);
    EXPECT_EQ(crc32(0, out.data(), static_cast<unsigned>(out.size())), c.checksum)
        << c.width << "x" << c.height << " to " << c.side;
  }
}

}  // namespace
}  // namespace wellspring::test
