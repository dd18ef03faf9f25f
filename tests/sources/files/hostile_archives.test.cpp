// Archives that are made to do harm: nothing is written, memory is bounded, and all that is read
// comes from the archive.
#include "core/text/text.h"
#include "sources/files/format.h"
#include "sources/files/image_set.h"
#include "tests/support/error_testing.h"
#include "tests/support/image_fixtures.h"
#include "tests/support/npz_fixtures.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>
#include <filesystem>
#include <numeric>
#include <random>
#include <set>
#include <sys/resource.h>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

/// The largest resident size of this process so far, bytes.
std::uint64_t peak_memory() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

class HostileArchives : public ::testing::Test {
 protected:
  HostileArchives() { fs::create_directory(folder_); }
  using Members = std::vector<std::pair<std::string, std::string>>;

  ImageSet open(const std::string& name) const { return ImageSet::open({folder_ / name, "", 0}); }
  static std::string content(const ImageSet& set, std::int64_t image) {
    std::vector<std::uint8_t> bytes;
    set.read(image, bytes);
    return {bytes.begin(), bytes.end()};
  }
  /// All files; the archives are in a folder inside, out of which their names point.
  std::set<std::string> files() const {
    std::set<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(root_.path()))
      found.insert(entry.path().string());
    return found;
  }
  /// Writes a shard of one sample, whose label file `name` claims a gibibyte and has it, as a hole.
  void write_shard_with_hole(const std::string& name) const {
    TarWriter writer;
    writer.add("a.jpg", {1});
    writer.add(name, {'0'});
    Bytes bytes = writer.body();
    const auto header = bytes.end() - 2 * kBlock;  // before the block of the content
    const std::string size = fmt::format("{:011o}", kGibibyte);
    std::copy(size.begin(), size.end(), header + 124);  // offsets of ustar's fields
    std::fill_n(header + 148, 8, ' ');
    const std::string sum = fmt::format("{:06o}", std::accumulate(header, header + kBlock, 0));
    std::copy_n(sum.c_str(), sum.size() + 1, header + 148);
    write_bytes(folder_ / "x.tar", bytes);
    fs::resize_file(folder_ / "x.tar", bytes.size() - kBlock + kGibibyte + 2 * kBlock);
  }
  std::string compressed(const Bytes& bytes) const {
    const std::string path = root_ / "part.gz";
    const gzFile file = gzopen(path.c_str(), "wb");
    EXPECT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())),
              static_cast<int>(bytes.size()));
    EXPECT_EQ(gzclose(file), Z_OK);
    return slurp(path);
  }
  /// Writes an archive and changes a 32-bit field of entry `entry` of its directory.
  void write_zip_with(const Members& members, std::uint16_t method, int entry, std::size_t field,
                      std::uint32_t value) const {
    const fs::path path = folder_ / "x.zip";
    write_zip(path, members, method);
    std::string file = slurp(path);
    std::size_t at = file.find("PK\1\2");
    for (; entry > 0; --entry) at = file.find("PK\1\2", at + 1);
    std::memcpy(file.data() + at + field, &value, sizeof value);  // little-endian, as the host
    spill(path, file);
  }

  TemporaryFolder root_;
  fs::path folder_ = root_ / "inside";
  static constexpr std::size_t kCompressed = 20, kSize = 24, kOffset = 42;  ///< offsets of fields
  static constexpr std::uint32_t kGibibyte = 1u << 30;
  static constexpr std::ptrdiff_t kBlock = 512;  ///< bytes per block of a tar archive
  /// Code that runs for the first time, and the allocator's own memory.
  static constexpr std::uint64_t kOverhead = std::uint64_t{16} << 20;
};

// As in a bomb of overlapping members (D. Fifield, WOOT 2019), but they are never all unpacked.
TEST_F(HostileArchives, ReadOverlappingMembersOfAZipOneAtATime) {
  for (const std::uint16_t method : {zip::kStored, zip::kDeflated}) {
    write_zip_with({{"a/1.jpg", "same"}, {"b/2.jpg", "same"}}, method, 1, kOffset, 0);
    const ImageSet set = open("x.zip");
    ASSERT_EQ(set.size(), 2);
    EXPECT_EQ(content(set, 0), "same");
    EXPECT_EQ(content(set, 1), "same") << "the second name has the first member's bytes";
  }
}

TEST_F(HostileArchives, RefuseAMemberOfAGibibyteInAMebibyte) {
  const std::string mebibyte(1 << 20, '\0');
  const auto refused = [&] {
    const ImageSet set = open("x.zip");
    const std::uint64_t before = peak_memory();
    const std::string message = message_of(ErrorKind::data, [&] { content(set, 0); });
    EXPECT_LT(peak_memory() - before, std::uint64_t{256} << 20);
    return message;
  };
  // Stored: the file is shorter than the member.
  write_zip_with({{"a/1.jpg", mebibyte}}, zip::kStored, 0, kSize, kGibibyte);
  expect_parts(refused(), {"x.zip", "the sizes of a member differ"});
  // Deflated: impossible for so few bytes.
  write_zip_with({{"a/1.jpg", mebibyte}}, zip::kDeflated, 0, kSize, kGibibyte);
  expect_parts(refused(), {"x.zip: a/1.jpg", "its size is impossible"});
  // Deflated, and possible: the member has 1.25 MiB, of which deflate can make 1.26 GiB.
  std::string noise(5 << 18, '\0');
  std::minstd_rand random(1);
  for (char& c : noise) c = static_cast<char>(random() >> 16);
  write_zip_with({{"a/1.jpg", noise}}, zip::kDeflated, 0, kSize, kGibibyte);
  expect_parts(refused(), {"x.zip: a/1.jpg", "1.0 GiB", "256.0 MiB"});
}

