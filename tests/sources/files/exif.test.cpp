// Orientation of photographs: Exif blocks in both byte orders, damaged blocks, and the pictures and
// sizes after turning them upright.
#include "sources/files/exif.h"

#include "core/error.h"
#include "sources/files/image_codec.h"
#include "sources/files/image_loader.h"
#include "tests/support/image_fixtures.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace wellspring::test {
namespace {

enum class Order { little, big };

/// Fields of an Exif block that the tests vary.
struct Block {
  Order order = Order::little;
  std::uint32_t value = 1;      ///< the orientation
  std::uint32_t type = 3;       ///< SHORT
  std::uint32_t count = 1;      ///< number of values
  std::uint32_t directory = 8;  ///< offset of the first directory
  std::uint32_t entries = 2;    ///< number of entries that the directory claims to have
  std::uint32_t magic = 42;
};

/// "Exif", a header, and a directory of two entries, the second of which is the orientation.
Bytes exif_block(const Block& block) {
  Bytes bytes = {'E', 'x', 'i', 'f', 0, 0};
  const auto put = [&](std::uint32_t value, int size) {
    for (int i = 0; i < size; ++i) {
      const int shift = 8 * (block.order == Order::little ? i : size - 1 - i);
      bytes.push_back(static_cast<std::uint8_t>(value >> shift));
    }
  };
  const std::uint8_t letter = block.order == Order::little ? 'I' : 'M';
  bytes.insert(bytes.end(), {letter, letter});
  put(block.magic, 2);
  put(block.directory, 4);
  put(block.entries, 2);
  put(0x0100, 2), put(4, 2), put(1, 4), put(640, 4);  // ImageWidth
  put(0x0112, 2), put(block.type, 2), put(block.count, 4), put(block.value, 2), put(0, 2);
  put(0, 4);  // no further directory
  return bytes;
}

/// `jpeg` with a segment of `content` inserted after its start marker.
Bytes with_segment(const Bytes& jpeg, std::uint8_t kind, const Bytes& content) {
  Bytes result(jpeg.begin(), jpeg.begin() + 2);
  const std::size_t length = content.size() + 2;
  result.insert(result.end(), {0xff, kind, static_cast<std::uint8_t>(length >> 8),
                               static_cast<std::uint8_t>(length)});
  result.insert(result.end(), content.begin(), content.end());
  result.insert(result.end(), jpeg.begin() + 2, jpeg.end());
  return result;
}

Bytes oriented(const Bytes& jpeg, const Block& block) {
  return with_segment(jpeg, 0xe1, exif_block(block));
}

Bytes decoded(const Bytes& encoded) {
  ImageDecoder decoder;
  const ImageHeader header = decoder.header(encoded);
  Bytes rgb(static_cast<std::size_t>(header.width) * static_cast<std::size_t>(header.height) * 3);
  decoder.decode(encoded, header, rgb.data());
  return rgb;
}

/// One pixel per letter, with three different bytes.
Bytes picture(const std::string& letters) {
  Bytes rgb;
  for (const char letter : letters)
    for (int c = 0; c < 3; ++c) rgb.push_back(static_cast<std::uint8_t>(letter + 40 * c));
  return rgb;
}

TEST(Exif, RotatesEveryOrientationUpright) {
  // The stored image has the rows abc and def. In the standard, 6 means "the 0th row is at the
  // visual right-hand side, the 0th column at the top": the first column, read upwards, becomes the
  // first row.
  const std::vector<std::string> upright = {"abcdef", "cbafed", "fedcba", "defabc",
                                            "adbecf", "daebfc", "fcebda", "cfbead"};
  for (Orientation orientation = 1; orientation <= 8; ++orientation) {
    const bool exchanged = orientation > 4;
    EXPECT_EQ(exchanges_sides(orientation), exchanged);
    Bytes turned(18);
    turn_upright(orientation, exchanged ? 2 : 3, exchanged ? 3 : 2, picture("abcdef").data(),
                 turned.data());
    EXPECT_EQ(turned, picture(upright[orientation - 1])) << int{orientation};
  }
}

TEST(Exif, DecodesUprightPicturesAndSizes) {
  constexpr int kWidth = 24, kHeight = 16;
  const Bytes jpeg = encode_jpeg(noise_rgb(kWidth, kHeight, 3), kWidth, kHeight);
  const Bytes stored = decoded(jpeg);
  ImageDecoder decoder;
  for (const Order order : {Order::little, Order::big})
    for (Orientation orientation = 1; orientation <= 8; ++orientation) {
      const Bytes encoded = oriented(jpeg, {.order = order, .value = orientation});
      const ImageHeader header = decoder.header(encoded);
      EXPECT_EQ(header.orientation, orientation);
      EXPECT_EQ(header.width, orientation > 4 ? kHeight : kWidth);
      EXPECT_EQ(header.height, orientation > 4 ? kWidth : kHeight);
      Bytes upright(stored.size());
      turn_upright(orientation, header.width, header.height, stored.data(), upright.data());
      EXPECT_EQ(decoded(encoded), upright) << int{orientation};
      EXPECT_EQ(upright == stored, orientation == 1);
    }
}

TEST(Exif, IgnoresInvalidBlocks) {
  const Bytes jpeg = encode_jpeg(noise_rgb(16, 16, 3), 16, 16);
  for (const Order order : {Order::little, Order::big}) {
    const auto read = [&](Block block) {
      block.order = order;
      return int{jpeg_orientation(oriented(jpeg, block))};
    };
    EXPECT_EQ(read({.value = 6}), 6);
    EXPECT_EQ(read({.value = 0}), 1);
    EXPECT_EQ(read({.value = 9}), 1);
    EXPECT_EQ(read({.value = 0x0600}), 1);  // 6 in the wrong byte order
    EXPECT_EQ(read({.value = 6, .type = 4}), 1);
    EXPECT_EQ(read({.value = 6, .count = 2}), 1);
    EXPECT_EQ(read({.value = 6, .magic = 43}), 1);
    EXPECT_EQ(read({.value = 6, .entries = 1}), 1);
    EXPECT_EQ(read({.value = 6, .entries = 0xffff}), 6);  // the block ends after the orientation
    EXPECT_EQ(read({.type = 6, .directory = 20}), 1);     // points into an entry
    for (const std::uint32_t far : {40u, 0x7fffffffu, 0xfffffff8u, 0xffffffffu})
      EXPECT_EQ(read({.value = 6, .directory = far}), 1) << far;
  }
  Block other{.value = 6};
  Bytes block = exif_block(other);
  block[6] = 'X';  // not a valid byte order
  EXPECT_EQ(jpeg_orientation(with_segment(jpeg, 0xe1, block)), 1);
  EXPECT_EQ(jpeg_orientation(with_segment(jpeg, 0xe2, exif_block(other))), 1);
  EXPECT_EQ(jpeg_orientation(jpeg), 1);
}

TEST(Exif, UsesTheFirstBlockAfterOtherSegments) {
  const Bytes jpeg = encode_jpeg(noise_rgb(16, 16, 3), 16, 16);
  const Bytes xmp = {'h', 't', 't', 'p', ':', '/', '/', 'x'};
  Bytes encoded = oriented(jpeg, {.value = 8});
  EXPECT_EQ(jpeg_orientation(with_segment(encoded, 0xe1, xmp)), 8);
  EXPECT_EQ(jpeg_orientation(with_segment(encoded, 0xed, Bytes(60'000))), 8);
  EXPECT_EQ(jpeg_orientation(oriented(encoded, {.order = Order::big, .value = 3})), 3);
  encoded.insert(encoded.begin() + 2, {0xff, 0xff});  // fill bytes before a marker
  EXPECT_EQ(jpeg_orientation(encoded), 8);
  // Blocks after the first scan are not metadata.
  Bytes late(jpeg.begin(), jpeg.end() - 2);
  const Bytes tail = oriented({0xff, 0xd8}, {.value = 8});
  late.insert(late.end(), tail.begin() + 2, tail.end());
  EXPECT_EQ(jpeg_orientation(late), 1);
}

TEST(Exif, SurvivesTruncationAndWrongBytes) {
  // Copies are on the heap without spare bytes, so sanitizers detect reads beyond them.
  const Bytes jpeg = encode_jpeg(noise_rgb(8, 8, 3), 8, 8);
  for (const Order order : {Order::little, Order::big}) {
    const Bytes whole = oriented(jpeg, {.order = order, .value = 6});
    constexpr std::size_t kBlockEnds = 2 + 4 + 6 + 8 + 2 + 24 + 4;
    for (std::size_t size = 0; size <= kBlockEnds; ++size) {
      const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_EQ(jpeg_orientation(cut), size == kBlockEnds ? 6 : 1) << size;
      Bytes content = exif_block({.order = order, .value = 6});
      content.resize(std::min(content.size(), size));  // the segment ends within its directory
      const int found = jpeg_orientation(with_segment({0xff, 0xd8}, 0xe1, content));
      EXPECT_TRUE(found == 1 || found == 6) << size;
    }
    for (std::size_t at = 0; at < kBlockEnds; ++at)
      for (int value = 0; value < 256; ++value) {
        Bytes wrong = whole;
        wrong[at] = static_cast<std::uint8_t>(value);
        const Orientation found = jpeg_orientation(wrong);
        ASSERT_TRUE(found >= 1 && found <= 8) << at << " " << value;
      }
  }
}

TEST(ImageLoader, ChecksUprightSizes) {
  const test::TemporaryFolder folder;
  const Bytes wide = encode_jpeg(noise_rgb(24, 16, 1), 24, 16);
  const Bytes tall = encode_jpeg(noise_rgb(16, 24, 2), 16, 24);
  test::write_bytes(folder.path() / "a" / "1.jpg", oriented(wide, {.value = 6}));
  test::write_bytes(folder.path() / "a" / "2.jpg", tall);
  test::write_bytes(folder.path() / "a" / "3.jpg", wide);
  const ImageSet set = ImageSet::open({folder.path(), "", 0});
  ImageRules rules;
  rules.shape.channels = 3;
  rules.shape = ImageLoader(set, rules).measure(0);
  EXPECT_EQ(rules.shape.width, 16);
  EXPECT_EQ(rules.shape.height, 24);
  ImageLoader loader(set, rules);
  Bytes row(static_cast<std::size_t>(rules.shape.elements()));
  loader.check(1);
  loader.read(0, row.data());
  Bytes upright(row.size());
  turn_upright(6, 16, 24, decoded(wide).data(), upright.data());
  EXPECT_EQ(row, upright);
  EXPECT_THROW(loader.check(2), Error);  // this image is 24x16 and not rotated
}

TEST(Exif, IsIgnoredOnRequest) {
  const Bytes jpeg = encode_jpeg(noise_rgb(24, 16, 3), 24, 16);
  const Bytes encoded = oriented(jpeg, {.value = 6});
  ImageDecoder decoder(ExifRotation::ignore);
  const ImageHeader header = decoder.header(encoded);
  EXPECT_EQ(header.width, 24);
  Bytes rgb(24 * 16 * 3);
  decoder.decode(encoded, header, rgb.data());
  EXPECT_EQ(rgb, decoded(jpeg));
}

}  // namespace
}  // namespace wellspring::test
