#include "sources/files/folder_listing.h"

#include "tests/support/temporary_folder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <sys/stat.h>
#include <vector>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

// As on network file systems whose folders have no types of entries (DT_UNKNOWN).
TEST(FolderListing, NeedsNoTypesInFolders) {
  const TemporaryFolder folder;
  for (const char* name : {"a/deep", "c"}) fs::create_directories(folder / name);
  for (const char* name : {"a/1.jpg", "a/deep/2.jpg"}) spill(folder / name, "x");
  ASSERT_EQ(::mkfifo((folder / "a/pipe").c_str(), 0600), 0);
  ASSERT_EQ(::mknod((folder / "a/socket").c_str(), S_IFSOCK | 0600, 0), 0);
  fs::create_symlink("1.jpg", folder / "a/again.jpg");
  fs::create_symlink("/gone/1.jpg", folder / "a/gone.jpg");
  fs::create_symlink("itself.jpg", folder / "a/itself.jpg");
  fs::create_symlink("pipe", folder / "a/to_pipe");
  fs::create_symlink("..", folder / "a/upwards");
  fs::create_symlink("a/deep", folder / "b");
  for (const EntryTypes types : {EntryTypes::listed, EntryTypes::by_stat}) {
    SCOPED_TRACE(types == EntryTypes::listed ? "listed" : "by_stat");
    const FolderListing found = list_folder(folder.path(), "", {}, types);
    EXPECT_EQ(found.files,
              (std::vector<std::string>{"a/1.jpg", "a/again.jpg", "a/deep/2.jpg", "b/2.jpg"}));
    EXPECT_EQ(found.folders, (std::vector<std::string>{"a", "a/deep", "b", "c"}));
    std::vector<std::string> unusable;
    for (const FolderListing::Unusable& entry : found.unusable)
      unusable.push_back(fmt::format("{}: {} ({})", entry.path, entry.problem, entry.why));
    EXPECT_EQ(unusable,
              (std::vector<std::string>{
                  "a/gone.jpg: a broken link ('/gone/1.jpg': No such file or directory)",
                  "a/itself.jpg: a broken link ('itself.jpg': Too many levels of symbolic links)",
                  "a/pipe: a named pipe (an image must be a regular file)",
                  "a/socket: a socket (an image must be a regular file)",
                  "a/to_pipe: a named pipe (an image must be a regular file)",
                  "a/upwards: a link to a folder that contains it (following it would list the "
                  "same files endlessly)"}));
  }
}

}  // namespace
}  // namespace wellspring::test