// At most a label is read, of up to 1 MiB (image_shards.cpp).
TEST_F(HostileArchives, RefuseALabelOfAGibibyte) {
  for (const auto& [name, label] : {std::pair("a.cls", "cls"), std::pair("a.json", "json.kind")}) {
    write_shard_with_hole(name);
    ASSERT_GT(fs::file_size(folder_ / "x.tar"), kGibibyte);
    const std::uint64_t before = peak_memory();
    expect_parts(message_of(ErrorKind::data,
                            [&, label = label] {
                              ImageSet::open_shards({.path = folder_ / "x.tar", .label = label});
                            }),
                 {std::string("x.tar: ") + name, "a label of 1"});
    EXPECT_LT(peak_memory() - before, (std::uint64_t{1} << 20) + kOverhead) << name;
  }
}

// The file is inflated in parts of 256 KiB (stored_array.cpp), and no further than its header says.
TEST_F(HostileArchives, InflateNoMoreOfAnIdxFileThanItsExtents) {
  constexpr int kMebibytes = 1024;
  Bytes images = {0, 0, 0x08, 3, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 4};
  images.resize(images.size() + 24);
  const Bytes labels = {0, 0, 0x08, 1, 0, 0, 0, 3, 0, 1, 2};
  std::string bomb;
  const std::string member = compressed(Bytes(std::size_t{1} << 20));
  for (int i = 0; i < kMebibytes; ++i) bomb += member;
  const auto refused = [&](const std::string& of_images, const std::string& of_labels) {
    spill(folder_ / "x-images-idx3-ubyte.gz", of_images);
    spill(folder_ / "x-labels-idx1-ubyte.gz", of_labels);
    const std::uint64_t before = peak_memory();
    const std::string message = message_of(ErrorKind::data, [&] {
      Bytes row(8);
      open_dataset({.path = folder_ / "x-images-idx3-ubyte.gz"})->reader()->read(0, row.data());
    });
    EXPECT_LT(peak_memory() - before, (std::uint64_t{2} << 18) + kOverhead);
    return message;
  };
  const std::string good = compressed(images), named = compressed(labels);
  expect_parts(refused(good + bomb, named), {"x-images-idx3-ubyte.gz", "damaged"});
  expect_parts(refused(good, named + bomb), {"x-labels-idx1-ubyte.gz", "damaged"});
  // Extents of a gibibyte, which deflate cannot make of so few bytes.
  const Bytes large = {0, 0, 0x08, 3, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 4, 0};
  expect_parts(refused(compressed(large), named),
               {"x-images-idx3-ubyte.gz", "too short for its size"});
}

TEST_F(HostileArchives, WriteNothingWhereTheirNamesPoint) {
  const std::string outside = "../outside/1.jpg";
  write_zip(folder_ / "x.zip", {{"a/1.jpg", "one"}, {outside, "two"}, {"/etc/3.jpg", "three"}},
            zip::kStored);
  TarWriter writer;
  writer.add("a/1.jpg", {1});
  writer.add(outside, {2});
  writer.add("/etc/3.jpg", {3});
  write_bytes(folder_ / "x.tar", writer.finish());
  const std::set<std::string> before = files();
  for (const char* const name : {"x.zip", "x.tar"}) {
    SCOPED_TRACE(name);
    const ImageSet set = open(name);
    EXPECT_EQ(set.classes(), (std::vector<std::string>{"a", "etc"})) << "a name with .. is hidden";
    ASSERT_EQ(set.size(), 2);
    EXPECT_EQ(content(set, 0).size(), name == std::string("x.zip") ? 3u : 1u);
    EXPECT_EQ(content(set, 1), name == std::string("x.zip") ? "three" : "\3") << "from the archive";
  }
  EXPECT_EQ(files(), before);
}

TEST_F(HostileArchives, FollowNoLinks) {
  spill(root_ / "secret", "outside");
  TarWriter writer;
  writer.add("a/1.jpg", {1});
  writer.add_special("a/symbolic.jpg", '2');
  writer.add_link("b/outside.jpg", "../secret");
  writer.add_link("b/absolute.jpg", (root_ / "secret").string());
  writer.add("b/2.jpg", {2});
  write_bytes(folder_ / "x.tar", writer.finish());
  const std::set<std::string> before = files();
  const ImageSet set = open("x.tar");
  ASSERT_EQ(set.size(), 2) << "links to other files are left out";
  EXPECT_EQ(set.other_files(), 3);
  EXPECT_EQ(content(set, 0) + content(set, 1), "\1\2");
  EXPECT_EQ(files(), before);
}

}  // namespace
}  // namespace wellspring::test
