#include "core/io/stored_array.h"

#include "core/signals.h"
#include "tests/support/error_testing.h"
#include "tests/support/npz_fixtures.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <numeric>
#include <sys/resource.h>

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

/// The largest resident size of this process so far, bytes.
std::uint64_t peak_memory() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

/// The checksum of `count` zero bytes, by doubling.
uLong crc_of_zeros(std::uint64_t count) {
  uLong crc = 0, block = zip_crc(bytes_of(std::string(1, '\0')));
  for (std::uint64_t size = 1; count > 0; count /= 2, size *= 2) {
    if (count % 2 == 1) crc = crc32_combine(crc, block, static_cast<z_off_t>(size));
    block = crc32_combine(block, block, static_cast<z_off_t>(size));
  }
  return crc;
}

/// A stored member of an archive: `begin`, zeros, `end`.
struct SparseMember {
  std::string name, begin;
  std::uint64_t zeros;
  std::string end;

  std::uint64_t size() const { return begin.size() + zeros + end.size(); }
  std::uint32_t crc() const {
    const auto length = static_cast<z_off_t>(zeros);
    const uLong before = crc32_combine(zip_crc(bytes_of(begin)), crc_of_zeros(zeros), length);
    return zip_crc(bytes_of(end), static_cast<std::uint32_t>(before));
  }
};

/// Rows of two floats; the last row is 1, 2.
SparseMember sparse_rows(const std::string& name, std::uint64_t rows) {
  const ArraySpec spec{ElementType::f32, {static_cast<std::int64_t>(rows), 2}};
  const std::vector<float> last = {1, 2};
  return {name + ".npy", npy_header(spec), spec.bytes() - 8, std::string(text_of(bytes_of(last)))};
}

