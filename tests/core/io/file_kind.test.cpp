#include "core/io/file_kind.h"

#include "core/io/files.h"
#include "tests/support/error_testing.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <string>

namespace wellspring {
namespace {

using namespace std::string_literals;

FileKind kind_of(const std::string& bytes) {
  return file_kind(std::span(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
}

/// The beginning of a zip archive whose first member has this name.
std::string zip(const std::string& name) {
  std::string head = "PK\3\4"s + std::string(22, '\0');
  head += static_cast<char>(name.size());
  return head + std::string(3, '\0') + name + "content";
}

TEST(FileKind, RecognisesFilesByTheirFirstBytes) {
  EXPECT_EQ(kind_of("\xff\xd8\xff\xe0"), FileKind::jpeg);
  EXPECT_EQ(kind_of("RIFF\1\2\3\4WEBPVP8 "), FileKind::webp);
  EXPECT_EQ(kind_of("GIF89a"), FileKind::gif);
  EXPECT_EQ(kind_of("II*\0\10"s), FileKind::tiff);
  EXPECT_EQ(kind_of("P6\n2 2\n255\n"), FileKind::netpbm);
  EXPECT_EQ(kind_of("BM\1\2\0\0\0\0\0\0\66\0\0\0\50\0\0\0"s), FileKind::bmp);
  EXPECT_EQ(kind_of("\0\0\0\x1c"s + "ftypavif"), FileKind::avif);
  EXPECT_EQ(kind_of(std::string(257, 'x') + "ustar"), FileKind::tar);
  EXPECT_EQ(kind_of("\x93NUMPY\1"), FileKind::npy);
  EXPECT_EQ(kind_of("\x50\0\0\0\0\0\0\0{\"a\""s), FileKind::safetensors);
  EXPECT_EQ(kind_of("\x80\4\x95"), FileKind::pickle);
  EXPECT_EQ(kind_of("\x80\2\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."), FileKind::pytorch);
  EXPECT_EQ(kind_of("\n<!DOCTYPE HTML><html>"), FileKind::web_page);
  EXPECT_EQ(kind_of("version https://git-lfs.github.com/spec/v1"), FileKind::git_lfs);
}

TEST(FileKind, DistinguishesKindsOfZipArchives) {
  EXPECT_EQ(kind_of(zip("x.npy")), FileKind::npz);
  EXPECT_EQ(kind_of(zip("resnet/data.pkl")), FileKind::pytorch);
  EXPECT_EQ(kind_of(zip("train/cat/1.jpg")), FileKind::zip);
  EXPECT_EQ(kind_of("PK\3\4"), FileKind::zip);
}

TEST(FileKind, DoesNotGuessFromText) {
  for (const std::string text :
       {"", "B", "BM", "BMW drives", "PK", "P", "P6x", "{\"a\": 1}", "<a>"})
    EXPECT_EQ(kind_of(text), FileKind::unknown) << text;
}

TEST(FileKind, NamesEveryKind) {
  for (int kind = 0; kind <= static_cast<int>(FileKind::pdf); ++kind)
    EXPECT_FALSE(kind_name(static_cast<FileKind>(kind)).empty()) << kind;
}

TEST(FileKind, RefusesOtherKinds) {
  const test::TemporaryFolder folder;
  const auto write = [&](const std::string& bytes) {
    test::spill(folder / "f", bytes);
    return InputFile(folder / "f");
  };
  test::expect_parts(
      test::message_of(ErrorKind::data,
                       [&] {
                         refuse_other_kinds(write(zip("a/data.pkl")), {FileKind::npz},
                                            "an .npz archive");
                       }),
      {"/f: not an .npz archive (it is a PyTorch checkpoint)", "scripts/torch-weights"});
  refuse_other_kinds(write(zip("a.npy")), {FileKind::npz}, "an .npz archive");
  test::expect_parts(
      test::message_of(ErrorKind::data,
                       [&] { refuse_other_kinds(write(""), {FileKind::npz}, "an .npz archive"); }),
      {"the file is empty", "it should be an .npz archive"});
  refuse_other_kinds(write("text"), {FileKind::npz}, "an .npz archive");
}

}  // namespace
}  // namespace wellspring
