#include "core/io/stored_array.h"

#include "tests/support/error_testing.h"
#include "tests/support/npz_fixtures.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

/// The numbers 0, 1, 2...
std::vector<float> rising(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.f);
  return values;
}

std::vector<float> part_of(const StoredArray& array, std::uint64_t first, std::uint64_t count) {
  std::vector<float> values(count);
  array.read(first, count, reinterpret_cast<std::byte*>(values.data()));
  return values;
}

std::shared_ptr<const InputFile> file_at(const fs::path& path) {
  return std::make_shared<const InputFile>(path);
}

TEST(StoredArray, ReadsHeadersOfAllVersions) {
  const TemporaryFolder folder;
  const std::string file = npy_file({ElementType::f32, {2, 3}}, rising(6));
  for (const int version : {2, 3}) {
    spill(folder / "a.npy", with_version(file, version));
    const NpyArray array = read_npy(folder / "a.npy");
    EXPECT_EQ(array.spec.shape, (std::vector<std::int64_t>{2, 3}));
    EXPECT_TRUE(std::ranges::equal(array.as<float>(), rising(6)));
  }
  spill(folder / "a.npy", with_version(file, 4));
  expect_parts(message_of(ErrorKind::data, [&] { read_npy(folder / "a.npy"); }),
               {"a.npy", "format version is 4"});
}

// Each value equals its own position in C order.
TEST(StoredArray, ReadsFortranOrder) {
  const TemporaryFolder folder;
  std::vector<float> values;
  for (int k = 0; k < 4; ++k)
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 2; ++i) values.push_back(static_cast<float>((i * 3 + j) * 4 + k));
  const std::string file = in_fortran_order(npy_file({ElementType::f32, {2, 3, 4}}, values));
  spill(folder / "a.npy", file);
  const StoredArray array(file_at(folder / "a.npy"));
  EXPECT_EQ(array.held_bytes(), 96u);
  EXPECT_EQ(part_of(array, 5, 7), (std::vector<float>{5, 6, 7, 8, 9, 10, 11}));
  write_compressed_npz(folder / "a.npz", {{"x", file}});
  EXPECT_TRUE(std::ranges::equal(read_npz(folder / "a.npz", "x").as<float>(), rising(24)));
  // A one-dimensional array has only one order.
  spill(folder / "b.npy", in_fortran_order(npy_file({ElementType::f32, {6}}, rising(6))));
  EXPECT_EQ(StoredArray(file_at(folder / "b.npy")).held_bytes(), 0u);
}

TEST(StoredArray, ReadsStoredMembersInPlace) {
  const TemporaryFolder folder;
  const std::vector<float> x = rising(300'000);  // more than a stream reads at once
  NpzWriter archive(folder / "a.npz");
  archive.add("first", {ElementType::f32, {3}}, bytes_of(rising(3)));
  archive.add("x", {ElementType::f32, {100'000, 3}}, bytes_of(x));
  archive.commit();
  const auto array = NpzFile(folder / "a.npz").array("x");
  EXPECT_EQ(array->held_bytes(), 0u);
  EXPECT_EQ(part_of(*array, 299'997, 3), (std::vector<float>{299'997, 299'998, 299'999}));
  fs::resize_file(folder / "a.npz", 200'000);
  expect_parts(message_of(ErrorKind::data, [&] { part_of(*array, 299'997, 3); }),
               {"a.npz: the file is too short"});
}

TEST(StoredArray, ConvertsParts) {
  const TemporaryFolder folder;
  std::string file = npy_header({ElementType::f32, {2}}) + std::string("\x3f\x80\0\0\x40\0\0\0", 8);
  file.replace(file.find("<f4"), 3, ">f4");
  spill(folder / "a.npy", file);
  EXPECT_EQ(part_of(StoredArray(file_at(folder / "a.npy")), 1, 1), std::vector<float>{2});
}

TEST(StoredArray, HoldsCompressedMembers) {
  const TemporaryFolder folder;
  const std::vector<float> x = rising(300'000);
  write_compressed_npz(folder / "a.npz", {{"x", npy_file({ElementType::f32, {100'000, 3}}, x)},
                                          {"y", npy_file({ElementType::f32, {2}}, rising(2))}});
  const NpzFile file(folder / "a.npz");
  const auto array = file.array("x");
  ASSERT_EQ(array->held_bytes(), 1'200'000u);
  EXPECT_EQ(part_of(*array, 7, 2), (std::vector<float>{7, 8}));  // this read allocates
  std::vector<std::byte> memory(array->held_bytes());
  array->hold(memory);
  EXPECT_TRUE(std::ranges::equal(memory, bytes_of(x)));
  const auto other = file.array("x");
  std::ranges::fill(memory, std::byte{0});
  other->hold(memory);  // before the first read
  EXPECT_TRUE(std::ranges::equal(memory, bytes_of(x)));
  EXPECT_EQ(part_of(*other, 299'999, 1), std::vector<float>{299'999});
}

TEST(StoredArray, RefusesDamagedCompressedMembers) {
  const TemporaryFolder folder;
  write_compressed_npz(folder / "a.npz", {{"x", npy_file({ElementType::f32, {500}}, rising(500))}});
  const std::string whole = slurp(folder / "a.npz");
  const auto refused = [&](const std::string& bytes) {
    spill(folder / "b.npz", bytes);
    return message_of(ErrorKind::data, [&] { read_npz(folder / "b.npz", "x"); });
  };
  for (std::size_t size = 0; size < whole.size(); size += 1 + whole.size() / 40)
    refused(whole.substr(0, size));
  std::string altered = whole;
  altered[whole.size() / 2] = static_cast<char>(altered[whole.size() / 2] ^ 0x41);
  expect_parts(refused(altered), {"b.npz: 'x'"});
  // A member of a few hundred bytes claims a size of 4 GB.
  std::string lying = whole;
  lying.replace(whole.rfind("PK\x01\x02") + 24, 4, "\xFE\xFF\xFF\xFF");
  expect_parts(refused(lying), {"'x'", "too short for its size"});
}

}  // namespace
}  // namespace wellspring::test
