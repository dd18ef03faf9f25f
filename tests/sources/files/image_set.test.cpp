#include "sources/files/image_set.h"

#include "core/signals.h"
#include "tests/support/error_testing.h"
#include "tests/support/image_fixtures.h"
#include "tests/support/npz_fixtures.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

class ImageSetTest : public ::testing::Test {
 protected:
  void put(const std::string& path, const Bytes& bytes = {1}) {
    write_bytes(folder_.path() / path, bytes);
  }
  ImageSet open(const std::string& path = "", const std::string& split = "", std::int64_t limit = 0,
                OnError on_error = OnError::fail) {
    return ImageSet::open({folder_.path() / path, split, limit, on_error});
  }
  ImageSet skipping(const std::string& split = "") { return open("", split, 0, OnError::skip); }
  void link(const std::string& target, const std::string& path) {
    fs::create_symlink(target, folder_.path() / path);
  }
  /// Two classes with one image each.
  void put_two() {
    put("a/1.jpg");
    put("b/1.jpg");
  }
  std::string refused(const std::string& path = "", const std::string& split = "") {
    const std::string message = message_of(ErrorKind::data, [&] { open(path, split); });
    expect_parts(message, {folder_.path().string()});
    return message;
  }

  TemporaryFolder folder_;
};

TEST_F(ImageSetTest, OrdersClassesAndImagesByBytes) {
  for (const char* path : {"b/2.jpg", "b/10.PNG", "a/x.jpeg", "B/1.jpg", "10/1.jpg", "9/1.jpg"}) {
    put(path);
  }
  const ImageSet set = open();
  EXPECT_EQ(set.classes(), (std::vector<std::string>{"10", "9", "B", "a", "b"}));
  ASSERT_EQ(set.size(), 6);
  EXPECT_EQ(set.location(4), (folder_.path() / "b/10.PNG").string());
  EXPECT_EQ(set.label(4), 4);
  EXPECT_EQ(set.label(0), 0);
  EXPECT_EQ(set.images_of_class(4), 2);
}

TEST_F(ImageSetTest, IgnoresHiddenAndOtherFiles) {
  for (const char* path : {"a/1.jpg", "a/.hidden.jpg", "a/._1.jpg", ".git/x.jpg", "a/readme.txt",
                           "labels.csv", "__MACOSX/a/1.jpg"}) {
    put(path);
  }
  const ImageSet set = open();
  EXPECT_EQ(set.size(), 1);
  EXPECT_EQ(set.hidden_files(), 4);
  EXPECT_EQ(set.other_files(), 2);
}

TEST_F(ImageSetTest, FindsTheSplit) {
  for (const char* path : {"train/a/1.jpg", "train/b/1.jpg", "test/a/2.jpg", "test/b/2.jpg"}) {
    put(path);
  }
  EXPECT_EQ(open("", "test").location(0), (folder_.path() / "test/a/2.jpg").string());
  EXPECT_EQ(open("train").size(), 2);
  expect_parts(refused(), {"two folders deep", "test, train", "split:"});
  expect_parts(refused("", "valid"), {"no split 'valid'", "valid.tar"});
}

TEST_F(ImageSetTest, EntersASingleOuterFolder) {
  put("data/a/1.jpg");
  put("data/b/1.jpg");
  EXPECT_EQ(open().classes(), (std::vector<std::string>{"a", "b"}));
}

