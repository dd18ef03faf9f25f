#include "generators/table_cache.h"

#include "core/error.h"
#include "core/io/files.h"
#include "tests/support/environment_variable.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

namespace wellspring {
namespace {

namespace fs = std::filesystem;

const TableKey kKey = {"ifs", 3, "categories", "rate: 0.2"};

std::vector<std::byte> bytes(std::size_t count, int value) {
  return std::vector<std::byte>(count, static_cast<std::byte>(value));
}

/// How often the table was computed, and the result of get().
struct Asked {
  int computed = 0;
  std::vector<std::byte> table;
};
Asked ask(TableCache& cache, const TableKey& key = kKey, std::size_t count = 1000) {
  Asked asked;
  asked.table = cache.get(key, [&] {
    ++asked.computed;
    return bytes(count, 7);
  });
  return asked;
}

TEST(TableCache, ComputesOnce) {
  const test::TemporaryFolder folder;
  TableCache cache(folder.path() / "made" / "when needed");
  EXPECT_EQ(ask(cache).computed, 1);
  TableCache later(folder.path() / "made" / "when needed");
  const Asked again = ask(later);
  EXPECT_EQ(again.computed, 0);
  EXPECT_EQ(again.table, bytes(1000, 7));
  EXPECT_TRUE(cache.notes().empty() && later.notes().empty());
}

TEST(TableCache, DistinguishesEveryPartOfTheKey) {
  const test::TemporaryFolder folder;
  TableCache cache(folder.path());
  ask(cache);
  for (const TableKey& other : std::vector<TableKey>{{"ifs2", 3, "categories", "rate: 0.2"},
                                                     {"ifs", 4, "categories", "rate: 0.2"},
                                                     {"ifs", 3, "windows", "rate: 0.2"},
                                                     {"ifs", 3, "categories", "rate: 0.3"}}) {
    EXPECT_NE(cache.file_of(other), cache.file_of(kKey));
    EXPECT_EQ(ask(cache, other).computed, 1);
  }
  EXPECT_EQ(ask(cache).computed, 0);
}

TEST(TableCache, StoresAnEmptyTable) {
  const test::TemporaryFolder folder;
  TableCache cache(folder.path());
  EXPECT_EQ(ask(cache, kKey, 0).computed, 1);
  EXPECT_EQ(ask(cache, kKey, 0).computed, 0);
}

TEST(TableCache, ReplacesAndReportsDamagedFiles) {
  const test::TemporaryFolder folder;
  TableCache first(folder.path());
  ask(first);
  const fs::path file = first.file_of(kKey);
  const std::vector<std::byte> whole = read_bytes(file);
  auto flipped = whole, shorter = whole;
  flipped[whole.size() / 2] ^= std::byte{1};
  shorter.pop_back();
  for (const auto& damaged : {flipped, shorter, bytes(3, 0), bytes(0, 0)}) {
    write_file(file, damaged);
    TableCache cache(folder.path());
    const Asked asked = ask(cache);
    EXPECT_EQ(asked.computed, 1);
    EXPECT_EQ(asked.table, bytes(1000, 7));
    ASSERT_EQ(cache.notes().size(), 1u);
    EXPECT_NE(cache.notes()[0].find(file.string()), std::string::npos);
    EXPECT_NE(cache.notes()[0].find("computed again"), std::string::npos);
    EXPECT_EQ(read_bytes(file), whole);
  }
}

TEST(TableCache, ReplacesTheFileOfAnotherTable) {
  const test::TemporaryFolder folder;
  TableCache cache(folder.path());
  ask(cache);
  const TableKey other = {"ifs", 3, "windows", ""};
  fs::copy_file(cache.file_of(kKey), cache.file_of(other));
  EXPECT_EQ(ask(cache, other).computed, 1);
  EXPECT_EQ(cache.notes().size(), 1u);
}

// Puts a file in place of the folder: unlike permissions, this also stops root.
TEST(TableCache, WorksWithoutAUsableFolder) {
  const test::TemporaryFolder folder;
  write_file(folder.path() / "file", "x");
  TableCache cache(folder.path() / "file" / "cache");
  for (int round = 1; round <= 2; ++round) {
    const Asked asked = ask(cache);
    EXPECT_EQ(asked.computed, 1);
    EXPECT_EQ(asked.table, bytes(1000, 7));
    EXPECT_EQ(cache.notes().size(), static_cast<std::size_t>(round));
  }
  EXPECT_NE(cache.notes()[0].find("cannot be stored"), std::string::npos) << cache.notes()[0];
}

TEST(TableCache, StoresNothingWithoutAFolder) {
  TableCache cache("");
  EXPECT_EQ(ask(cache).computed, 1);
  EXPECT_EQ(ask(cache).computed, 1);
  EXPECT_TRUE(cache.notes().empty());
}

TEST(TableCache, PassesExceptionsThrough) {
  const test::TemporaryFolder folder;
  TableCache cache(folder.path());
  EXPECT_THROW(cache.get(kKey, []() -> std::vector<std::byte> { throw std::runtime_error("no"); }),
               std::runtime_error);
  EXPECT_EQ(ask(cache).computed, 1) << "nothing must have been stored";
}

TEST(TableCache, ReadsItsFolderFromTheEnvironment) {
  const test::EnvironmentVariable home("HOME", "/h");
  const test::EnvironmentVariable none("WELLSPRING_CACHE", nullptr),
      no_xdg("XDG_CACHE_HOME", nullptr);
  EXPECT_EQ(TableCache().folder(), "/h/.cache/wellspring");
  const test::EnvironmentVariable xdg("XDG_CACHE_HOME", "/x");
  EXPECT_EQ(TableCache().folder(), "/x/wellspring");
  const test::EnvironmentVariable own("WELLSPRING_CACHE", "/own");
  EXPECT_EQ(TableCache().folder(), "/own");
}

}  // namespace
}  // namespace wellspring
