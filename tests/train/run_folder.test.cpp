#include "train/run_folder.h"

#include "tests/train/training_testing.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace wellspring {
namespace {

TEST(RunFolderTest, ReportsAMovedOrReplacedFolder) {
  const test::TemporaryFolder folder;
  const RunFolder run(test::small_run(folder / "run"));
  run.expect_in_place();
  std::filesystem::rename(folder / "run", folder / "moved");
  const auto refusal = [&] {
    return test::message_of(ErrorKind::runtime, [&] { run.expect_in_place(); });
  };
  test::expect_parts(refusal(), {"run: the run folder was moved or replaced", "moved now"});
  std::filesystem::create_directory(folder / "run");
  test::expect_parts(refusal(), {"moved now", "move it back"});
  std::filesystem::remove(folder / "run");
  std::filesystem::rename(folder / "moved", folder / "run");
  run.expect_in_place();
}

}  // namespace
}  // namespace wellspring
