#include "sources/datasets/cached_rows.h"

#include "sources/files/format.h"
#include "tests/sources/file_run.h"
#include "tests/support/error_testing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <filesystem>
#include <thread>
#include <unistd.h>
#include <vector>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

class CachedRowsTest : public ImageFolderTest {
 protected:
  std::unique_ptr<Dataset> open() const {
    return open_dataset({.path = root_, .settings = {}, .threads = 1});
  }
  std::unique_ptr<CachedRows> cached(const std::vector<CacheTier>& tiers,
                                     const NodeRanks& node = {}) const {
    return std::make_unique<CachedRows>(open(),
                                        CachedRows::Options{.tiers = tiers,
                                                            .where = "run.yaml: source 'photos'",
                                                            .node = node,
                                                            .key = "photos",
                                                            .threads = 2});
  }
  CacheTier tier(CacheMedium medium, RowForm form, double fraction = 1) const {
    CacheTier tier = {.medium = medium, .form = form, .fraction = fraction};
    if (medium == CacheMedium::disk) tier.path = disk_.path().string();
    return tier;
  }
  /// A separate job for each test process.
  std::string job() const { return folder_.path().string(); }

  TemporaryFolder disk_;
};

std::vector<std::uint8_t> all_rows(const Dataset& data) {
  const auto bytes = static_cast<std::size_t>(data.layout().bytes());
  std::vector<std::uint8_t> rows(static_cast<std::size_t>(data.size()) * bytes);
  const auto reader = data.reader();
  for (std::int64_t i = 0; i < data.size(); ++i) {
    reader->check(i);
    reader->read(i, rows.data() + static_cast<std::size_t>(i) * bytes);
  }
  return rows;
}

void hold(CachedRows& rows, std::vector<std::byte>& memory) {
  memory.resize(static_cast<std::size_t>(rows.held_bytes()));
  rows.hold(memory);
}

TEST_F(CachedRowsTest, AreReadFromEveryTier) {
  const std::vector<std::uint8_t> expected = all_rows(*open());
  for (const CacheMedium medium : {CacheMedium::ram, CacheMedium::shm, CacheMedium::disk})
    for (const RowForm form : {RowForm::decoded, RowForm::encoded}) {
      const auto rows = cached({tier(medium, form)});
      std::vector<std::byte> memory;
      hold(*rows, memory);
      EXPECT_EQ(all_rows(*rows), expected);
      EXPECT_EQ(memory.empty(), medium != CacheMedium::ram);
      EXPECT_TRUE(fs::is_empty(disk_.path())) << "a cache of one process has no name";
      // Without the files, only cached bytes are left; all bytes must be cached.
      const fs::path away = folder_.path() / "away";
      fs::rename(root_, away);
      std::vector<std::uint8_t> row(static_cast<std::size_t>(rows->layout().bytes()));
      const auto reader = rows->reader();
      for (std::int64_t i = 0; i < rows->size(); ++i) EXPECT_NO_THROW(reader->read(i, row.data()));
      fs::rename(away, root_);
    }
}

TEST_F(CachedRowsTest, BelongToOneTierEach) {
  const auto rows = cached({tier(CacheMedium::shm, RowForm::decoded, 1. / 3),
                            tier(CacheMedium::disk, RowForm::encoded, 1. / 3)});
  std::vector<std::byte> memory;
  hold(*rows, memory);
  EXPECT_EQ(all_rows(*rows), all_rows(*open()));
  expect_parts(rows->cache_summary(), {"33.3% of the decoded rows in /dev/shm (",
                                       "33.3% of the encoded rows in " + disk_.path().string()});
  fs::remove_all(root_);
  const auto reader = rows->reader();
  std::vector<std::uint8_t> row(static_cast<std::size_t>(rows->layout().bytes()));
  int cached = 0;
  for (std::int64_t i = 0; i < rows->size(); ++i) {
    try {
      reader->read(i, row.data());
      ++cached;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::data);
    }
  }
  EXPECT_EQ(cached, 14) << "of 21";
}

// Each rank fills a part; afterwards every rank has all rows.
TEST_F(CachedRowsTest, AreSharedByTheRanksOfANode) {
  const std::vector<std::uint8_t> expected = all_rows(*open());
  for (const CacheMedium medium : {CacheMedium::shm, CacheMedium::disk}) {
    constexpr int kRanks = 3;
    std::vector<std::unique_ptr<CachedRows>> ranks;
    std::vector<std::vector<std::byte>> memory(kRanks);
    for (int rank = 0; rank < kRanks; ++rank)
      ranks.push_back(
          cached({tier(medium, RowForm::decoded, 0.5), tier(medium, RowForm::encoded, 0.5)},
                 {job(), rank, kRanks}));
    {
      std::vector<std::jthread> threads;
      for (std::size_t rank = 0; rank < kRanks; ++rank)
        threads.emplace_back([&, rank] { hold(*ranks[rank], memory[rank]); });
    }
    EXPECT_TRUE(fs::is_empty(disk_.path()));
    fs::rename(root_, folder_.path() / "away");
    std::vector<std::uint8_t> row(static_cast<std::size_t>(ranks[0]->layout().bytes()));
    for (const auto& rows : ranks) {
      const auto reader = rows->reader();
      for (std::int64_t i = 0; i < rows->size(); ++i) {
        reader->read(i, row.data());
        ASSERT_TRUE(std::equal(row.begin(), row.end(),
                               expected.begin() + i * static_cast<std::int64_t>(row.size())));
      }
    }
    fs::rename(folder_.path() / "away", root_);
  }
}

