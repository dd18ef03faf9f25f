// Runs the conversion of scripts/fetch-cifar10 on an artificial archive in the same layout.
#include "core/io/files.h"
#include "sources/files/image_codec.h"
#include "sources/files/image_set.h"
#include "tests/support/image_fixtures.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>
#include <sys/wait.h>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPlane = 32 * 32;

/// `labels.size()` records, each with a label and three planes of noise.
Bytes batch(const std::vector<int>& labels, std::uint32_t seed) {
  std::mt19937 random(seed);
  Bytes result;
  for (const int label : labels) {
    result.push_back(static_cast<std::uint8_t>(label));
    for (std::size_t i = 0; i < 3 * kPlane; ++i) {
      result.push_back(static_cast<std::uint8_t>(random() >> 24));
    }
  }
  return result;
}

std::string short_text(const std::string& text) {
  return fmt::format("U{}{}", static_cast<char>(text.size()), text);
}

/// The pickle (protocol 2) of {"data": NumPy bytes [n, 3072], "labels": list} as Python 2 wrote it.
Bytes pickled(const Bytes& batch) {
  using namespace std::string_literals;
  constexpr std::size_t kRecord = 1 + 3 * kPlane;
  const std::size_t count = batch.size() / kRecord;
  std::string planes, labels;
  for (std::size_t i = 0; i < count; ++i) {
    labels += "K"s + static_cast<char>(batch[i * kRecord]);
    planes.append(batch.begin() + static_cast<std::ptrdiff_t>(i * kRecord + 1),
                  batch.begin() + static_cast<std::ptrdiff_t>((i + 1) * kRecord));
  }
  std::string size;
  for (int shift = 0; shift < 32; shift += 8) size += static_cast<char>(planes.size() >> shift);
  const std::string type = "cnumpy\ndtype\n(" + short_text("u1") + "K\0K\1tR(K\3"s +
                           short_text("|") + "NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb"s;
  const std::string array = "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\0\x85"s +
                            short_text("b") + "tR(K\1K"s + static_cast<char>(count) +
                            "M\0\x0c\x86"s + type + "\x89T" + size + planes + "tb";
  const std::string all =
      "\x80\2}("s + short_text("data") + array + short_text("labels") + "](" + labels + "eu.";
  return Bytes(all.begin(), all.end());
}

class FetchCifar10 : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::system("python3 -c '' >/dev/null 2>&1") != 0) GTEST_SKIP() << "needs python3";
  }
  /// Returns the exit code; messages go to log_.
  int fetch(const std::string& arguments) const {
    const std::string command =
        fmt::format("{}/scripts/fetch-cifar10 {} {} >{} 2>&1", WELLSPRING_SOURCE_DIR,
                    folder_.path().string(), arguments, log_.string());
    return WEXITSTATUS(std::system(command.c_str()));
  }
  int convert(const Bytes& archive, const std::string& md5 = "", const std::string& more = "") {
    const fs::path path = folder_.path() / "cifar.tar";
    write_bytes(path, archive);
    const std::string sum = md5.empty() ? "$(md5sum " + path.string() + " | cut -d' ' -f1)" : md5;
    return fetch(fmt::format("--archive {} --md5 {} {}", path.string(), sum, more));
  }
  void expect_logged(const std::string& part) const {
    const std::string log = read_text(log_);
    EXPECT_NE(log.find(part), std::string::npos) << part << " in\n" << log;
    EXPECT_EQ(log.find("Traceback"), std::string::npos) << log;
  }
  static TarWriter archive(const Bytes& first_batch) {
    TarWriter writer;
    const std::string meta = "zebra\nant\n\n";
    writer.add("cifar/batches.meta.txt", Bytes(meta.begin(), meta.end()));
    writer.add("cifar/data_batch_1.bin", first_batch);
    for (int i = 2; i <= 5; ++i) {
      writer.add(fmt::format("cifar/data_batch_{}.bin", i),
                 batch({0, 1}, 10 + static_cast<std::uint32_t>(i)));
    }
    writer.add("cifar/test_batch.bin", batch({1, 0}, 9));
    return writer;
  }

  TemporaryFolder folder_;
  fs::path log_ = folder_.path() / "log";
};

TEST_F(FetchCifar10, KeepsEveryPixelAndLabel) {
  const Bytes first = batch({1, 0, 1}, 1);
  ASSERT_EQ(convert(archive(first).finish()), 0) << read_text(log_);
  const ImageSet train = ImageSet::open({folder_.path(), "train", 0});
  EXPECT_EQ(train.classes(), (std::vector<std::string>{"ant", "zebra"}));
  EXPECT_EQ(train.size(), 11);
  EXPECT_EQ(train.images_of_class(0), 6);
  EXPECT_TRUE(train.location(0).ends_with("cifar10-train.tar: train/ant/0000.png"));
  EXPECT_EQ(ImageSet::open({folder_.path(), "test", 0}).size(), 2);
  // Ants 0 and 1 are records 0 and 2 of the first batch; zebra 0 is record 1.
  ImageDecoder decoder;
  Bytes encoded, rgb(3 * kPlane);
  for (const auto& [image, record] : {std::pair{0, 0}, {1, 2}, {6, 1}}) {
    train.read(image, encoded);
    decoder.decode(encoded, decoder.header(encoded), rgb.data());
    const std::size_t planes = static_cast<std::size_t>(record) * (3 * kPlane + 1) + 1;
    for (std::size_t i = 0; i < rgb.size(); ++i) {
      ASSERT_EQ(rgb[i], first[planes + i % 3 * kPlane + i / 3]) << image << " " << i;
    }
  }
}

