// NCCL is found on the loader's path and in PyPI's wheel, but never in the current folder.
#include "train/ranks/nccl_library.h"

#include "tests/support/error_testing.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <unistd.h>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;
using Files = std::vector<std::string>;

struct NcclLibrary : ::testing::Test {
  /// Puts the library in the wheel's place below a folder site-packages.
  std::string put_wheel(const fs::path& site) const {
    const fs::path folder = site / "nvidia/nccl/lib";
    fs::create_directories(folder);
    fs::copy_file(WELLSPRING_EMPTY_NCCL, folder / "libnccl.so.2");
    return (folder / "libnccl.so.2").string();
  }
  /// Wheel files; the loader's name comes first and is left out.
  static Files wheels(const fs::path& binary, const char* environment = nullptr) {
    Files files = nccl::library_files(binary, environment);
    EXPECT_EQ(files.at(0), "libnccl.so.2");
    files.erase(files.begin());
    return files;
  }

  TemporaryFolder folder;
};

TEST_F(NcclLibrary, IsFoundInTheWheelNextToTheModule) {
  const fs::path site = folder / "lib/python3.12/site-packages";
  const fs::path module = site / "wellspring/_core.abi3.so";
  EXPECT_EQ(wheels(module), Files{});
  const std::string file = put_wheel(site);
  EXPECT_EQ(wheels(module), Files{file});
  int version = 0;
  nccl::open_library(wheels(module)).version(&version);
  EXPECT_EQ(version, 21234);
}

TEST_F(NcclLibrary, IsFoundInTheProgramsAndTheActiveEnvironment) {
  const std::string first = put_wheel(folder / "a/lib/python3.12/site-packages");
  const std::string second = put_wheel(folder / "b/lib/python3.13/site-packages");
  const fs::path program = folder / "a/bin/wellspring";
  const std::string active = (folder / "b").string();
  EXPECT_EQ(wheels(program), Files{first});
  EXPECT_EQ(wheels(program, active.c_str()), (Files{first, second}));
  EXPECT_EQ(wheels("/usr/bin/wellspring", active.c_str()), Files{second});
  const std::string same = (folder / "a").string();
  EXPECT_EQ(wheels(program, same.c_str()), Files{first}) << "one file is listed once";
}

TEST_F(NcclLibrary, IsNeverTakenFromTheCurrentFolder) {
  put_wheel(folder.path() / "lib/python3.12/site-packages");
  put_wheel(folder.path());
  fs::copy_file(WELLSPRING_EMPTY_NCCL, folder / "libnccl.so.2");
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  for (const char* const environment : {"", "."})
    EXPECT_EQ(wheels("/usr/bin/wellspring", environment), Files{});
  for (const char* const binary : {"", "wellspring", "bin/wellspring", "wellspring/_core.abi3.so"})
    EXPECT_EQ(wheels(binary), Files{}) << binary;
  EXPECT_EQ(wheels((folder / "build/wellspring").string()), Files{});  // not a folder `bin`
  fs::current_path(before);
}

TEST_F(NcclLibrary, RefusesFilesThatAreNoLibrary) {
  const fs::path file = folder / "libnccl.so.2";
  const auto refused = [&] {
    return message_of(ErrorKind::device, [&] { nccl::open_library({file.string()}); });
  };
  expect_parts(refused(), {"NCCL, which several GPUs need, cannot be opened", file.string(),
                           "nvidia-nccl-cu13"});
  spill(file, "text");
  expect_parts(refused(), {"cannot be opened", "libnccl.so.2"});
  expect_parts(message_of(ErrorKind::device, [] { nccl::open_library({"libz.so.1"}); }),
               {"NCCL has no function ncclGetUniqueId"});
}

}  // namespace
}  // namespace wellspring::test