// The jobs differ in their names alone; while the second runs, all files are the same image.
TEST_F(CachedRowsTest, AreNotSharedByTwoJobs) {
  const std::vector<std::uint8_t> expected = all_rows(*open());
  const fs::path original = folder_.path() / "original";
  fs::copy(root_, original, fs::copy_options::recursive);
  std::vector<fs::path> images;
  for (const auto& entry : fs::recursive_directory_iterator(root_))
    if (entry.is_regular_file()) images.push_back(entry.path());
  std::vector<std::byte> none;
  for (const CacheMedium medium : {CacheMedium::shm, CacheMedium::disk}) {
    const auto rank = [&](const char* name, int index) {
      return cached({tier(medium, RowForm::decoded)}, {job() + name, index, 2});
    };
    const auto first = rank("a", 0);
    hold(*first, none);  // its file keeps a name until the other rank opens it
    for (const fs::path& image : images)
      if (image != images[0]) fs::copy_file(images[0], image, fs::copy_options::overwrite_existing);
    const std::vector<std::uint8_t> alike = all_rows(*open());
    ASSERT_NE(alike, expected);
    const auto other = rank("b", 0), other_second = rank("b", 1);
    hold(*other, none);
    hold(*other_second, none);
    EXPECT_EQ(all_rows(*other_second), alike);
    fs::copy(original, root_, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    const auto second = rank("a", 1);
    hold(*second, none);
    EXPECT_EQ(all_rows(*second), expected);
    EXPECT_EQ(all_rows(*other), alike);
  }
}

// A rank that reads early meets rows that the others have not filled yet.
TEST_F(CachedRowsTest, AreReadFromTheFilesUntilTheyAreFilled) {
  const auto first = cached({tier(CacheMedium::shm, RowForm::decoded)}, {job(), 0, 2});
  std::vector<std::byte> memory;
  std::jthread late([&] {
    const auto second = cached({tier(CacheMedium::shm, RowForm::decoded)}, {job(), 1, 2});
    std::vector<std::byte> own;
    hold(*second, own);
    EXPECT_EQ(all_rows(*second), all_rows(*open()));
  });
  hold(*first, memory);
  EXPECT_EQ(all_rows(*first), all_rows(*open()));
}

TEST_F(CachedRowsTest, KeepTheirLimits) {
  CacheTier small = tier(CacheMedium::ram, RowForm::decoded);
  small.limit = 4096 * 0x1p-30;  // 21 rows of 432 bytes need more
  const std::string message = message_of(ErrorKind::config, [&] { cached({small}); });
  expect_parts(message, {"run.yaml: source 'photos': cache[0]: 21 decoded rows need 9.", "KiB",
                         "its limit is 4.0 KiB", "set fraction: 0."});
  small.fraction = std::stod(message.substr(message.find("fraction: ") + 10));
  EXPECT_GT(small.fraction, 0.25);
  EXPECT_LE(cached({small})->held_bytes(), 4096u);
  // Files that have grown would not fit.
  const auto rows = cached({tier(CacheMedium::shm, RowForm::encoded)});
  for (const auto& entry : fs::recursive_directory_iterator(root_))
    if (entry.is_regular_file()) fs::resize_file(entry.path(), entry.file_size() + 1);
  std::vector<std::byte> memory;
  expect_parts(message_of(ErrorKind::data, [&] { hold(*rows, memory); }),
               {"images", "the file has changed"});
}

TEST_F(CachedRowsTest, VerifiesRowsOnDisk) {
  const auto rows = cached({tier(CacheMedium::disk, RowForm::decoded)});
  std::vector<std::byte> memory;
  hold(*rows, memory);
  bool damaged = false;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (!fs::read_symlink(entry.path(), gone).string().starts_with(disk_.path().string())) continue;
    const int file = ::open(entry.path().c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_GE(file, 0);
    const off_t end = lseek(file, 0, SEEK_END);
    char byte = 0;
    // The last row ends up to 63 bytes before the end.
    ASSERT_EQ(pread(file, &byte, 1, end - 100), 1);
    byte = static_cast<char>(byte ^ 1);
    ASSERT_EQ(pwrite(file, &byte, 1, end - 100), 1);
    ::close(file);
    damaged = true;
  }
  ASSERT_TRUE(damaged);
  expect_parts(message_of(ErrorKind::data, [&] { all_rows(*rows); }),
               {disk_.path().string(), "a row of the cache is damaged", "checksum"});
}

/// Files with a cache in three tiers and some rows in none.
SourceSpec in_tiers(SourceSpec spec, const fs::path& disk) {
  spec.storage = Storage::streamed;
  spec.cache = {{.form = RowForm::encoded, .fraction = 0.25},
                {.medium = CacheMedium::shm, .fraction = 0.25},
                {.medium = CacheMedium::disk, .fraction = 0.25, .path = disk.string()}};
  return spec;
}

TEST_F(CachedRowsTest, GiveTheSameBatches) {
  for (const bool mixed : {false, true}) {
    const SourceSpec plain = with_storage(files(root_), Storage::streamed);
    EXPECT_EQ(trace(in_tiers(plain, disk_.path()), mixed), trace(plain, mixed));
    EXPECT_EQ(trace(in_tiers(plain, disk_.path()), mixed, 11), trace(plain, mixed, 11))
        << "resumed";
    const SourceSpec canvas = with(plain, "canvas", "16");
    const char* const augmented = "augment: [flip_x: 0.5, shift: 0.2]";
    EXPECT_EQ(trace(in_tiers(canvas, disk_.path()), mixed, 0, augmented),
              trace(canvas, mixed, 0, augmented));
  }
}

}  // namespace
}  // namespace wellspring::test