TEST_F(ImageSetTest, ReadsATarLikeAFolder) {
  TarWriter writer;
  writer.add("./train/", {});
  writer.add("./train/b/", {});
  writer.add("./train/b/2.jpg", {7, 8, 9});
  writer.add("./train/a/1.jpg", {5});
  writer.add("./test/a/1.jpg", {6});
  writer.add_special("./train/a/link.jpg", '2');
  put("x.tar", writer.finish());
  const ImageSet set = open("x.tar", "train");
  EXPECT_EQ(set.classes(), (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(set.size(), 2);
  EXPECT_EQ(set.location(1), (folder_.path() / "x.tar").string() + ": train/b/2.jpg");
  EXPECT_EQ(set.other_files(), 1);
  std::vector<std::uint8_t> bytes;
  set.read(1, bytes);
  EXPECT_EQ(bytes, (Bytes{7, 8, 9}));
  set.read(0, bytes);
  EXPECT_EQ(bytes, Bytes{5});
}

TEST_F(ImageSetTest, ReadsAZipLikeAFolder) {
  const std::string long_content(5000, 'x');
  for (const std::uint16_t method : {zip::kStored, zip::kDeflated}) {
    test::write_zip(folder_.path() / "x.zip",
                    {{"train/", ""},
                     {"train/b/2.jpg", long_content},
                     {"train/a/1.jpg", "one"},
                     {"test/a/1.jpg", "two"},
                     {"__MACOSX/train/a/._1.jpg", "?"}},
                    method);
    const ImageSet set = open("x.zip", "train");
    EXPECT_TRUE(set.is_zip());
    EXPECT_EQ(set.classes(), (std::vector<std::string>{"a", "b"}));
    ASSERT_EQ(set.size(), 2);
    EXPECT_EQ(set.location(1), (folder_.path() / "x.zip").string() + ": train/b/2.jpg");
    std::vector<std::uint8_t> bytes;
    set.read(1, bytes);
    EXPECT_EQ(bytes, Bytes(5000, 'x'));
    set.read(1, bytes, 100);
    EXPECT_EQ(bytes, Bytes(100, 'x'));
    set.read(0, bytes);
    EXPECT_EQ(bytes, (Bytes{'o', 'n', 'e'}));
  }
}

TEST_F(ImageSetTest, RefusesZeroBytesInNamesOfAZip) {
  test::write_zip(folder_.path() / "x.zip", {{std::string("a/1\0.jpg", 8), "x"}}, zip::kStored);
  expect_parts(refused("x.zip"), {"damaged zip archive", "a name contains a zero byte"});
}

TEST_F(ImageSetTest, RefusesDamagedMembersOfAZip) {
  for (const std::uint16_t method : {zip::kStored, zip::kDeflated, std::uint16_t{99}}) {
    test::write_zip(folder_.path() / "x.zip", {{"a/1.jpg", std::string(50, 'x') + "content"}},
                    method);
    std::string file = test::slurp(folder_.path() / "x.zip");
    ++file[40];  // within the member's content
    test::spill(folder_.path() / "x.zip", file);
    const ImageSet set = open("x.zip");
    std::vector<std::uint8_t> bytes;
    expect_parts(
        message_of(ErrorKind::data, [&] { set.read(0, bytes); }),
        {"x.zip: a/1.jpg: ", method == 99 ? "compressed with method 99" : "damaged member"});
  }
}

TEST_F(ImageSetTest, TakesAnArchiveOrItsUnpackedFolder) {
  TarWriter writer;
  writer.add("train/a/1.jpg", {5});
  put("packed/cifar10-train.tar", writer.finish());
  put("unpacked/train/a/1.jpg");
  put("named/cifar10-train/train/a/1.jpg");
  EXPECT_TRUE(open("packed/cifar10-train.tar").is_archive());
  EXPECT_TRUE(open("packed", "train").is_archive());
  EXPECT_EQ(open("unpacked/cifar10-train.tar").root(), folder_.path() / "unpacked/train");
  EXPECT_EQ(open("named/cifar10-train.tar").size(), 1);
  EXPECT_EQ(open("unpacked", "train").size(), 1);
  put("packed/other-train.tar", writer.finish());
  expect_parts(refused("packed", "train"),
               {"several archives match: cifar10-train.tar, other-train.tar"});
}

TEST_F(ImageSetTest, LimitsEveryClass) {
  for (const char* path : {"a/3.jpg", "a/1.jpg", "a/2.jpg", "b/1.jpg"}) put(path);
  const ImageSet set = open("", "", 2);
  ASSERT_EQ(set.size(), 3);
  EXPECT_EQ(set.location(1), (folder_.path() / "a/2.jpg").string());
  EXPECT_EQ(set.label(2), 1);
}

TEST_F(ImageSetTest, RefusesMissingPaths) {
  expect_parts(refused("nowhere"), {"nowhere"});
  expect_parts(refused("nowhere.tar"), {"nowhere.tar"});
}

TEST_F(ImageSetTest, RefusesFoldersWithoutImagesOrClasses) {
  expect_parts(refused(), {"no images"});
  put("notes.txt");
  expect_parts(refused(), {"no images", "1 other file ", "CLASS"});
  put("loose.jpg");
  expect_parts(refused(), {"loose.jpg is not in a class folder"});
}

TEST_F(ImageSetTest, RefusesEmptyClassFolders) {
  put("a/1.jpg");
  fs::create_directories(folder_.path() / "b");
  expect_parts(refused(), {"class folder 'b' has no images"});
  put("b/readme.txt");
  expect_parts(refused(), {"class folder 'b' has no images"});
  TarWriter writer;
  writer.add("a/1.jpg", {5});
  writer.add("b/", {});
  put("x/x.tar", writer.finish());
  expect_parts(refused("x/x.tar"), {"class folder 'b' has no images"});
}

TEST_F(ImageSetTest, RefusesImagesAtMixedDepths) {
  put("a/1.jpg");
  put("b/deep/1.jpg");
  expect_parts(refused(), {"b/deep/1.jpg", "2 folders, expected 1"});
}

// Must have the images of torchvision's ImageFolder in the same order: by folder, then by name.
TEST_F(ImageSetTest, IncludesSubfoldersOfClasses) {
  for (const char* path : {"a/2.jpg", "a/b/1.jpg", "a/B/c/1.jpg", "b/deep/1.jpg", "b/1.webp"})
    put(path);
  const ImageSet set = ImageSet::open({.path = folder_.path(), .subfolders = Subfolders::include});
  EXPECT_EQ(set.classes(), (std::vector<std::string>{"a", "b"}));
  const char* expected[] = {"a/2.jpg", "a/B/c/1.jpg", "a/b/1.jpg", "b/1.webp", "b/deep/1.jpg"};
  ASSERT_EQ(set.size(), 5);
  for (std::int64_t i = 0; i < set.size(); ++i)
    EXPECT_EQ(set.location(i), (folder_.path() / expected[i]).string());
}

// A single outer folder is a class, too.
TEST_F(ImageSetTest, IncludesSubfoldersBelowASplitOrArchive) {
  TarWriter writer;
  writer.add("train/a/deep/1.jpg", {5});
  writer.add("train/b/1.jpg", {6});
  put("x.tar", writer.finish());
  put("set/train/a/deep/1.jpg");
  put("set/train/b/1.jpg");
  const auto classes = [&](const std::string& path, const std::string& split) {
    return ImageSet::open(
               {.path = folder_.path() / path, .split = split, .subfolders = Subfolders::include})
        .classes();
  };
  EXPECT_EQ(classes("x.tar", "train"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(classes("set", "train"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(classes("set", ""), std::vector<std::string>{"train"});
  expect_parts(refused("set/train"), {"a/deep/1.jpg", "subfolders: include"});
}

TEST_F(ImageSetTest, ReportsImagesOfUnreadableFormats) {
  put_two();
  put("b/2.BMP");
  put("b/3.tiff");
  expect_parts(refused(), {"b/2.BMP: a BMP image", "JPEG, PNG, WebP", "mogrify -format png"});
  const ImageSet set = skipping();
  EXPECT_EQ(set.size(), 2);
  EXPECT_EQ(set.skipped(), 2);
  expect_parts(set.first_skipped(), {"b/2.BMP (a BMP image)"});
}

// Archives may have no entries for folders, but losing a class would change later labels.
TEST_F(ImageSetTest, RefusesToSkipAClassOfAnArchive) {
  test::write_zip(folder_.path() / "x.zip",
                  {{"a/1.bmp", "x"}, {"b/1.jpg", "x"}, {"c/deep/1.gif", "x"}}, zip::kStored);
  for (const Subfolders subfolders : {Subfolders::refuse, Subfolders::include}) {
    expect_parts(message_of(ErrorKind::data,
                            [&] {
                              (void)ImageSet::open({.path = folder_.path() / "x.zip",
                                                    .on_error = OnError::skip,
                                                    .subfolders = subfolders});
                            }),
                 {"class folder 'a' has no images", "2 skipped", "a/1.bmp (a BMP image)"});
  }
}

TEST_F(ImageSetTest, StopsListingAfterASignal) {
  put_two();
  std::int64_t listed = 0;
  const ImageSetOptions options{.path = folder_.path(),
                                .watch = [&](std::int64_t entries) { listed = entries; }};
  (void)ImageSet::open(options);
  EXPECT_EQ(listed, 4);
  request_interrupt();
  EXPECT_THROW((void)ImageSet::open(options), Interrupted);
  clear_interrupt();
}

// After every folder and every thousand entries.
TEST_F(ImageSetTest, ReportsEntriesWhileItLists) {
  for (int i = 0; i < 2400; ++i) put(fmt::format("{}/{:04}.jpg", i % 2, i));
  std::vector<std::int64_t> told;
  (void)ImageSet::open(
      {.path = folder_.path(), .watch = [&](std::int64_t entries) { told.push_back(entries); }});
  EXPECT_EQ(told, (std::vector<std::int64_t>{2, 1000, 1202, 2000, 2402}));
}

TEST_F(ImageSetTest, RefusesTheSameMemberTwice) {
  TarWriter writer;
  writer.add("a/1.jpg", {5});
  writer.add("./a/1.jpg", {6});
  put("x.tar", writer.finish());
  expect_parts(refused("x.tar"), {"duplicate entry a/1.jpg"});
}

TEST_F(ImageSetTest, RefusesToSkipAllImagesOfAClass) {
  for (const char* path : {"a/1.jpg", "b/1.jpg", "b/2.jpg"}) put(path);
  ImageSet set = open();
  set.remove({false, true, false});
  EXPECT_EQ(set.size(), 2);
  expect_parts(message_of(ErrorKind::data,
                          [&] {
                            set.remove({false, true});
                          }),
               {"class 'b' has no readable image"});
}

TEST_F(ImageSetTest, FollowsLinks) {
  put_two();
  put("elsewhere/more/2.jpg");
  fs::create_directories(folder_.path() / "set");
  for (const char* name : {"a", "b"}) link(std::string("../") + name, std::string("set/") + name);
  link("../elsewhere/more", "set/c");
  link("1.jpg", "a/2.jpg");
  EXPECT_EQ(open("set").classes(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(open("set").size(), 4);
}

TEST_F(ImageSetTest, RefusesBrokenLinksByName) {
  put_two();
  link("/gone/2.jpg", "a/2.jpg");
  link("3.jpg", "a/3.jpg");
  link("..", "b/upwards");
  expect_parts(refused(), {"/a/2.jpg: a broken link", "/gone/2.jpg", "on_error: skip"});
  fs::remove(folder_.path() / "a/2.jpg");
  expect_parts(refused(), {"/a/3.jpg: a broken link", "Too many levels"});
  fs::remove(folder_.path() / "a/3.jpg");
  expect_parts(refused(), {"/b/upwards: a link to a folder that contains it"});
  link("/gone", "notes");  // next to the class folders
  fs::remove(folder_.path() / "b/upwards");
  expect_parts(refused(), {"/notes: a broken link"});
}

TEST_F(ImageSetTest, SkipsBrokenLinks) {
  put_two();
  link("/gone/2.jpg", "a/2.jpg");
  link("3.jpg", "a/3.jpg");
  link("..", "b/upwards");
  link("/gone", "notes.txt");
  const ImageSet set = skipping();
  EXPECT_EQ(set.size(), 2);
  EXPECT_EQ(set.skipped(), 4);
  expect_parts(set.first_skipped(), {"/a/2.jpg (a broken link)"});
}

// Skipping the class would change the labels of later classes.
TEST_F(ImageSetTest, RefusesToSkipAnUnreachableClass) {
  put_two();
  link("/gone", "aa");
  expect_parts(message_of(ErrorKind::data, [&] { skipping(); }),
               {"class folder 'aa' has no images", "1 skipped", "aa (a broken link)"});
}

TEST_F(ImageSetTest, IgnoresBrokenLinksOutsideTheSplit) {
  for (const char* path : {"train/a/1.jpg", "test/a/2.jpg"}) put(path);
  link("/gone", "test/b");
  link("/gone", "train/a/.hidden.jpg");
  EXPECT_EQ(open("", "train").size(), 1);
  EXPECT_EQ(open("", "train").hidden_files(), 1);
}

// Opening a pipe would block until another process writes into it.
TEST_F(ImageSetTest, NeverOpensPipesAndDevices) {
  put_two();
  const std::string pipe = (folder_.path() / "a/2.jpg").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0666), 0);
  link("/dev/zero", "b/2.png");
  expect_parts(refused(), {"/a/2.jpg: a named pipe", "regular file", "on_error: skip"});
  const ImageSet set = skipping();
  EXPECT_EQ(set.size(), 2);
  EXPECT_EQ(set.skipped(), 2);
  fs::rename(pipe, folder_.path() / "a/control");  // no image extension
  fs::remove(folder_.path() / "b/2.png");
  EXPECT_EQ(open().other_files(), 1);
  fs::rename(folder_.path() / "a/control", folder_.path() / "x.tar");
  expect_parts(refused("x.tar"), {"x.tar: is a named pipe"});
}

/// Drops root's privileges, because root can read any folder.
class AsNobody {
 public:
  AsNobody() : before_(::geteuid()) {
    if (before_ == 0) became_ = ::seteuid(65534) == 0;
  }
  ~AsNobody() { EXPECT_TRUE(!became_ || ::seteuid(before_) == 0); }

 private:
  uid_t before_;
  bool became_ = false;
};

TEST_F(ImageSetTest, RefusesUnreadableFoldersByName) {
  put_two();
  put("a/locked/1.jpg");
  const fs::path locked = folder_.path() / "a/locked";
  fs::permissions(folder_.path(), fs::perms::all);
  fs::permissions(locked, fs::perms::none);
  {
    const AsNobody nobody;
    if (::faccessat(AT_FDCWD, locked.c_str(), R_OK, AT_EACCESS) == 0)
      GTEST_SKIP() << "this user can read every folder";
    expect_parts(refused(), {"/a/locked: the folder cannot be listed", "Permission denied"});
    EXPECT_EQ(skipping().skipped(), 1);
    EXPECT_EQ(skipping().size(), 2);
  }
  fs::permissions(folder_.path() / "a", fs::perms::none);
  {
    const AsNobody nobody;
    expect_parts(message_of(ErrorKind::data, [&] { skipping(); }),
                 {"class folder 'a' has no images", "a (the folder cannot be listed)"});
    expect_parts(refused("a"), {"/a: the folder cannot be listed", "check its permissions"});
    expect_parts(refused("a", "locked"), {"/a: the folder cannot be listed"});
  }
  for (const fs::path& path : {folder_.path() / "a", locked})
    fs::permissions(path, fs::perms::owner_all);
}

TEST_F(ImageSetTest, ReadsHardLinksOfArchives) {
  TarWriter writer;
  writer.add("a/1.jpg", {5});
  writer.add_link("b/1.jpg", "a/1.jpg");
  put("x.tar", writer.finish());
  const ImageSet set = open("x.tar");
  EXPECT_EQ(set.other_files(), 0);
  EXPECT_EQ(set.classes(), (std::vector<std::string>{"a", "b"}));
  std::vector<std::uint8_t> bytes;
  set.read(1, bytes);
  EXPECT_EQ(bytes, Bytes{5});
}

}  // namespace
}  // namespace wellspring::test
