#include "core/picture/png.h"

#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>
#include <png.h>

namespace wellspring {
namespace {

RgbImage gradient(int width, int height) {
  RgbImage image{width, height, {}};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (const int value : {x * 7, y * 11, x * y}) {
        image.pixels.push_back(static_cast<std::uint8_t>(value));
      }
    }
  }
  return image;
}

TEST(Png, IsReadByLibpng) {
  const RgbImage image = gradient(37, 19);
  const auto bytes = encode_png(image);
  png_image control{};
  control.version = PNG_IMAGE_VERSION;
  ASSERT_NE(png_image_begin_read_from_memory(&control, bytes.data(), bytes.size()), 0);
  EXPECT_EQ(control.width, 37u);
  EXPECT_EQ(control.height, 19u);
  control.format = PNG_FORMAT_RGB;
  std::vector<std::uint8_t> pixels(PNG_IMAGE_SIZE(control));
  ASSERT_NE(png_image_finish_read(&control, nullptr, pixels.data(), 0, nullptr), 0);
  EXPECT_EQ(pixels, image.pixels);
}

TEST(Png, WritesTheEncodedBytes) {
  const test::TemporaryFolder folder;
  write_png(folder / "a.png", gradient(8, 8));
  EXPECT_EQ(test::slurp(folder / "a.png"), text_of(encode_png(gradient(8, 8))));
}

TEST(Png, RefusesAWrongSize) {
  EXPECT_THROW(encode_png({2, 2, std::vector<std::uint8_t>(11)}), std::logic_error);
  EXPECT_THROW(encode_png({0, 2, {}}), std::logic_error);
  EXPECT_THROW(encode_png({-1, -1, std::vector<std::uint8_t>(3)}), std::logic_error);
}

}  // namespace
}  // namespace wellspring
