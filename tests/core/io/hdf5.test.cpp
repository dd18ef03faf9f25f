#include "core/io/hdf5.h"

#include "core/error.h"
#include "tests/support/error_testing.h"
#include "tests/support/file_size_limit.h"
#include "tests/support/temporary_folder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
// libhdf5 leaks a few hundred bytes when it stops reading at a damaged header.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:H5FL_";
}
#endif

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kRows = 1000;

std::vector<float> numbers() {
  std::vector<float> x(3 * kRows);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i)) * 1e30f;
  x[0] = std::numeric_limits<float>::quiet_NaN();
  x[1] = std::numeric_limits<float>::denorm_min();
  x[2] = -0.0f;
  return x;
}

/// Writes x [rows, 3], label [rows], growing [rows, 3], nothing [rows, 0], text, and attributes.
void write_all(const fs::path& path, const Compression& compression = {}) {
  const std::vector<float> x = numbers();
  std::vector<std::int32_t> label(kRows);
  std::iota(label.begin(), label.end(), -5);
  Hdf5Writer file(path, compression);
  const auto x_array = file.open("x", {ElementType::f32, {kRows, 3}});
  const auto label_array = file.open("label", {ElementType::i32, {kRows}});
  const auto growing = file.open_growing("growing", {ElementType::f32, {0, 3}});
  file.open("nothing", {ElementType::f32, {kRows, 0}});
  file.set(x_array, "units", std::string("MeV"));
  for (std::size_t row = 0; row < kRows;) {
    const std::size_t count = std::min<std::size_t>(kRows - row, 7);
    file.append(x_array, bytes_of(std::span(x).subspan(3 * row, 3 * count)));
    file.append(growing, bytes_of(std::span(x).subspan(3 * row, 3 * count)));
    file.append(label_array, bytes_of(std::span<const std::int32_t>(label).subspan(row, count)));
    row += count;
  }
  file.set("seed", std::int64_t{7});
  file.set("share", 0.25);
  file.add_text("metadata", "{\"caf\xc3\xa9\": 1}");
  file.commit();
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return std::ranges::equal(std::as_bytes(std::span(a)), std::as_bytes(std::span(b)));
}

