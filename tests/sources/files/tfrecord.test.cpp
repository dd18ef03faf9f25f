// TFRecord files of tf.train.Example: images, labels and refusals.
#include "sources/files/tfrecord.h"

#include "core/io/crc32c.h"
#include "sources/files/format.h"
#include "sources/files/image_set.h"
#include "sources/files/shard_names.h"
#include "tests/support/error_testing.h"
#include "tests/support/image_fixtures.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

std::string varint(std::uint64_t value) {
  std::string text;
  for (; value >= 128; value >>= 7) text += static_cast<char>((value & 127) | 128);
  return text + static_cast<char>(value);
}

/// A field of type `delimited`.
std::string field(std::uint64_t number, const std::string& content) {
  return varint(number << 3 | 2) + varint(content.size()) + content;
}

std::string bytes_list(const std::string& value) {
  return field(1, field(1, value));
}
std::string packed(std::int64_t value) {
  return field(3, field(1, varint(static_cast<std::uint64_t>(value))));
}
std::string unpacked(std::int64_t value) {
  return field(3, varint(1 << 3) + varint(static_cast<std::uint64_t>(value)));
}
std::string floats(int count) {
  return field(2, field(1, std::string(static_cast<std::size_t>(count) * 4, '\0')));
}

using Entries = std::vector<std::pair<std::string, std::string>>;

std::string example(const Entries& entries) {
  std::string features;
  for (const auto& [name, value] : entries) features += field(1, field(1, name) + field(2, value));
  return field(1, features);
}

std::string framed(const std::string& record) {
  std::string length, framed;
  append_number(length, static_cast<std::uint64_t>(record.size()));
  framed = length;
  append_number(framed, masked_crc(crc32c(bytes_of(length))));
  framed += record;
  append_number(framed, masked_crc(crc32c(bytes_of(record))));
  return framed;
}

struct Records : ::testing::Test {
  ImageSet open(const std::string& name, ShardOptions options = {.label = ""}) const {
    options.path = folder / name;
    return ImageSet::open_records(options);
  }
  std::string refused(const std::string& file, const ShardOptions& options = {.label = ""}) const {
    spill(folder / "x.tfrecord", file);
    return message_of(ErrorKind::data, [&] { open("x.tfrecord", options); });
  }
  static std::string image(const ImageSet& set, std::int64_t i) {
    std::vector<std::uint8_t> read;
    set.read(i, read);
    return {read.begin(), read.end()};
  }
  TemporaryFolder folder;
};

