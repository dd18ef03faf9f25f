// WebDataset shards: samples, labels, patterns and refusals.
#include "sources/files/image_set.h"
#include "sources/files/shard_names.h"
#include "tests/support/error_testing.h"
#include "tests/support/image_fixtures.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

Bytes text(const std::string& value) {
  return {value.begin(), value.end()};
}

struct Shards : ::testing::Test {
  using Members = std::vector<std::pair<std::string, std::string>>;

  void put(const std::string& name, const Members& members) const {
    TarWriter writer;
    for (const auto& [path, content] : members) writer.add(path, text(content));
    write_bytes(folder / name, writer.finish());
  }
  ImageSet open(const std::string& name, ShardOptions options = {}) const {
    options.path = folder / name;
    return ImageSet::open_shards(options);
  }
  std::string refused(const Members& members, const ShardOptions& options = {}) const {
    put("x.tar", members);
    return message_of(ErrorKind::data, [&] { open("x.tar", options); });
  }
  static std::vector<std::int32_t> labels(const ImageSet& set) {
    std::vector<std::int32_t> all;
    for (std::int64_t i = 0; i < set.size(); ++i) all.push_back(set.label(i));
    return all;
  }
  static std::string bytes(const ImageSet& set, std::int64_t image) {
    std::vector<std::uint8_t> read;
    set.read(image, read);
    return {read.begin(), read.end()};
  }

  TemporaryFolder folder;
};

TEST_F(Shards, KeepTheOrderOfTheirSamples) {
  put("s-00.tar", {{"d/b.jpg", "one"}, {"d/b.cls", "2\n"}, {"d/a.cls", "0"}, {"d/a.PNG", "two"}});
  put("s-01.tar", {{"b.json", R"({"n": 1})"}, {"b.cls", " 2"}, {"b.jpg", "three"}});
  const ImageSet set = open("s-{00..01}.tar");
  EXPECT_EQ(set.classes(), (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_EQ(labels(set), (std::vector<std::int32_t>{2, 0, 2}));
  EXPECT_EQ(bytes(set, 0) + bytes(set, 1) + bytes(set, 2), "onetwothree");
  EXPECT_EQ(set.location(2), (folder / "s-01.tar").string() + ": b.jpg");
  EXPECT_EQ(set.archives(), 2u);
  EXPECT_EQ(labels(open("", {.limit_per_class = 1})), (std::vector<std::int32_t>{2, 0}));
  EXPECT_EQ(open("s-01.tar", {.labelled = false}).classes().size(), 1u);
}

TEST_F(Shards, TakeNamesFromTextsFilesAndJson) {
  put("x.tar", {{"1.jpg", ""},
                {"1.cls", "dog"},
                {"1.json", R"({"kind": "b", "id": 7})"},
                {"2.jpg", ""},
                {"2.cls", "cat"},
                {"2.json", R"({"kind": "a", "id": 3})"}});
  EXPECT_EQ(open("x.tar").classes(), (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(labels(open("x.tar")), (std::vector<std::int32_t>{1, 0}));
  EXPECT_EQ(labels(open("x.tar", {.label = "json.kind"})), (std::vector<std::int32_t>{1, 0}));
  EXPECT_EQ(labels(open("x.tar", {.label = "json.id"})), (std::vector<std::int32_t>{7, 3}));
  write_bytes(folder / "names.txt", text("cow\ndog\ncat\n"));
  const ImageSet set = open("x.tar", {.classes = folder / "names.txt"});
  EXPECT_EQ(labels(set), (std::vector<std::int32_t>{1, 2}));
  EXPECT_EQ(set.classes().size(), 3u);
}

TEST_F(Shards, RefuseBadSamplesWithTheirName) {
  const Members two = {{"a.left.jpg", ""}, {"a.right.jpg", ""}, {"a.cls", "0"}};
  expect_parts(refused(two), {"x.tar: a: several images", "left.jpg, right.jpg", "set image:"});
  EXPECT_EQ(open("x.tar", {.image = "right.jpg"}).size(), 1);
  expect_parts(refused({{"a.cls", "0"}}), {"a: no image", "it has cls"});
  expect_parts(refused({{"a.jpg", ""}}), {"a: no cls file with the label", "it has jpg"});
  expect_parts(refused({{"a.jpg", ""}, {"a.JPG", ""}}), {"duplicate entry a.JPG"});
  expect_parts(refused({{"a.jpg", ""}, {"a.cls", "-1"}}), {"label '-1'", "0 to"});
  expect_parts(refused({{"a.jpg", ""}, {"a.cls", "99999999999"}}), {"label '99999999999'"});
  expect_parts(refused({{"a.jpg", ""}, {"a.cls", "x\ny"}}), {"not a label"});
  for (const char* const odd : {"20000000000000000000", "3.0", "+3", "cat"})
    expect_parts(refused({{"a.jpg", ""}, {"a.cls", "1"}, {"b.jpg", ""}, {"b.cls", odd}}),
                 {odd, "other labels are whole numbers"});
  expect_parts(refused({{"a.jpg", ""}, {"a.json", "{}"}}, {.label = "json"}), {"json.KEY"});
  expect_parts(refused({{"README", ""}}), {"no samples"});
  const ShardOptions by_kind = {.label = "json.kind"};
  expect_parts(refused({{"a.jpg", ""}, {"a.json", R"({"kin": 1})"}}, by_kind),
               {"no key 'kind'", "did you mean 'kin'?"});
  expect_parts(refused({{"a.jpg", ""}, {"a.json", "[1"}}, by_kind), {"not a JSON object"});
  expect_parts(refused({{"a.jpg", ""}, {"a.json", R"({"kind": 1.5})"}}, by_kind),
               {"neither a whole number nor a string"});
  put("x.tar", {{"a.cls", "0"}, {"b.jpg", ""}, {"b.cls", "0"}});
  const ImageSet skipping = open("x.tar", {.on_error = OnError::skip});
  EXPECT_EQ(skipping.size(), 1);
  EXPECT_EQ(skipping.skipped(), 1);
  expect_parts(skipping.first_skipped(), {"a: no image"});
}

TEST_F(Shards, ExpandPatterns) {
  const auto names = [](const char* pattern) {
    std::vector<std::string> all;
    for (const fs::path& path : shard_files(pattern, &is_tar_name)) all.push_back(path.string());
    return all;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names("a-{08..10}.tar"), (Names{"a-08.tar", "a-09.tar", "a-10.tar"}));
  EXPECT_EQ(names("{x,yz}-{0..1}.tar"), (Names{"x-0.tar", "x-1.tar", "yz-0.tar", "yz-1.tar"}));
  EXPECT_EQ(names("plain.tar"), (Names{"plain.tar"}));
  for (const char* bad : {"{0..1.tar", "}0{.tar", "{3..1}.tar", "{a..b}.tar", "{0..100000}.tar",
                          "{0..999}{0..999}.tar"})
    expect_parts(message_of(ErrorKind::data, [&] { shard_files(bad, &is_tar_name); }),
                 {bad, "not a pattern of shards"});
  write_bytes(folder / "none/readme.txt", {1});
  expect_parts(message_of(ErrorKind::data, [&] { shard_files(folder / "none", &is_tar_name); }),
               {"no shards"});
}

}  // namespace
}  // namespace wellspring::test
