#include "sources/files/tar.h"

#include "tests/support/error_testing.h"
#include "tests/support/image_fixtures.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace wellspring::test {
namespace {

class Tar : public ::testing::Test {
 protected:
  std::vector<TarMember> index(const Bytes& archive) {
    write_bytes(path_, archive);
    return read_tar_index(InputFile(path_));
  }
  std::string refused(const Bytes& archive) {
    const std::string message = message_of(ErrorKind::data, [&] { index(archive); });
    expect_parts(message, {path_.string()});
    return message;
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "a.tar";
};

const Bytes kContent = {1, 2, 3, 4, 5};

/// Updates the checksum of the first header: the sum of its bytes, with blanks in its own field.
void update_checksum(Bytes& archive) {
  std::fill(archive.begin() + 148, archive.begin() + 156, std::uint8_t{' '});
  const int sum = std::accumulate(archive.begin(), archive.begin() + 512, 0);
  char text[8];
  std::snprintf(text, sizeof(text), "%06o", static_cast<unsigned>(sum));
  std::copy(text, text + 7, archive.begin() + 148);
}

TEST_F(Tar, ListsMembersAndTheirContents) {
  TarWriter writer;
  writer.add("./top/", {});
  writer.add("./top/one.jpg", kContent);
  writer.add("top/two.jpg", Bytes(512, 9));
  writer.add_special("top/link.jpg", '2');
  writer.add("top/empty.jpg", {});
  const Bytes archive = writer.finish();
  const std::vector<TarMember> members = index(archive);
  ASSERT_EQ(members.size(), 5u);
  EXPECT_EQ(members[0].path, "top");
  EXPECT_EQ(members[0].kind, TarMemberKind::folder);
  EXPECT_EQ(members[1].path, "top/one.jpg");
  EXPECT_EQ(members[1].bytes, 5u);
  EXPECT_EQ(Bytes(archive.begin() + static_cast<std::ptrdiff_t>(members[1].offset),
                  archive.begin() + static_cast<std::ptrdiff_t>(members[1].offset + 5)),
            kContent);
  EXPECT_EQ(members[2].bytes, 512u);
  EXPECT_EQ(members[3].kind, TarMemberKind::other);
  EXPECT_EQ(members[4].bytes, 0u);
}

TEST_F(Tar, ReadsLongNamesOfEveryDialect) {
  const std::string path = fmt::format("{:d>90}/{:n>80}.jpg", "", "");
  for (const auto dialect :
       {TarWriter::LongNames::ustar_prefix, TarWriter::LongNames::gnu, TarWriter::LongNames::pax}) {
    TarWriter writer;
    writer.add(path, kContent, dialect);
    writer.add("short.jpg", kContent);  // an extension applies only to one member
    const std::vector<TarMember> members = index(writer.finish());
    ASSERT_EQ(members.size(), 2u);
    EXPECT_EQ(members[0].path, path);
    EXPECT_EQ(members[0].bytes, 5u);
    EXPECT_EQ(members[1].path, "short.jpg");
  }
}

TEST_F(Tar, ResolvesHardLinks) {
  const std::string path = fmt::format("{:d>90}/{:n>80}.jpg", "", "");
  for (const auto dialect : {TarWriter::LongNames::gnu, TarWriter::LongNames::pax}) {
    TarWriter writer;
    writer.add("./a/1.jpg", kContent);
    writer.add(path, {7}, dialect);
    writer.add_link("b/1.jpg", "a/1.jpg");
    writer.add_link("b/2.jpg", path, dialect);
    writer.add_link("b/3.jpg", "./b/1.jpg");  // a link to a link
    writer.add_link("b/nowhere.jpg", "a/9.jpg");
    writer.add_link("b/later.jpg", "c/1.jpg");
    writer.add_link("b/special.jpg", "c/link.jpg");
    writer.add_special("c/link.jpg", '2');
    writer.add("c/1.jpg", kContent);
    const std::vector<TarMember> members = index(writer.finish());
    ASSERT_EQ(members.size(), 10u);
    for (const auto& [link, file] : {std::pair{2u, 0u}, {3u, 1u}, {4u, 0u}}) {
      EXPECT_EQ(members[link].kind, TarMemberKind::file) << members[link].path;
      EXPECT_EQ(members[link].offset, members[file].offset);
      EXPECT_EQ(members[link].bytes, members[file].bytes);
    }
    for (const unsigned other : {5u, 6u, 7u, 8u})
      EXPECT_EQ(members[other].kind, TarMemberKind::other) << members[other].path;
    EXPECT_EQ(members[9].bytes, 5u);
  }
}

TEST_F(Tar, ReadsBinarySizes) {
  TarWriter writer;
  writer.add("a.jpg", kContent);
  Bytes archive = writer.finish();
  // GNU base-256: the top bit, then a big-endian number in the rest of the field.
  std::fill(archive.begin() + 124, archive.begin() + 136, std::uint8_t{0});
  archive[124] = 0x80;
  archive[135] = 5;
  update_checksum(archive);
  const std::vector<TarMember> members = index(archive);
  ASSERT_EQ(members.size(), 1u);
  EXPECT_EQ(members[0].bytes, 5u);
}

TEST_F(Tar, RefusesTruncatedArchives) {
  TarWriter writer;
  writer.add("a.jpg", Bytes(2000, 1));
  writer.add("b.jpg", Bytes(2000, 2));
  const Bytes whole = writer.finish();
  const auto cut = [&](std::size_t bytes) {
    return Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes));
  };
  // Cuts inside a member, inside a header, and between members.
  expect_parts(refused(cut(1000)), {"truncated within a.jpg"});
  expect_parts(refused(cut(2560 + 100)), {"truncated before its end mark"});
  expect_parts(refused(cut(2560)), {"truncated before its end mark"});
  expect_parts(refused({}), {"is empty"});
  EXPECT_EQ(index(cut(2 * 2560 + 512)).size(), 2u);  // one block of zeros can end an archive
}

