#include "core/io/npy.h"

#include "core/io/npy_numbers.h"
#include "tests/support/error_testing.h"
#include "tests/support/temporary_folder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace wellspring::test {
namespace {

const std::vector<float> kFloats = {1.5f, -2, 3, 4, 5, 6};
const std::vector<std::int32_t> kInts = {7, -8};

void write_archive(const std::filesystem::path& path) {
  NpzWriter archive(path);
  const NpzWriter::Array x = archive.open("x", {ElementType::f32, {2, 3}});
  archive.append(x, bytes_of(kFloats).first(8));
  archive.append(x, bytes_of(kFloats).subspan(8));
  archive.close(x);
  archive.add("label", {ElementType::i32, {2}}, bytes_of(kInts));
  archive.add_file("metadata.npy", bytes_of(npy_text("{}")));
  archive.commit();
}

TEST(Npy, WritesNumPysHeaders) {
  // The expected bytes are from numpy.lib.format.write_array_header_1_0.
  const auto text = [](const ArraySpec& spec) { return npy_header(spec); };
  const std::string matrix = text({ElementType::f32, {2, 3}});
  EXPECT_EQ(matrix.size(), 128u);
  EXPECT_EQ(matrix.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_EQ(matrix.substr(10), "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }" +
                                   std::string(58, ' ') + "\n");
  expect_parts(text({ElementType::u8, {5}}), {"'|u1', 'fortran_order': False, 'shape': (5,), }"});
  expect_parts(text({ElementType::i64, {}}), {"'<i8', 'fortran_order': False, 'shape': (), }"});
  expect_parts(message_of(ErrorKind::data,
                          [&] {
                            text({ElementType::bf16, {1}});
                          }),
               {"no type BF16"});
}

TEST(Npy, AlignsHeadersOfAnyLength) {
  std::int64_t first = 1;
  for (int digits = 1; digits <= 6; ++digits, first *= 10) {
    for (std::size_t axes = 2; axes <= 30; ++axes) {
      ArraySpec spec{ElementType::u8, std::vector<std::int64_t>(axes, 0)};
      spec.shape[0] = first;
      const std::string header = npy_header(spec);
      EXPECT_EQ(header.size() % 64, 0u);
      EXPECT_EQ(header.back(), '\n');
      expect_parts(header, {"), }"});
      EXPECT_EQ(parse_npy_header(bytes_of(header), header.size(), "x").spec.shape, spec.shape);
    }
  }
}

// The expected bytes are from numpy.save of numpy.array("{é猫}"), except for the header's padding.
TEST(Npy, WritesTextsAsNumPysUnicode) {
  const std::string file = npy_text("{\u00e9\u732b}");
  ASSERT_EQ(file.size(), 128u + 16u);
  EXPECT_EQ(file.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_TRUE(
      file.substr(10).starts_with("{'descr': '<U4', 'fortran_order': False, 'shape': (), }"));
  EXPECT_EQ(file[127], '\n');
  EXPECT_EQ(file.substr(128), std::string("{\0\0\0\xe9\0\0\0\x2b\x73\0\0}\0\0\0", 16));
  // NumPy strips trailing NULs and has no zero-length string type.
  const std::string nothing = npy_text("");
  expect_parts(nothing, {"'<U1'"});
  EXPECT_EQ(nothing.substr(nothing.size() - 4), std::string(4, '\0'));
  message_of(ErrorKind::data, [] { npy_text("\xff"); });
}

TEST(Npy, RoundTrips) {
  const TemporaryFolder folder;
  write_npy(folder / "a.npy", {ElementType::f32, {3, 2}}, bytes_of(kFloats));
  const NpyArray array = read_npy(folder / "a.npy");
  EXPECT_EQ(array.spec.type, ElementType::f32);
  EXPECT_EQ(array.spec.shape, (std::vector<std::int64_t>{3, 2}));
  EXPECT_TRUE(std::equal(kFloats.begin(), kFloats.end(), array.as<float>().begin()));
  EXPECT_THROW(write_npy(folder / "b.npy", {ElementType::f32, {3}}, bytes_of(kFloats)),
               std::logic_error);
}

// The input bytes are from numpy.save.
TEST(Npy, WidensOtherTypes) {
  const TemporaryFolder folder;
  const auto stored = [&](const std::string& descriptor, std::size_t count, std::string bytes) {
    std::string file = npy_header({ElementType::i32, {static_cast<std::int64_t>(count)}});
    file.replace(file.find("<i4"), 3, descriptor);
    spill(folder / "a.npy", file + bytes);
    return read_npy(folder / "a.npy");
  };
  const auto expect = [&]<class T>(const std::string& descriptor, const std::string& bytes,
                                   ElementType type, std::vector<T> wanted) {
    const NpyArray array = stored(descriptor, wanted.size(), bytes);
    EXPECT_EQ(array.spec.type, type) << descriptor;
    EXPECT_TRUE(std::ranges::equal(array.as<T>(), wanted)) << descriptor;
  };
  using I32 = std::vector<std::int32_t>;
  using I64 = std::vector<std::int64_t>;
  const auto text = [](std::initializer_list<int> bytes) {
    std::string all;
    for (const int byte : bytes) all.push_back(static_cast<char>(byte));
    return all;
  };
  expect("|b1", text({0, 1}), ElementType::i32, I32{0, 1});
  expect("|i1", text({0x7f, 0x80}), ElementType::i32, I32{127, -128});
  expect("<i2", text({0x34, 0x12, 0xff, 0xff}), ElementType::i32, I32{0x1234, -1});
  expect(">i2", text({0x12, 0x34, 0xff, 0xfe}), ElementType::i32, I32{0x1234, -2});
  expect("<u2", text({0xff, 0xff}), ElementType::i32, I32{65535});
  expect(">u2", text({0xff, 0xfe}), ElementType::i32, I32{65534});
  expect("<u4", text({0xfe, 0xff, 0xff, 0xff}), ElementType::i64, I64{0xfffffffe});
  expect(">u4", text({0xff, 0xff, 0xff, 0xfe}), ElementType::i64, I64{0xfffffffe});
  expect(">i4", text({1, 2, 3, 4}), ElementType::i32, I32{0x01020304});
  expect(">i8", text({0xff, 2, 3, 4, 5, 6, 7, 8}), ElementType::i64, I64{-0xfdfcfbfaf9f8f8});
  expect(">f4", text({0x3f, 0x80, 0, 0}), ElementType::f32, std::vector<float>{1});
  expect(">f8", text({0xbf, 0xf8, 0, 0, 0, 0, 0, 0}), ElementType::f64, std::vector<double>{-1.5});
  // IEEE 754-2019, 3.4: one, largest, smallest subnormal, smallest normal, -0.1 rounded.
  const std::vector<float> halves = {1, 65504, 0x1p-24f, 0x1p-14f, -0.0999755859375f, INFINITY};
  expect("<f2", text({0, 0x3c, 0xff, 0x7b, 1, 0, 0, 4, 0x66, 0xae, 0, 0x7c}), ElementType::f32,
         halves);
  expect(">f2", text({0x3c, 0, 0x7b, 0xff, 0, 1, 4, 0, 0xae, 0x66, 0x7c, 0}), ElementType::f32,
         halves);
  EXPECT_TRUE(std::isnan(stored("<f2", 1, text({1, 0x7c})).as<float>()[0]));
}

TEST(Npy, RefusesDamagedFiles) {
  const TemporaryFolder folder;
  write_npy(folder / "a.npy", {ElementType::i32, {2}}, bytes_of(kInts));
  const std::string whole = slurp(folder / "a.npy");
  const auto refused = [&](const std::string& bytes) {
    spill(folder / "a.npy", bytes);
    return message_of(ErrorKind::data, [&] { read_npy(folder / "a.npy"); });
  };
  for (std::size_t size = 0; size < whole.size(); ++size) refused(whole.substr(0, size));
  const auto altered = [&](const std::string& from, const std::string& to) {
    std::string text = whole;
    return refused(text.replace(text.find(from), from.size(), to));
  };
  expect_parts(altered("False", "Maybe"), {"neither C nor Fortran"});
  for (const char* other : {"<c8", "<u8", "<f3", "xi4", "|i4", "<S4"})
    expect_parts(altered("<i4", other), {fmt::format("its type is '{}'", other)});
  expect_parts(altered("(2,)", "(3,)"), {"8 bytes of data, but its shape needs 12"});
  expect_parts(altered("(2,)", "(-2)"), {"not a tuple of sizes"});
  expect_parts(altered("(2,), ", "(2 2) "), {"not a tuple of sizes"});
  expect_parts(altered("(2,), }              ", "(4294967296,4294967296,4)"), {"too large"});
  expect_parts(altered(std::string("\x01\x00", 2), std::string("\x02\x00", 2)),
               {"header is too long"});
}

TEST(Npz, WritesTheExactBytesOfTheZipFormat) {
  const TemporaryFolder folder;
  NpzWriter archive(folder / "a.npz");
  archive.add_file("m", bytes_of("123456789"));
  archive.commit();
  // PKWARE APPNOTE 4.3.7, 4.3.12 and 4.3.16; CRC-32("123456789") = CBF43926.
  const auto raw = [](const char* text, std::size_t size) { return std::string(text, size); };
  const std::string common =
      raw("\x14\0\0\x08\0\0\0\0\x21\0\x26\x39\xF4\xCB\x09\0\0\0\x09\0\0\0\x01\0\0\0", 26);
  const std::string expected = "PK\x03\x04" + common + "m123456789" + "PK\x01\x02" +
                               raw("\x2D\x03", 2) + common +
                               raw("\0\0\0\0\0\0\0\0\xA4\x81\0\0\0\0", 14) + "m" +
                               raw("PK\x05\x06\0\0\0\0\x01\0\x01\0\x2F\0\0\0\x28\0\0\0\0\0", 22);
  EXPECT_EQ(slurp(folder / "a.npz"), expected);
}

TEST(Npz, RoundTrips) {
  const TemporaryFolder folder;
  write_archive(folder / "a.npz");
  EXPECT_EQ(npz_members(folder / "a.npz"),
            (std::vector<std::string>{"x.npy", "label.npy", "metadata.npy"}));
  const NpyArray x = read_npz(folder / "a.npz", "x");
  EXPECT_EQ(x.spec.shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_TRUE(std::equal(kFloats.begin(), kFloats.end(), x.as<float>().begin()));
  EXPECT_EQ(read_npz(folder / "a.npz", "label").as<std::int32_t>()[1], -8);
  EXPECT_EQ(message_of(ErrorKind::data, [&] { read_npz(folder / "a.npz", "labels"); }),
            (folder / "a.npz").string() +
                ": 'labels' is not in the archive\n  did you mean 'label'? known: x, label, "
                "metadata");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a.npz"});
}

TEST(Npz, RoundTripsTexts) {
  const TemporaryFolder folder;
  for (const std::string text : {"", "{}", "a \u00e4 \u20ac \U0001F600", "{\"unit\": \"GeV\"}"}) {
    NpzWriter archive(folder / "a.npz");
    archive.add_file("text.npy", bytes_of(npy_text(text)));
    archive.add("x", {ElementType::i32, {2}}, bytes_of(kInts));
    archive.commit();
    EXPECT_EQ(read_npz_text(folder / "a.npz", "text"), text);
    expect_parts(message_of(ErrorKind::data, [&] { read_npz_text(folder / "a.npz", "x"); }),
                 {"not a scalar string"});
  }
  // A surrogate, and a number above the last code point.
  for (const char32_t code : {U'\xD800', static_cast<char32_t>(0x110000)}) {
    std::string member = npy_text("a");
    std::memcpy(member.data() + member.size() - 4, &code, 4);
    NpzWriter archive(folder / "a.npz");
    archive.add_file("text.npy", bytes_of(member));
    archive.commit();
    expect_parts(message_of(ErrorKind::data, [&] { read_npz_text(folder / "a.npz", "text"); }),
                 {"not a Unicode character"});
  }
}

TEST(Npz, WritesEqualFilesForEqualArrays) {
  const TemporaryFolder folder;
  write_archive(folder / "a.npz");
  write_archive(folder / "b.npz");
  EXPECT_EQ(slurp(folder / "a.npz"), slurp(folder / "b.npz"));
}

TEST(Npz, RefusesDamagedArchives) {
  const TemporaryFolder folder;
  write_archive(folder / "a.npz");
  const std::string whole = slurp(folder / "a.npz");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    spill(folder / "cut.npz", whole.substr(0, size));
    message_of(ErrorKind::data, [&] { read_npz(folder / "cut.npz", "x"); });
  }
  std::string altered = whole;
  altered[whole.find("(2, 3)") + 70] ^= 1;  // within the data
  spill(folder / "altered.npz", altered);
  expect_parts(message_of(ErrorKind::data, [&] { read_npz(folder / "altered.npz", "x"); }),
               {"its checksum is wrong"});
}

/// Fills three arrays alternately; one has unknown length. Entries of at least `zip64_from`
/// bytes get 64-bit fields.
void write_side_by_side(const std::filesystem::path& path, std::uint64_t zip64_from = kZip64From) {
  NpzWriter archive(path, zip64_from);
  const auto label = archive.open("label", {ElementType::i32, {2}});
  const auto weight = archive.open("weight", {ElementType::f32, {2}});
  const auto x = archive.open_growing("x", {ElementType::f32, {0, 3}});
  archive.append(x, bytes_of(kFloats).first(12));
  for (std::size_t row = 0; row < 2; ++row) {
    archive.append(weight, bytes_of(kFloats).subspan(4 * row, 4));
    archive.append(label, bytes_of(kInts).subspan(4 * row, 4));
  }
  archive.append(x, bytes_of(kFloats).subspan(12));
  archive.close(label);
  archive.close(x);
  archive.close(weight);
  archive.add_file("metadata.npy", bytes_of(npy_text("{}")));
  archive.commit();
}

TEST(Npz, FillsSeveralArraysAlternately) {
  const TemporaryFolder folder;
  for (const std::uint64_t zip64_from : {kZip64From, std::uint64_t{1}, std::uint64_t{150}}) {
    const auto path = folder / "a.npz";
    write_side_by_side(path, zip64_from);
    EXPECT_EQ(npz_members(path),
              (std::vector<std::string>{"label.npy", "weight.npy", "x.npy", "metadata.npy"}));
    const NpyArray x = read_npz(path, "x");
    EXPECT_EQ(x.spec.shape, (std::vector<std::int64_t>{2, 3}));
    EXPECT_TRUE(std::ranges::equal(x.as<float>(), kFloats));
    EXPECT_TRUE(std::ranges::equal(read_npz(path, "label").as<std::int32_t>(), kInts));
    EXPECT_EQ(read_npz(path, "weight").as<float>()[1], kFloats[1]);
  }
}

// The checksum of an empty array covers only the header.
TEST(Npz, RoundTripsEmptyArrays) {
  const TemporaryFolder folder;
  NpzWriter archive(folder / "a.npz");
  archive.add("none", {ElementType::f32, {7, 0}}, {});
  for (const std::int64_t width : {0, 3}) {
    const std::string name = "x" + std::to_string(width);
    archive.close(archive.open_growing(name, {ElementType::f32, {7, width}}));
  }
  archive.commit();
  const auto shape = [&](const char* name) { return read_npz(folder / "a.npz", name).spec.shape; };
  EXPECT_EQ(shape("none"), (std::vector<std::int64_t>{7, 0}));
  EXPECT_EQ(shape("x0"), (std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(shape("x3"), (std::vector<std::int64_t>{0, 3}));
}

// Archives above 4 GiB need 64-bit fields; here the limit is one byte (APPNOTE 4.3.9.2, 4.3.14,
// 4.3.15 and 4.5.3).
TEST(Npz, WritesZip64FieldsForLargeArchives) {
  const TemporaryFolder folder;
  NpzWriter archive(folder / "a.npz", 1);
  archive.add_file("m", bytes_of("123456789"));
  archive.add_file("n", bytes_of("123456789"));
  archive.commit();
  const auto raw = [](const char* text, std::size_t size) { return std::string(text, size); };
  const std::string common =
      raw("\x2D\0\0\x08\0\0\0\0\x21\0\x26\x39\xF4\xCB\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01\0", 24);
  const std::string nine = raw("\x09\0\0\0\0\0\0\0", 8);
  const auto local = [&](const char* name) {
    return "PK\x03\x04" + common + raw("\x14\0", 2) + name + raw("\x01\0\x10\0", 4) + nine + nine +
           "123456789";
  };
  // The first offset, 0, fits into its 32-bit field; the second, 60, exceeds the limit.
  const auto central = [&](const char* extra_size, const char* offset, const std::string& rest) {
    return "PK\x01\x02" + raw("\x2D\x03", 2) + common + raw(extra_size, 2) +
           raw("\0\0\0\0\0\0\0\0\xA4\x81", 10) + raw(offset, 4) + rest;
  };
  const std::string sixty = raw("\x3C\0\0\0\0\0\0\0", 8);
  const std::string directory =
      central("\x14\0", "\0\0\0\0", "m" + raw("\x01\0\x10\0", 4) + nine + nine) +
      central("\x1C\0", "\xFF\xFF\xFF\xFF", "n" + raw("\x01\0\x18\0", 4) + nine + nine + sixty);
  EXPECT_EQ(directory.size(), 142u);
  const std::string two = raw("\x02\0\0\0\0\0\0\0", 8);
  const std::string end =
      raw("PK\x06\x06\x2C\0\0\0\0\0\0\0\x2D\x03\x2D\0", 16) + raw("\0\0\0\0\0\0\0\0", 8) + two +
      two + raw("\x8E\0\0\0\0\0\0\0\x78\0\0\0\0\0\0\0", 16) +
      raw("PK\x06\x07\0\0\0\0\x06\x01\0\0\0\0\0\0\x01\0\0\0", 20) +
      raw("PK\x05\x06\0\0\0\0\x02\0\x02\0\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\0\0", 22);
  EXPECT_EQ(slurp(folder / "a.npz"), local("m") + local("n") + directory + end);
}

TEST(Npz, RefusesMisuse) {
  const TemporaryFolder folder;
  NpzWriter archive(folder / "a.npz");
  const auto x = archive.open("x", {ElementType::u8, {2}});
  EXPECT_THROW(archive.append(x, bytes_of("abc")), std::logic_error);
  EXPECT_THROW(archive.close(x), std::logic_error);
  EXPECT_THROW(archive.commit(), std::logic_error);
  EXPECT_THROW(archive.append(x + 1, bytes_of("a")), std::logic_error);
  archive.append(x, bytes_of("ab"));
  archive.close(x);
  EXPECT_THROW(archive.append(x, bytes_of("")), std::logic_error);
  EXPECT_THROW(archive.add("x", {ElementType::u8, {2}}, bytes_of("ab")), std::logic_error);
  const auto y = archive.open_growing("y", {ElementType::u8, {0, 3}});
  EXPECT_THROW(archive.open("z", {ElementType::u8, {2}}), std::logic_error);
  archive.append(y, bytes_of("ab"));
  EXPECT_THROW(archive.close(y), std::logic_error) << "the array ends in the middle of a row";
}

TEST(Npz, IsReadByPython) {
  if (std::system("python3 -c 'import zipfile' 2>/dev/null") != 0) {
    GTEST_SKIP() << "needs python3";
  }
  const TemporaryFolder folder;
  write_archive(folder / "a.npz");
  write_side_by_side(folder / "b.npz");
  write_side_by_side(folder / "c.npz", 1);
  spill(folder / "read.py", R"(
import struct, sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
assert not archive.testzip()
assert archive.namelist() == ["x.npy", "label.npy", "metadata.npy"]
assert all(info.compress_type == zipfile.ZIP_STORED for info in archive.infolist())
x = archive.read("x.npy")
assert struct.unpack("<6f", x[128:]) == (1.5, -2, 3, 4, 5, 6)
assert archive.read("metadata.npy")[128:] == "{}".encode("utf-32-le")
for name in sys.argv[2:]:
    other = zipfile.ZipFile(name)
    assert not other.testzip()
    assert other.read("x.npy")[-24:] == x[128:]
try:
    import numpy
except ImportError:
    sys.exit(0)
arrays = numpy.load(sys.argv[1])
assert {name: arrays[name].shape for name in arrays} == {"x": (2, 3), "label": (2,), "metadata": ()}
assert str(arrays["metadata"]) == "{}"
assert arrays["x"].dtype == numpy.float32 and arrays["x"].shape == (2, 3)
assert arrays["x"][0, 0] == 1.5 and arrays["label"].tolist() == [7, -8]
for name in sys.argv[2:]:
    assert (numpy.load(name)["x"] == arrays["x"]).all()
    assert (numpy.load(name)["label"] == arrays["label"]).all()
)");
  std::string command = "python3 " + (folder / "read.py").string();
  for (const char* name : {"a.npz", "b.npz", "c.npz"}) command += " " + (folder / name).string();
  EXPECT_EQ(std::system(command.c_str()), 0);
}

}  // namespace
}  // namespace wellspring::test