/// Writes an archive like numpy.savez, with holes for the zeros. Python's zipfile writes 64-bit
/// sizes in all local headers (force_zip64), and elsewhere for values of at least 2^31.
void write_sparse_npz(const fs::path& path, const std::vector<SparseMember>& members) {
  const auto needs64 = [](std::uint64_t value) { return value >> 31 != 0; };
  const auto field = [&](std::uint64_t value) {
    return needs64(value) ? zip::kIn64 : static_cast<std::uint32_t>(value);
  };
  const auto extra_of = [](const std::vector<std::uint64_t>& values) {
    std::string out;
    if (values.empty()) return out;
    append_number<std::uint16_t>(out, 1);
    append_number<std::uint16_t>(out, static_cast<std::uint16_t>(8 * values.size()));
    for (const std::uint64_t value : values) append_number<std::uint64_t>(out, value);
    return out;
  };
  const auto common = [](const SparseMember& member, std::uint32_t size, const std::string& extra) {
    std::string out;
    append_number<std::uint16_t>(out, zip::kZip64);
    append_number<std::uint16_t>(out, 0);
    append_number<std::uint16_t>(out, zip::kStored);
    append_number<std::uint32_t>(out, 0x00210000);  // time and date
    append_number<std::uint32_t>(out, member.crc());
    append_number<std::uint32_t>(out, size);
    append_number<std::uint32_t>(out, size);
    append_number<std::uint16_t>(out, static_cast<std::uint16_t>(member.name.size()));
    append_number<std::uint16_t>(out, static_cast<std::uint16_t>(extra.size()));
    return out;
  };
  OutputFile file(path, OutputFile::Mode::create);
  std::string directory;
  std::uint64_t at = 0;
  for (const SparseMember& member : members) {
    const std::uint64_t size = member.size();
    std::vector<std::uint64_t> wide;
    if (needs64(size)) wide = {size, size};
    if (needs64(at)) wide.push_back(at);
    append_number<std::uint32_t>(directory, zip::kCentralHeader);
    append_number<std::uint16_t>(directory, zip::kZip64);
    directory += common(member, field(size), extra_of(wide)) + std::string(10, '\0');
    append_number<std::uint32_t>(directory, field(at));
    directory += member.name + extra_of(wide);
    std::string local;
    append_number<std::uint32_t>(local, zip::kLocalHeader);
    const std::string extra = extra_of({size, size});
    local += common(member, zip::kIn64, extra) + member.name + extra + member.begin;
    file.patch(at, bytes_of(local));
    at += local.size() + member.zeros;
    file.patch(at, bytes_of(member.end));
    at += member.end.size();
  }
  std::string end;
  if (needs64(at)) {
    append_number<std::uint32_t>(end, zip::kEnd64);
    append_number<std::uint64_t>(end, 44);  // bytes that follow
    append_number<std::uint16_t>(end, zip::kZip64);
    append_number<std::uint16_t>(end, zip::kZip64);
    append_number<std::uint64_t>(end, 0);
    append_number<std::uint64_t>(end, members.size());
    append_number<std::uint64_t>(end, members.size());
    append_number<std::uint64_t>(end, directory.size());
    append_number<std::uint64_t>(end, at);
    append_number<std::uint32_t>(end, zip::kEnd64Locator);
    append_number<std::uint32_t>(end, 0);
    append_number<std::uint64_t>(end, at + directory.size());
    append_number<std::uint32_t>(end, 1);
  }
  append_number<std::uint32_t>(end, zip::kEnd);
  append_number<std::uint32_t>(end, 0);
  append_number<std::uint16_t>(end, static_cast<std::uint16_t>(members.size()));
  append_number<std::uint16_t>(end, static_cast<std::uint16_t>(members.size()));
  append_number<std::uint32_t>(end, static_cast<std::uint32_t>(directory.size()));
  append_number<std::uint32_t>(end, field(at));
  append_number<std::uint16_t>(end, 0);
  file.patch(at, bytes_of(directory + end));
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

// The files of the next three tests are sparse.
TEST(StoredArray, ReadsTheEndOfAFileAbove4GiB) {
  const TemporaryFolder folder;
  constexpr std::uint64_t kRows = (std::uint64_t{1} << 29) + 1;  // 8 bytes each
  const SparseMember x = sparse_rows("x", kRows);
  OutputFile file(folder / "x.npy", OutputFile::Mode::create);
  file.patch(0, bytes_of(x.begin));
  file.patch(x.begin.size() + x.zeros, bytes_of(x.end));
  const StoredArray array(file_at(folder / "x.npy"));
  EXPECT_EQ(array.held_bytes(), 0u);
  EXPECT_EQ(part_of(array, 2 * kRows - 4, 4), (std::vector<float>{0, 0, 1, 2}));
}

// Opening reads the member once, for its checksum, in parts of 256 KiB.
TEST(StoredArray, ReadsTheEndOfAStoredMemberAbove1GiB) {
  const TemporaryFolder folder;
  constexpr std::uint64_t kRows = (std::uint64_t{1} << 27) + 1;
  write_sparse_npz(folder / "a.npz", {sparse_rows("x", kRows)});
  const std::uint64_t before = peak_memory();
  const auto array = NpzFile(folder / "a.npz").array("x");
  EXPECT_EQ(array->held_bytes(), 0u);
  EXPECT_EQ(part_of(*array, 2 * kRows - 4, 4), (std::vector<float>{0, 0, 1, 2}));
  EXPECT_LT(peak_memory() - before, std::uint64_t{64} << 20) << "far less than the member";
}

// Only the checksum of "x" is not computed: the signal stops it.
TEST(StoredArray, FindsStoredMembersInArchivesAbove4GiB) {
  const TemporaryFolder folder;
  const SparseMember x = sparse_rows("x", (std::uint64_t{1} << 29) + 1);
  write_sparse_npz(folder / "a.npz", {x, sparse_rows("y", 3)});
  const NpzFile archive(folder / "a.npz");
  EXPECT_EQ(part_of(*archive.array("y"), 0, 6), (std::vector<float>{0, 0, 0, 0, 1, 2}));
  const InputFile file(folder / "a.npz");
  const ZipEntry entry = read_zip_directory(file).at(0);
  EXPECT_EQ(entry.size, x.size());
  EXPECT_GT(entry.size, kZip64From);
  std::vector<float> last(2);
  file.read(zip_content(file, entry) + entry.size - 8, std::as_writable_bytes(std::span(last)));
  EXPECT_EQ(last, (std::vector<float>{1, 2}));
  request_interrupt();
  EXPECT_THROW((void)archive.array("x"), Interrupted);
  clear_interrupt();
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

TEST(NumpyFiles, NameFilesOfOtherKinds) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& bytes, bool archive) {
    spill(folder / "f", bytes);
    return message_of(ErrorKind::data, [&] {
      if (archive) NpzFile(folder / "f");
      read_npy(folder / "f");
    });
  };
  for (const bool archive : {false, true}) {
    const std::string what = archive ? "f: not a NumPy archive (.npz)" : "f: not a NumPy array";
    expect_parts(refused("\xff\xd8\xff\xe0", archive), {what, "it is a JPEG image"});
    expect_parts(refused("\x1f\x8b\x08", archive), {what, "compressed with gzip", "gunzip"});
    expect_parts(refused(std::string("\x80\x04\x95", 3), archive),
                 {what, "a Python pickle", "numpy.savez"});
    expect_parts(refused(std::string("\x40\0\0\0\0\0\0\0{\"a\"", 12), archive),
                 {what, "a safetensors file"});
    write_zip(folder / "torch", {{"m/data.pkl", "x"}}, zip::kStored);
    expect_parts(refused(slurp(folder / "torch"), archive),
                 {what, "a PyTorch checkpoint", "scripts/torch-weights"});
    write_zip(folder / "zip", {{"a.txt", "x"}}, zip::kStored);
    expect_parts(refused(slurp(folder / "zip"), archive), {what, "a zip archive", "unpack it"});
  }
  expect_parts(refused("text", false), {"cannot read the NumPy array", "NumPy's signature"});
}

// The first member of an archive need not be an array.
TEST(NumpyFiles, ReadArchivesWithOtherMembers) {
  const TemporaryFolder folder;
  write_zip(folder / "a.npz",
            {{"notes.txt", "x"}, {"x.npy", npy_file({ElementType::f32, {2}}, rising(2))}},
            zip::kStored);
  EXPECT_EQ(NpzFile(folder / "a.npz").names(), std::vector<std::string>{"x"});
}

}  // namespace
}  // namespace wellspring::test