TEST_F(Tar, RefusesDamagedHeaders) {
  TarWriter writer;
  writer.add("a.jpg", kContent);
  writer.add("b.jpg", kContent);
  Bytes archive = writer.finish();
  archive[1024 + 3] ^= 1;
  const std::string message = refused(archive);
  expect_parts(message, {"byte 1024", "checksum"});
}

TEST_F(Tar, RefusesOtherFiles) {
  expect_parts(refused({0x1f, 0x8b, 8, 0, 0, 0, 0}),
               {"not a tar or zip archive (it is compressed with gzip)", "gunzip"});
  expect_parts(refused(Bytes(5000, 'x')), {"not a tar or zip archive"});
  TarWriter sparse;
  sparse.add_special("a.jpg", 'S');
  expect_parts(refused(sparse.finish()), {"sparse"});
}

TEST_F(Tar, AppliesAnExtendedSizeToOneMemberOnly) {
  const std::string record = "10 size=5\n";
  TarWriter writer;
  writer.add("extension", Bytes(record.begin(), record.end()));
  writer.add("one.jpg", kContent);
  writer.add("two.jpg", Bytes(512, 9));
  Bytes archive = writer.finish();
  archive[156] = 'x';  // the first member becomes an extended header
  update_checksum(archive);
  const std::vector<TarMember> members = index(archive);
  ASSERT_EQ(members.size(), 2u);
  EXPECT_EQ(members[0].bytes, 5u);
  EXPECT_EQ(members[1].bytes, 512u);
}

TEST_F(Tar, RefusesMalformedExtensions) {
  for (const std::string record : {"12 path=", "x path=a\n", "999999 path=a\n", "5 pth\n"}) {
    TarWriter writer;
    writer.add("a.jpg", Bytes(record.begin(), record.end()));
    Bytes archive = writer.finish();
    archive[156] = 'x';  // the member becomes an extended header
    update_checksum(archive);
    SCOPED_TRACE(record);
    expect_parts(refused(archive), {"malformed"});
  }
}

}  // namespace
}  // namespace wellspring::test