class Hdf5Compressed : public testing::TestWithParam<const char*> {
 protected:
  static Compression compression() { return compression_from_text(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(All, Hdf5Compressed, testing::Values("gzip:1", "lz4", "zstd:19"));

void expect_round_trip(const Compression& compression) {
  const TemporaryFolder folder;
  write_all(folder / "a.h5", compression);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a.h5"});
  const Hdf5File file(folder / "a.h5");
  EXPECT_EQ(file.names(),
            (std::vector<std::string>{"growing", "label", "metadata", "nothing", "x"}));
  for (const char* name : {"x", "growing"}) {
    const Hdf5Array array = file.array(name);
    EXPECT_EQ(array.numbers(), Hdf5Array::Numbers::real);
    EXPECT_EQ(array.bits(), 32);
    ASSERT_EQ(array.shape(), (std::vector<std::int64_t>{kRows, 3}));
    std::vector<float> x(3 * kRows);
    array.read(0, kRows, x.data());
    EXPECT_TRUE(same_bits(x, numbers())) << name;
    array.read(990, 10, x.data());
    EXPECT_EQ(x[29], numbers().back());
  }
  EXPECT_EQ(file.array("x").text_attribute("units"), "MeV");
  EXPECT_EQ(file.array("x").text_attribute("unit"), std::nullopt);
  std::vector<std::int64_t> label(kRows);
  file.array("label").read(0, kRows, label.data());
  EXPECT_EQ(label.back(), kRows - 6);
  EXPECT_EQ(file.array("nothing").shape(), (std::vector<std::int64_t>{kRows, 0}));
  EXPECT_EQ(file.text("metadata"), "{\"caf\xc3\xa9\": 1}");
}

TEST(Hdf5, RoundTripsBitForBit) {
  expect_round_trip({});
}

TEST_P(Hdf5Compressed, RoundTripsBitForBit) {
  expect_round_trip(compression());
}

TEST(Hdf5, WritesEqualFilesForEqualArrays) {
  const TemporaryFolder folder;
  write_all(folder / "a.h5");
  write_all(folder / "b.h5");
  EXPECT_EQ(slurp(folder / "a.h5"), slurp(folder / "b.h5"));
}

TEST(Hdf5, KeepsTheOldFileWithoutACommit) {
  const TemporaryFolder folder;
  const std::vector<float> x = numbers();
  spill(folder / "old.h5", "older");
  for (const char* name : {"new.h5", "old.h5"}) {
    Hdf5Writer file(folder / name);
    file.append(file.open("x", {ElementType::f32, {2 * kRows, 3}}), bytes_of(x));
    EXPECT_THROW(file.commit(), std::logic_error) << "must refuse incomplete arrays";
  }
  EXPECT_EQ(folder.names(), std::vector<std::string>{"old.h5"});
  EXPECT_EQ(slurp(folder / "old.h5"), "older");
  write_all(folder / "old.h5");
  EXPECT_EQ(Hdf5File(folder / "old.h5").array("x").shape()[0], kRows);
}

// The disk fills up either while arrays are written or when the file is closed.
TEST(Hdf5, ReportsAFullDisk) {
  const TemporaryFolder folder;
  const std::vector<float> x = numbers();
  for (const rlim_t most : {100, 9000}) {
    const std::string message = message_of(ErrorKind::runtime, [&] {
      const test::FileSizeLimit full(most);
      Hdf5Writer file(folder / "a.h5");
      const auto array = file.open("x", {ElementType::f32, {kRows, 3}});
      file.append(array, bytes_of(x));
      file.commit();
    });
    expect_parts(message, {"a.h5: cannot write", "File too large"});
    EXPECT_TRUE(folder.names().empty());
  }
  write_all(folder / "a.h5");  // libhdf5 must still work after the failure
  EXPECT_EQ(Hdf5File(folder / "a.h5").names().size(), 5u);
}

TEST(Hdf5, RefusesAbsentNamesAndSuggestsTheNearestOne) {
  const TemporaryFolder folder;
  write_all(folder / "a.h5");
  const Hdf5File file(folder / "a.h5");
  expect_parts(message_of(ErrorKind::data, [&] { file.array("lable"); }),
               {"a.h5: 'lable' is not in the file", "did you mean 'label'?"});
  expect_parts(message_of(ErrorKind::data, [&] { file.array("metadata"); }),
               {"'metadata' contains strings"});
  expect_parts(message_of(ErrorKind::data, [&] { file.text("x"); }),
               {"'x' is not a readable string"});
  expect_parts(message_of(ErrorKind::data, [&] { Hdf5File(folder / "b.h5"); }),
               {"b.h5: no such file"});
  spill(folder / "b.h5", "PK\3\4 something else");
  expect_parts(message_of(ErrorKind::data, [&] { Hdf5File(folder / "b.h5"); }),
               {"b.h5: not an HDF5 file"});
}

/// Reads the whole file. Returns false on a data error; other errors fail the test.
bool reads(const fs::path& path) {
  try {
    const Hdf5File file(path);
    for (const std::string& name : file.names()) {
      if (name == "metadata") {
        file.text(name);
        continue;
      }
      const Hdf5Array array = file.array(name);
      if (array.shape()[0] != kRows || array.row_elements() > 3 || array.row_elements() < 0)
        continue;
      std::vector<float> x(3 * kRows);
      array.read(0, kRows, x.data());
    }
    return true;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::data) << error.what();
    return false;
  }
}

TEST(Hdf5, RefusesTruncatedFiles) {
  const TemporaryFolder folder;
  write_all(folder / "a.h5");
  const std::string whole = slurp(folder / "a.h5");
  for (std::size_t size = 0; size < whole.size(); size += 1 + whole.size() / 29) {
    spill(folder / "cut.h5", whole.substr(0, size));
    EXPECT_FALSE(reads(folder / "cut.h5")) << size;
  }
  spill(folder / "cut.h5", whole.substr(0, whole.size() - 1));
  expect_parts(
      message_of(ErrorKind::data, [&] { Hdf5File(folder / "cut.h5"); }),
      {"cut.h5: cannot open the HDF5 file", "truncated file", "recreate it or copy it again"});
}

// The library would return zeros beyond the end.
TEST(Hdf5, RefusesAFileTruncatedDuringReading) {
  const TemporaryFolder folder;
  write_all(folder / "a.h5");
  const Hdf5Array array = Hdf5File(folder / "a.h5").array("x");
  std::vector<float> row(3);
  array.read(kRows - 1, 1, row.data());
  const auto size = fs::file_size(folder / "a.h5");
  fs::resize_file(folder / "a.h5", size / 4);
  expect_parts(message_of(ErrorKind::data, [&] { array.read(kRows - 1, 1, row.data()); }),
               {"a.h5: the file is too short", fmt::format("was {} when", size)});
}

// h5py 3.16 with hdf5plugin 7.1 wrote the file: [15, 4] values in chunks of [7, 4] (the last chunk
// is incomplete), and zeros [4096, 8], with LZ4's default block size and smaller ones.
TEST(Hdf5, ReadsFilesOfHdf5plugin) {
  const Hdf5File file(WELLSPRING_SOURCE_DIR "/tests/data/compressed.h5");
  std::vector<float> expected(60), x(60);
  for (std::size_t i = 0; i < expected.size(); ++i)
    expected[i] = static_cast<float>(i) * static_cast<float>(i) / 8;
  for (const char* name : {"zstd", "zstd_shuffle", "lz4", "lz4_blocks"}) {
    const Hdf5Array array = file.array(name);
    ASSERT_EQ(array.shape(), (std::vector<std::int64_t>{15, 4}));
    array.read(0, 15, x.data());
    EXPECT_EQ(x, expected) << name;
  }
  std::vector<double> zeros(4096 * 8, 1);
  file.array("zeros").read(0, 4096, zeros.data());
  EXPECT_EQ(zeros, std::vector<double>(4096 * 8, 0));
}

TEST(Hdf5, RefusesUnknownCompressions) {
  EXPECT_EQ(to_text(compression_from_text("zstd")), "zstd:3");
  EXPECT_EQ(to_text(compression_from_text("gzip:9")), "gzip:9");
  EXPECT_EQ(to_text(compression_from_text("lz4")), "lz4");
  const auto refused = [](const char* text) {
    return message_of(ErrorKind::config, [&] { compression_from_text(text); });
  };
  expect_parts(refused("blosc"), {"unknown compression 'blosc'", "known: none, lz4, gzip"});
  expect_parts(refused("gzip:10"), {"levels of gzip are 1 to 9"});
  expect_parts(refused("zstd:"), {"levels of zstd are 1 to 19"});
  expect_parts(refused("lz4:1"), {"lz4 has no levels"});
}

// A flipped byte in a chunk gives an error or changes its values. The numbers are sines, which no
// codec compresses, and consecutive labels, which all codecs compress.
TEST_P(Hdf5Compressed, SurvivesFlippedBytesInChunks) {
  const TemporaryFolder folder;
  write_all(folder / "a.h5", compression());
  const std::string whole = slurp(folder / "a.h5");
  int refused = 0;
  for (std::size_t at = 0; at < whole.size(); at += 1 + whole.size() / 61) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0xFF);
    spill(folder / "b.h5", damaged);
    refused += reads(folder / "b.h5") ? 0 : 1;
  }
  EXPECT_GT(refused, 0);
}