TEST_F(FetchCifar10, ConvertsThePythonVersion) {
  TarWriter writer;
  const std::string meta = "\x80\2}" + short_text("label_names") + "](" + short_text("zebra") +
                           short_text("ant") + "es.";
  writer.add("py/batches.meta", Bytes(meta.begin(), meta.end()));
  const Bytes first = batch({1, 0, 1}, 1);
  for (int i = 1; i <= 5; ++i) writer.add(fmt::format("py/data_batch_{}", i), pickled(first));
  writer.add("py/test_batch", pickled(batch({0, 1}, 2)));
  ASSERT_EQ(convert(writer.finish()), 0) << read_text(log_);
  const ImageSet train = ImageSet::open({folder_.path(), "train", 0});
  EXPECT_EQ(train.classes(), (std::vector<std::string>{"ant", "zebra"}));
  EXPECT_EQ(train.images_of_class(0), 10);
  ImageDecoder decoder;
  Bytes encoded, rgb(3 * kPlane);
  train.read(10, encoded);  // the first zebra, record 1
  decoder.decode(encoded, decoder.header(encoded), rgb.data());
  for (std::size_t i = 0; i < rgb.size(); ++i)
    ASSERT_EQ(rgb[i], first[3 * kPlane + 2 + i % 3 * kPlane + i / 3]) << i;
}

// A pickle may name any function, but the script allows only three of NumPy's.
TEST_F(FetchCifar10, RunsNothingFromPickles) {
  TarWriter writer;
  const std::string harm =
      "\x80\2cos\nsystem\n" + short_text("touch " + (folder_ / "harm").string()) + "\x85R.";
  writer.add("py/batches.meta", Bytes(harm.begin(), harm.end()));
  EXPECT_EQ(convert(writer.finish()), 3);
  expect_logged("batches.meta: not a batch of CIFAR-10 (it names os.system)");
  EXPECT_FALSE(fs::exists(folder_ / "harm"));
}

TEST_F(FetchCifar10, RefusesDamagedArchives) {
  const auto refused = [&](const Bytes& packed, const std::string& part, const std::string& md5) {
    EXPECT_EQ(convert(packed, md5), 3);
    expect_logged(part);
    EXPECT_FALSE(fs::exists(folder_.path() / "cifar10-train.tar"));
  };
  refused(archive(batch({0}, 1)).finish(), "or the download is damaged", "0");
  refused(archive(batch({2}, 1)).finish(), "label 2 at byte 0, but there are 2 classes", "");
  refused(archive(Bytes(100, 0)).finish(), "not a whole number of images", "");
  refused(TarWriter().finish(), "contains no batches.meta.txt", "");
  refused(Bytes(2000, 'x'), "cifar.tar: cannot unpack the archive (", "");
}

TEST_F(FetchCifar10, ReportsFailuresWithAdvice) {
  // Port 1 of this machine refuses connections, as if the network were down.
  EXPECT_EQ(fetch("--url http://127.0.0.1:1/cifar.tar.gz"), 1);
  expect_logged("cannot download http://127.0.0.1:1/cifar.tar.gz (");
  expect_logged("scripts/fetch-cifar10 DIR --archive cifar.tar.gz");
  EXPECT_EQ(fetch("--url nonsense"), 1);
  expect_logged("cannot download nonsense (");
  EXPECT_EQ(fetch("--archive " + (folder_.path() / "nowhere").string()), 3);
  expect_logged("nowhere: No such file or directory");
  EXPECT_EQ(fetch("--limit 39"), 2);
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_.path()))
    EXPECT_EQ(entry.path(), log_);  // no other file may remain
}

TEST_F(FetchCifar10, KeepsTheFirstOfEachClassUpToALimit) {
  // With two classes, 80 gives 40 training images per class and 10 test images.
  const std::vector<int> many(50, 1);
  std::vector<int> both = many;
  both.insert(both.end(), 42, 0);
  ASSERT_EQ(convert(archive(batch(both, 1)).finish(), "", "--limit 80"), 0) << read_text(log_);
  const ImageSet train = ImageSet::open({folder_.path(), "train", 0});
  EXPECT_EQ(train.images_of_class(0), 40);
  EXPECT_EQ(train.images_of_class(1), 40);
  EXPECT_TRUE(train.location(39).ends_with("ant/0039.png"));
  EXPECT_EQ(ImageSet::open({folder_.path(), "test", 0}).size(), 2);  // the archive has only two
}

}  // namespace
}  // namespace wellspring::test