TEST_F(Records, HoldImagesWithWholeLabels) {
  spill(folder / "a-00000-of-00002",
        framed(example({{"image/encoded", bytes_list("one")}, {"image/class/label", packed(2)}})) +
            framed(example({{"label", unpacked(0)}, {"image", bytes_list("two")}})));
  spill(folder / "a-00001-of-00002",
        framed(example({{"x", floats(3)}, {"image", bytes_list("three")}, {"label", packed(2)}})));
  const ImageSet set = open("a-{00000..00001}-of-00002");
  EXPECT_EQ(set.classes(), (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_EQ(image(set, 0) + image(set, 1) + image(set, 2), "onetwothree");
  EXPECT_EQ(set.label(0), 2);
  EXPECT_EQ(set.label(1), 0);
  EXPECT_EQ(set.location(2), (folder / "a-00001-of-00002").string() + ": record 0");
  EXPECT_EQ(open("").size(), 3);
}

TEST_F(Records, HaveFeaturesOfAnyNameAndTextLabels) {
  spill(folder / "a.tfrecord",
        framed(example({{"jpg", bytes_list("one")}, {"text", bytes_list("dog")}})) +
            framed(example({{"jpg", bytes_list("two")}, {"text", bytes_list("cat")}})));
  const ImageSet set = open("a.tfrecord", {.image = "jpg", .label = "text"});
  EXPECT_EQ(set.classes(), (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(set.label(0), 1);
  const auto rows = [&](const std::string& bytes) {
    spill(folder / "b.tfrecord",
          framed(example({{"image", bytes_list(bytes)}, {"label", packed(0)}})));
    return open_dataset({.path = folder / "b.tfrecord"});
  };
  const Bytes rgb = noise_rgb(5, 4, 1), png = encode_png(rgb, 5, 4);
  Bytes read(rgb.size());
  rows({png.begin(), png.end()})->reader()->read(0, read.data());
  EXPECT_EQ(read, rgb);
  EXPECT_EQ(open("b.tfrecord", {.labelled = false}).classes().size(), 1u);
}

// Protocol Buffers: the last value of a scalar or of a map's key wins; unknown fields are
// skipped.
TEST_F(Records, FollowTheRulesOfProtocolBuffers) {
  const std::string unknown = varint(9 << 3) + varint(7) + varint(8 << 3 | 1) + "12345678" +
                              varint(7 << 3 | 5) + "1234" + field(6, "x");
  const std::string record =
      unknown + example({{"a", packed(-1)}}) + example({{"a", packed(1) + floats(2)}, {"b", ""}});
  const auto features = parse_example(bytes_of(record), "x");
  ASSERT_EQ(features.size(), 2u);
  EXPECT_EQ(features.at("a").kind, ExampleFeature::Kind::real);
  EXPECT_EQ(features.at("a").count, 2u);
  EXPECT_EQ(features.at("b").kind, ExampleFeature::Kind::none);
  const std::string negative = example({{"a", packed(-1)}});
  EXPECT_EQ(parse_example(bytes_of(negative), "x").at("a").whole, -1);
}

TEST_F(Records, RefuseDamagedFiles) {
  const std::string good = framed(example({{"image", bytes_list("one")}, {"label", packed(0)}}));
  for (std::size_t size = 1; size < good.size(); ++size)
    expect_parts(refused(good + good.substr(0, size)), {"x.tfrecord", "record 1", "ends within"});
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string damaged = good;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    expect_parts(refused(damaged), {"record 0", "checksum"});
  }
  std::string absurd;
  append_number(absurd, std::uint64_t{1} << 63);
  append_number(absurd, masked_crc(crc32c(bytes_of(absurd))));
  expect_parts(refused(absurd + good), {"record 0", "ends within a record"});
  expect_parts(refused("\x1f\x8b\x08" + good), {"compressed", "gzip -d"});
  expect_parts(refused(""), {"x.tfrecord: the file is empty"});
}

TEST_F(Records, RefuseMessagesThatAreNoExamples) {
  for (const std::string& record :
       {std::string("\x0a\x7f") + "short", std::string("\x0a\x01"),
        field(1, field(1, field(2, "\x0a"))), std::string("\x0b"), std::string(11, '\xff'),
        example({{"a", field(1, varint(1 << 3) + "1")}}),
        example({{"a", field(3, field(1, "\xff"))}})})
    expect_parts(message_of(ErrorKind::data, [&] { parse_example(bytes_of(record), "r"); }),
                 {"r: not a tf.train.Example"});
}

TEST_F(Records, RefuseMissingAndOtherFeatures) {
  const auto of = [&](const Entries& entries, const ShardOptions& options = {.label = ""}) {
    return refused(framed(example(entries)), options);
  };
  const auto one = bytes_list("one");
  expect_parts(of({{"picture", one}, {"label", packed(0)}}),
               {"record 0: no feature for image", "label, picture", "set image:"});
  expect_parts(of({{"image", one}}), {"no feature for label", "set label:"});
  expect_parts(of({{"image", one}}, {.image = "img", .label = ""}), {"no feature 'img'"});
  expect_parts(of({{"image", floats(12)}, {"label", packed(0)}}),
               {"not one byte string", "12 values"});
  expect_parts(of({{"image", field(1, field(1, "a") + field(1, "b"))}, {"label", packed(0)}}),
               {"2 values"});
  for (const std::string& label : {floats(1), field(3, field(1, varint(1) + varint(2))),
                                   bytes_list(std::string(2000, 'x')), std::string()})
    expect_parts(of({{"image", one}, {"label", label}}), {"neither one whole number"});
  expect_parts(of({{"image", one}, {"label", bytes_list("a\nb")}}), {"several lines"});
  expect_parts(of({{"image", one}, {"label", packed(-1)}}), {"label '-1'"});
  spill(folder / "y.tfrecord", framed(example({{"image", one}})) +
                                   framed(example({{"image", one}, {"label", packed(0)}})));
  const ImageSet set = open("y.tfrecord", {.label = "", .on_error = OnError::skip});
  EXPECT_EQ(set.size(), 1);
  EXPECT_EQ(set.skipped(), 1);
  EXPECT_EQ(set.location(0), (folder / "y.tfrecord").string() + ": record 1");
}

/// The entries of a record with raw pixels, as TensorFlow's converters name them.
Entries raw(const std::string& pixels, std::int64_t height, std::int64_t width,
            std::optional<std::int64_t> depth, const std::string& name = "image_raw") {
  Entries entries = {{"height", packed(height)},
                     {"width", packed(width)},
                     {name, bytes_list(pixels)},
                     {"label", packed(0)}};
  if (depth) entries.emplace_back("depth", packed(*depth));
  return entries;
}

TEST_F(Records, HoldRawPixels) {
  const Bytes rgb = noise_rgb(5, 4, 1), small = noise_rgb(2, 2, 2);
  const std::string pixels(rgb.begin(), rgb.end());
  const auto read = [&](const Entries& entries, std::vector<ParamSetting> settings = {}) {
    spill(folder / "a.tfrecord", framed(example(entries)));
    const auto rows =
        open_dataset({.path = folder / "a.tfrecord", .settings = std::move(settings)});
    EXPECT_EQ(rows->layout().sample.shape(), (SampleShape{4, 5, 3}));
    Bytes row(rgb.size());
    const auto reader = rows->reader();
    reader->check(0);
    reader->read(0, row.data());
    return row;
  };
  EXPECT_EQ(read(raw(pixels, 4, 5, 3)), rgb);
  EXPECT_EQ(read(raw(pixels, 4, 5, {}, "image/raw")), rgb);
  EXPECT_EQ(read(raw(pixels, 4, 5, 3, "image")), rgb);
  EXPECT_EQ(read(raw(pixels, 4, 5, 3, "pixels"), {{"image", "pixels", {}}}), rgb);
  EXPECT_EQ(read({{"image/height", packed(4)},
                  {"image/width", packed(5)},
                  {"image/channels", packed(3)},
                  {"image/raw", bytes_list(pixels)},
                  {"label", packed(0)}}),
            rgb);
  Bytes grey;
  for (std::size_t i = 0; i < 20; ++i) grey.insert(grey.end(), 3, rgb[i]);
  EXPECT_EQ(read(raw(pixels.substr(0, 20), 4, 5, 1), {{"on_convert", "convert", {}}}), grey);
  // An image file in image_raw, as in TensorFlow's tutorial, and records of several sizes.
  const Bytes png = encode_png(rgb, 5, 4);
  EXPECT_EQ(read(raw({png.begin(), png.end()}, 4, 5, 3)), rgb);
  spill(folder / "b.tfrecord", framed(example(raw(pixels, 4, 5, 3))) +
                                   framed(example(raw({small.begin(), small.end()}, 2, 2, 3))) +
                                   framed(example(raw({png.begin(), png.end()}, 4, 5, 3))) +
                                   framed(example(raw(pixels, 4, 5, 3))));
  const ImageSet set = open("b.tfrecord");
  EXPECT_EQ(image(set, 0), "P6\n5 4\n255\n" + pixels);
  EXPECT_EQ(image(set, 1), "P6\n2 2\n255\n" + std::string(small.begin(), small.end()));
  EXPECT_EQ(image(set, 2), std::string(png.begin(), png.end()));
  EXPECT_EQ(image(set, 3), image(set, 0));
  EXPECT_EQ(set.encoded_bytes(0), image(set, 0).size());
  std::vector<std::uint8_t> first;
  for (const std::uint64_t most : {std::uint64_t{3}, std::uint64_t{11}, std::uint64_t{20}}) {
    set.read(0, first, most);
    EXPECT_EQ(std::string(first.begin(), first.end()), image(set, 0).substr(0, most));
  }
}

TEST_F(Records, RefuseRawPixelsOfAnotherSize) {
  const auto of = [&](const Entries& entries) { return refused(framed(example(entries))); };
  const std::string twelve(12, 'x');
  expect_parts(of(raw(twelve, 2, 3, 3)), {"record 0", "'image_raw' has 12 bytes",
                                          "height 2, width 3 and depth 3 ask for 18"});
  expect_parts(of(raw(twelve, 2, 3, 2)), {"1 or 3 channels"});
  expect_parts(of(raw(twelve, 2, 3, {})), {"depth 1 or 3"});
  expect_parts(of(raw(twelve, 1'000'000, 1'000'000, 1'000'000)), {"12 bytes"});
  for (const std::int64_t extent : {std::int64_t{0}, std::int64_t{-4}, std::int64_t{1'000'001},
                                    std::numeric_limits<std::int64_t>::max()})
    expect_parts(of(raw(twelve, extent, 3, 1)), {"'height' is not a whole number from 1 to"});
  expect_parts(of({{"image_raw", bytes_list(twelve)}, {"label", packed(0)}}),
               {"'image_raw' is not an image file", "no features height and width"});
  expect_parts(of({{"height", floats(1)}, {"image_raw", bytes_list(twelve)}, {"label", packed(0)}}),
               {"'height' is not a whole number"});
}

TEST_F(Records, AreRecognisedByTheirNames) {
  for (const char* name :
       {"a.tfrecord", "a.tfrecords", "train-00000-of-01024", "mnist-test.tfrecord-00000-of-00001"})
    EXPECT_TRUE(is_tfrecord_name(name)) << name;
  for (const char* name : {"a.tar", "-of-1", "a-of-1", "a-1-of-", "a-x-of-2", "one-of-two"})
    EXPECT_FALSE(is_tfrecord_name(name)) << name;
  EXPECT_EQ(format_of("train-{00000..00009}-of-00010").name, "tfrecord");
}

}  // namespace
}  // namespace wellspring::test