// A flipped byte in the headers may give an error or wrong numbers, but never a crash.
TEST(Hdf5, SurvivesFlippedBytes) {
  const TemporaryFolder folder;
  write_all(folder / "a.h5");
  const std::string whole = slurp(folder / "a.h5");
  int refused = 0;
  for (std::size_t at = 0; at < std::min<std::size_t>(whole.size(), 3000); at += 23) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ (at % 2 == 0 ? 0xFF : 0x41));
    spill(folder / "b.h5", damaged);
    refused += reads(folder / "b.h5") ? 0 : 1;
  }
  EXPECT_GT(refused, 5);
}

TEST(Hdf5, ReadsFromSeveralThreads) {
  const TemporaryFolder folder;
  write_all(folder / "a.h5");
  const Hdf5File file(folder / "a.h5");
  const Hdf5Array array = file.array("x");
  const std::vector<float> expected = numbers();
  std::vector<int> wrong(4, 0);
  std::vector<std::jthread> threads;
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      const Hdf5File own(folder / "a.h5");
      const Hdf5Array labels = own.array("label");
      for (std::int64_t row = 1 + static_cast<std::int64_t>(t); row < kRows; row += 4) {
        float x[3];
        std::int64_t label = 0;
        array.read(row, 1, x);
        labels.read(row, 1, &label);
        wrong[t] += x[2] != expected[static_cast<std::size_t>(3 * row + 2)] || label != row - 5;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

}  // namespace
}  // namespace wellspring::test
