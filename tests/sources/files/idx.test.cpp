// IDX files: types, compression, labels and damage.
#include "core/io/idx.h"

#include "sources/files/format.h"
#include "tests/support/error_testing.h"
#include "tests/support/image_fixtures.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>
#include <zlib.h>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

Bytes idx(std::uint8_t type, const std::vector<std::uint8_t>& shape, const Bytes& data) {
  Bytes file = {0, 0, type, static_cast<std::uint8_t>(shape.size())};
  for (const std::uint8_t extent : shape) file.insert(file.end(), {0, 0, 0, extent});
  file.insert(file.end(), data.begin(), data.end());
  return file;
}

struct Idx : ::testing::Test {
  void put(const std::string& name, const Bytes& bytes) const { write_bytes(folder / name, bytes); }
  void put_compressed(const std::string& name, const Bytes& bytes) const {
    const gzFile file = gzopen((folder / name).c_str(), "wb");
    ASSERT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())),
              static_cast<int>(bytes.size()));
    ASSERT_EQ(gzclose(file), Z_OK);
  }
  /// Three images of 2 x 4 pixels whose values count upwards.
  static Bytes images() {
    Bytes pixels(24);
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i);
    return idx(0x08, {3, 2, 4}, pixels);
  }
  std::unique_ptr<Dataset> open(const std::string& name,
                                std::vector<ParamSetting> settings = {}) const {
    return open_dataset({.path = folder / name, .settings = std::move(settings)});
  }
  std::string refused(const std::string& name) const {
    return message_of(ErrorKind::data, [&] { open(name); });
  }
  void expect_images(const Dataset& data) const {
    ASSERT_EQ(data.size(), 3);
    EXPECT_EQ(data.layout().sample, SampleLayout::image(2, 4, 1));
    Bytes row(8);
    data.reader()->read(2, row.data());
    EXPECT_EQ(row, (Bytes{16, 17, 18, 19, 20, 21, 22, 23}));
    EXPECT_EQ(std::vector({data.label(0), data.label(1), data.label(2)}), (std::vector{1, 0, 2}));
  }

  TemporaryFolder folder;
};

TEST_F(Idx, FindsTheLabelsNextToTheImages) {
  put("train-images-idx3-ubyte", images());
  put("train-labels-idx1-ubyte", idx(0x08, {3}, {1, 0, 2}));
  expect_images(*open("train-images-idx3-ubyte"));
  put("kinds.idx1-ubyte", idx(0x0C, {3}, {0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0}));
  EXPECT_EQ(open("train-images-idx3-ubyte", {{"labels", "kinds.idx1-ubyte", {}}})->label(0), 2);
}

TEST_F(Idx, SummaryCountsClassesWithoutSamples) {
  put("images-idx3-ubyte", images());
  put("labels.idx1-ubyte", idx(0x08, {3}, {1, 0, 255}));
  const auto data = open("images-idx3-ubyte", {{"labels", "labels.idx1-ubyte", {}}});
  EXPECT_NE(data->summary().find("256 classes (253 without samples)"), std::string::npos)
      << data->summary();
}

TEST_F(Idx, ReadsCompressedFiles) {
  put_compressed("t10k-images-idx3-ubyte.gz", images());
  put_compressed("t10k-labels-idx1-ubyte.gz", idx(0x08, {3}, {1, 0, 2}));
  expect_images(*open("t10k-images-idx3-ubyte.gz"));
}

// As written by bgzip, pigz --independent, or cat a.gz b.gz. The last member is empty.
TEST_F(Idx, ReadsFilesOfSeveralGzipMembers) {
  const Bytes all = images();
  const auto put_members = [&](std::vector<std::size_t> ends) {
    Bytes joined;
    std::size_t begin = 0;
    for (const std::size_t end : ends) {
      put_compressed("part.gz", {all.begin() + static_cast<std::ptrdiff_t>(begin),
                                 all.begin() + static_cast<std::ptrdiff_t>(end)});
      const std::string part = read_text(folder / "part.gz");
      joined.insert(joined.end(), part.begin(), part.end());
      begin = end;
    }
    put("m-images-idx3-ubyte.gz", joined);
    return joined;
  };
  put_compressed("m-labels-idx1-ubyte.gz", idx(0x08, {3}, {1, 0, 2}));
  for (std::size_t cut = 0; cut <= all.size(); ++cut) {
    put_members({cut, all.size(), all.size()});
    expect_images(*open("m-images-idx3-ubyte.gz"));
  }
  const auto read = [&] {
    return message_of(ErrorKind::data, [&] {
      Bytes row(8);
      open("m-images-idx3-ubyte.gz")->reader()->read(0, row.data());
    });
  };
  put_members({20});
  expect_parts(read(), {"m-images-idx3-ubyte.gz", "end early"});
  Bytes longer = put_members({all.size()});
  const Bytes again = longer;
  longer.insert(longer.end(), again.begin(), again.end());
  put("m-images-idx3-ubyte.gz", longer);  // the whole file twice
  expect_parts(read(), {"damaged"});
  for (const std::size_t end : {std::size_t{1}, std::size_t{8}}) {  // in the size and the checksum
    Bytes wrong = put_members({20, all.size()});
    wrong[wrong.size() - end] ^= 1;
    put("m-images-idx3-ubyte.gz", wrong);
    expect_parts(read(), {"damaged"});
  }
}

TEST_F(Idx, RefusesDamagedFiles) {
  const Bytes good = images();
  const auto with = [&](std::size_t at, std::uint8_t value) {
    Bytes bytes = good;
    bytes[at] = value;
    put("a-images-idx3-ubyte", bytes);
    return refused("a-images-idx3-ubyte");
  };
  expect_parts(with(0, 7), {"not an IDX file", "two zero bytes"});
  expect_parts(with(2, 0x0A), {"its type is 0x0a"});
  expect_parts(with(3, 0), {"0 extents"});
  expect_parts(with(3, 200), {"200 extents"});
  expect_parts(with(7, 4), {"extents [4, 2, 4] need 32 bytes", "it has 24"});
  expect_parts(with(4, 255), {"need"});
  put("a-images-idx3-ubyte", {good.begin(), good.end() - 1});
  expect_parts(refused("a-images-idx3-ubyte"), {"it has 23"});

  put_compressed("c-images-idx3-ubyte.gz", good);
  put_compressed("c-labels-idx1-ubyte.gz", idx(0x08, {3}, {1, 0, 2}));
  const std::string whole = read_text(folder / "c-images-idx3-ubyte.gz");
  for (const std::size_t size :
       {whole.size() - 1, whole.size() / 2, std::size_t{12}, std::size_t{3}}) {
    put("c-images-idx3-ubyte.gz",
        {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
    const std::string message = message_of(ErrorKind::data, [&] {
      Bytes row(8);
      open("c-images-idx3-ubyte.gz")->reader()->read(0, row.data());
    });
    expect_parts(message, {"c-images-idx3-ubyte.gz"});
  }
}

}  // namespace
}  // namespace wellspring::test
