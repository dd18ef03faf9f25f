// Folders written by `pack`: reading them gives the same rows, interrupted exports continue, and
// image files are copied.
#include "core/io/sha256.h"
#include "core/signals.h"
#include "export/array_shards.h"
#include "export/layouts/webdataset.h"
#include "export/shard_folder.h"
#include "sources/dataset_reader.h"
#include "sources/files/tar.h"
#include "tests/sources/files/hdf5_testing.h"
#include "tests/support/dataset_fixtures.h"
#include "tests/support/error_testing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kCount = 23, kShard = 5;

/// All information of a data set about its rows.
struct Rows {
  RowLayout layout;
  std::vector<std::string> classes;
  std::vector<Bytes> bytes;
  std::vector<std::int32_t> label;
  std::vector<float> latents, targets;
  friend bool operator==(const Rows&, const Rows&) = default;
};

Rows rows_of(const Dataset& data) {
  Rows rows{data.layout(), data.classes(), {}, {}, {}, {}};
  const auto reader = data.reader();
  std::vector<float> latents(data.latents().size()), targets(data.targets().size());
  for (std::int64_t row = data.size(); row-- > 0;) {  // backwards, across shards
    Bytes bytes(static_cast<std::size_t>(data.layout().bytes()));
    reader->check(row);
    reader->read(row, bytes.data());
    rows.bytes.push_back(std::move(bytes));
    rows.label.push_back(data.label(row));
    data.read_latents(row, latents.data());
    data.read_targets(row, targets.data());
    rows.latents.insert(rows.latents.end(), latents.begin(), latents.end());
    rows.targets.insert(rows.targets.end(), targets.begin(), targets.end());
  }
  return rows;
}

ExportOptions shards_of(const std::string& format) {
  ExportOptions options;
  options.shards = format;
  options.shard_samples = kShard;
  return options;
}

class Packed : public DatasetFiles {
 protected:
  static ExportReport pack(const std::string& generator, const fs::path& out,
                           const ExportOptions& options) {
    GeneratorReader feed(make_generator(generator, 8), {3, 10, kCount}, {Device::cpu(), 7, 1});
    return export_samples(feed, out, options);
  }
  static ExportReport pack_files(const DatasetRequest& request, const fs::path& out,
                                 const ExportOptions& options) {
    DatasetReader feed(request, 0, {});
    return export_samples(feed, out, options);
  }
  /// Members of the first tar shard, by name.
  static std::map<std::string, std::string> members_of(const fs::path& folder) {
    std::map<std::string, std::string> members;
    const InputFile file(folder / shard_name(0, ".tar"));
    for (const TarMember& member : read_tar_index(file)) {
      std::string content(member.bytes, '\0');
      file.read(member.offset, std::as_writable_bytes(std::span(content)));
      members[member.path] = content;
    }
    return members;
  }
};

TEST_F(Packed, GeneratedSamplesAreReadLikeThoseOfOneFile) {
  for (const char* generator : {"shapes", "ee_mumu", "ginkgo"}) {
    for (const auto& [format, extension] :
         {std::pair(kNpzShards, ".npz"), std::pair(kHdf5Shards, ".h5")}) {
      const std::string name = fmt::format("{}-{}", generator, format);
      const ExportReport report = pack(generator, path(name), shards_of(format));
      EXPECT_EQ(report.arrays.size(), 5u);
      pack(generator, path(name + extension), {"columns", {}});
      const auto shards = open(name);
      EXPECT_EQ(rows_of(*shards), rows_of(*open(name + extension))) << name;
      EXPECT_EQ(shards->size(), static_cast<std::int64_t>(kCount));
      EXPECT_EQ(shards->location(12),
                fmt::format("{}: row 2", (path(name) / shard_name(2, extension)).string()));
      expect_parts(shards->summary(), {"23 rows", "5 shards"});
    }
  }
}

TEST_F(Packed, RowsOfFilesAreReadAsBefore) {
  const LabelledImages images = labelled_noise(3, 4, 6);
  write_as_folder(path("photos"), images);
  const Rows before = rows_of(*open("photos"));
  ExportOptions bytes = shards_of(kNpzShards);
  bytes.images.pixels = ElementType::u8;
  pack_files({.path = path("photos")}, path("bytes"), bytes);
  pack_files({.path = path("photos")}, path("reals"), shards_of(kHdf5Shards));
  EXPECT_EQ(rows_of(*open("bytes")), before);
  EXPECT_EQ(rows_of(*open("reals")), before);
}

TEST_F(Packed, HasTheChecksumOfEveryShardInItsIndex) {
  pack("shapes", path("s"), shards_of(kNpzShards));
  const nlohmann::json index = nlohmann::json::parse(slurp(path("s") / kShardIndex));
  EXPECT_EQ(index["format"], kNpzShards);
  EXPECT_EQ(index["complete"], true);
  EXPECT_EQ(index["samples"], kCount);
  EXPECT_EQ(index["metadata"]["sources"][0]["name"], "shapes");
  ASSERT_EQ(index["shards"].size(), 5u);
  EXPECT_EQ(index["shards"][4]["samples"], 3);
  for (const nlohmann::json& shard : index["shards"]) {
    const std::string bytes = slurp(path("s") / shard["name"].get<std::string>());
    EXPECT_EQ(shard["bytes"], bytes.size());
    EXPECT_EQ(shard["sha256"], Sha256().update(bytes_of(bytes)).hex());
  }
}

// Every attempt is interrupted after its first batch, so each attempt gets one batch further.
TEST_F(Packed, GoesOnAfterAnInterruptionWithTheSameBytes) {
  for (const char* generator : {"shapes", "ginkgo"}) {
    for (const char* format : {kNpzShards, kHdf5Shards}) {
      const fs::path whole = path(fmt::format("{}-{}-whole", generator, format)),
                     parts = path(fmt::format("{}-{}", generator, format));
      pack(generator, whole, shards_of(format));
      ExportOptions stopping = shards_of(format);
      stopping.progress = [](std::uint64_t done) {
        if (done < kCount) throw Interrupted{};
      };
      std::vector<std::uint64_t> resumed;
      while (resumed.empty()) {
        try {
          resumed.push_back(pack(generator, parts, stopping).resumed);
        } catch (const Interrupted&) {
          ASSERT_EQ(nlohmann::json::parse(slurp(parts / kShardIndex))["complete"], false);
        }
      }
      EXPECT_EQ(resumed, std::vector<std::uint64_t>{20});  // 5, 10, 15 before
      EXPECT_EQ(files_of(parts).size(), files_of(whole).size());
      for (const auto& [name, bytes] : files_of(whole))
        EXPECT_TRUE(name == kShardIndex || files_of(parts)[name] == bytes) << name;
      const auto before = files_of(parts);
      EXPECT_EQ(pack(generator, parts, shards_of(format)).resumed, kCount);
      EXPECT_EQ(files_of(parts), before) << "a complete export stays as it is";
    }
  }
}

// Copies the folder after every batch, as a kill would leave it: with temporary files, and with
// complete shards that are not listed yet.
TEST_F(Packed, GoesOnAfterAKill) {
  ExportOptions tar;
  tar.layout = kWebDataset;
  tar.shard_samples = kShard;
  for (ExportOptions options : {shards_of(kNpzShards), shards_of(kHdf5Shards), tar}) {
    const std::string name = options.shards + options.layout;
    std::vector<std::string> killed;
    options.progress = [&](std::uint64_t done) {
      killed.push_back(fmt::format("{}-{}", name, done));
      fs::copy(path(name), path(killed.back()), fs::copy_options::recursive);
    };
    pack("shapes", path(name), options);
    ASSERT_EQ(killed.size(), 4u);
    options.progress = {};
    for (const std::string& left : killed) {
      pack("shapes", path(left), options);
      EXPECT_EQ(files_of(path(left)).size(), files_of(path(name)).size()) << left;
      for (const auto& [file, bytes] : files_of(path(name)))
        EXPECT_TRUE(file == kShardIndex || files_of(path(left))[file] == bytes) << left << file;
    }
  }
}

// Nothing has been written that other settings could contradict.
TEST_F(Packed, StartsAgainWithOtherSettingsIfThereIsNoShard) {
  write_bytes(path("p") / "a/1.png", encode_png(noise_rgb(6, 6, 1), 6, 6));
  write_bytes(path("p") / "a/2.jpg", {'n', 'o'});
  DatasetRequest request{.path = path("p")};
  message_of(ErrorKind::data, [&] { pack_files(request, path("s"), shards_of(kNpzShards)); });
  request.settings = {{"on_error", "skip", {}}};
  EXPECT_EQ(pack_files(request, path("s"), shards_of(kHdf5Shards)).arrays.size(), 1u);
}

TEST_F(Packed, RefusesTooManyShardsBeforeItCreatesTheFolder) {
  GeneratorReader feed(make_generator("shapes", 8), {3, 0, 10'001}, {Device::cpu(), 7, 1});
  ExportOptions npz = shards_of(kNpzShards), tar;
  tar.layout = kWebDataset;
  for (ExportOptions options : {npz, tar}) {
    options.shard_samples = 1;
    expect_parts(
        message_of(ErrorKind::config, [&] { export_samples(feed, path("s"), options); }),
        {"10001 samples in shards of 1 would be 10001 shards", "at most 10000", "--shard-samples"});
    EXPECT_FALSE(fs::exists(path("s")));
  }
}

TEST_F(Packed, RefusesOtherFoldersAndSettings) {
  pack("shapes", path("s"), shards_of(kNpzShards));
  const auto refused_as = [&](const std::string& out, const ExportOptions& options) {
    return message_of(ErrorKind::config, [&] { pack("shapes", path(out), options); });
  };
  ExportOptions other = shards_of(kNpzShards);
  other.shard_samples = 6;
  expect_parts(refused_as("s", other), {"shard_samples is 5 there and 6 here"});
  other = shards_of(kNpzShards);
  other.images.pixels = ElementType::u8;
  expect_parts(refused_as("s", other), {"pixels is \"f32\" there and \"u8\" here"});
  GeneratorReader wide(make_generator("shapes", {8, 9}), {3, 10, kCount}, {Device::cpu(), 7, 1});
  expect_parts(message_of(ErrorKind::config,
                          [&] { export_samples(wide, path("s"), shards_of(kNpzShards)); }),
               {"size is 8 there and [8,9] here"});
  expect_parts(refused_as("s", shards_of(kHdf5Shards)), {"another format", "\"npz\" there"});
  expect_parts(refused_as("s.npz", shards_of(kNpzShards)),
               {"--format npz", "without an extension"});
  expect_parts(refused_as("t", shards_of("csv")), {"unknown format of shards 'csv'"});
  other = shards_of(kNpzShards);
  other.compression = {Codec::gzip, 3};
  expect_parts(refused_as("t", other), {"--compress"});
  other = shards_of(kNpzShards);
  other.layout = kWebDataset;
  expect_parts(refused_as("t", other), {"--format cannot be used with --layout webdataset"});
  other = shards_of(kNpzShards);
  other.reencode = true;
  expect_parts(refused_as("t", other), {"--reencode"});
  spill(path("s") / shard_name(1, ".npz"), "short");
  expect_parts(refused_as("s", shards_of(kNpzShards)),
               {"shard-000001.npz is missing, or its size"});
}

/// Files of other programs: rows of two features, and labels.
class ArrayShards : public Packed {
 protected:
  void add(const std::string& name, const std::vector<std::int64_t>& labels, int features = 2,
           bool named = true) const {
    NpzWriter file(path(name));
    const auto rows = static_cast<std::int64_t>(labels.size());
    const std::vector<float> x(labels.size() * static_cast<std::size_t>(features), 1.f);
    file.add("x", {ElementType::f32, {rows, features}}, bytes_of(x));
    if (named) file.add("label", {ElementType::i64, {rows}}, bytes_of(labels));
    file.commit();
  }
};

TEST_F(ArrayShards, AreJoinedInTheOrderOfTheirNames) {
  add("a-0.npz", {2, 0, 0});
  add("a-1.npz", {0, 1, 2, 1});
  const auto labels = [&](const DatasetRequest& request) {
    const auto data = open_dataset(request);
    std::vector<std::int32_t> labels;
    for (std::int64_t row = 0; row < data->size(); ++row) labels.push_back(data->label(row));
    EXPECT_EQ(data->classes(), (std::vector<std::string>{"0", "1", "2"}));
    return labels;
  };
  using Labels = std::vector<std::int32_t>;
  EXPECT_EQ(labels({.path = path("a-{0..1}.npz")}), (Labels{2, 0, 0, 0, 1, 2, 1}));
  EXPECT_EQ(labels({.path = path("a-{1,0}.npz")}), (Labels{0, 1, 2, 1, 2, 0, 0}));
  EXPECT_EQ(labels({.path = path(""), .format = "npz"}), (Labels{2, 0, 0, 0, 1, 2, 1}));
  EXPECT_EQ(labels({.path = path("a-{0..1}.npz"), .limit_per_class = 1}), (Labels{2, 0, 1}));
  EXPECT_EQ(labels({.path = path("a-1.npz")}), (Labels{0, 1, 2, 1}));
}

TEST_F(ArrayShards, RefusesFilesThatDiffer) {
  add("a.npz", {0, 1});
  add("b.npz", {0, 1}, 3);
  expect_parts(refused("{a,b}.npz"),
               {"b.npz: rows are event of 3 features", "a.npz: event of 2 features"});
  expect_parts(refused("{a,c}.npz"), {"c.npz"});
  fs::create_directory(path("none"));
  expect_parts(
      message_of(ErrorKind::data, [&] { open_dataset({.path = path("none"), .format = "npz"}); }),
      {"none: no shards"});
}

TEST_F(Packed, ImageFilesAreCopied) {
  const Bytes jpeg = encode_jpeg(noise_rgb(9, 7, 1), 9, 7),
              png = encode_png(noise_rgb(5, 8, 2), 5, 8),
              webp = encode_webp(noise_rgb(6, 6, 3), 6, 6);
  write_bytes(path("p") / "a/1.jpeg", jpeg);
  write_bytes(path("p") / "a/2.png", png);
  write_bytes(path("p") / "b/3.webp", webp);
  const ExportReport report = pack_files({.path = path("p")}, path("s"), {kWebDataset});
  EXPECT_TRUE(report.copied);
  const auto members = members_of(path("s"));
  EXPECT_EQ(members.at("000000000.jpg"), std::string(jpeg.begin(), jpeg.end()));
  EXPECT_EQ(members.at("000000001.png"), std::string(png.begin(), png.end()));
  EXPECT_EQ(members.at("000000002.webp"), std::string(webp.begin(), webp.end()));
  EXPECT_EQ(members.at("000000002.cls"), "1");
  const nlohmann::json truth = nlohmann::json::parse(members.at("000000001.json"));
  EXPECT_EQ(truth["location"], (path("p") / "a/2.png").string());
  const std::vector<ParamSetting> resized = {{"resize", "6", {}}},
                                  named = {{"resize", "6", {}}, {"classes", "classes.txt", {}}};
  EXPECT_EQ(rows_of(*open("s", named)), rows_of(*open("p", resized)));
  // The same members as in a shard with decoded images, except for the image.
  const ExportReport again =
      pack_files({.path = path("p"), .settings = resized}, path("decoded"), {kWebDataset});
  EXPECT_FALSE(again.copied);
  const auto decoded = members_of(path("decoded"));
  EXPECT_EQ(decoded.at("000000001.json"), members.at("000000001.json"));
  EXPECT_EQ(decoded.count("000000000.jpg"), 0u);
  EXPECT_EQ(rows_of(*open("decoded", {{"classes", "classes.txt", {}}})),
            rows_of(*open("p", resized)));
}

TEST_F(Packed, NamesThatAreNotUtf8AreEscapedOrRefused) {
  const Bytes png = encode_png(noise_rgb(6, 6, 1), 6, 6);
  write_bytes(path("files") / "a/caf\xe9.png", png);
  pack_files({.path = path("files")}, path("s"), {kWebDataset});
  const nlohmann::json truth = nlohmann::json::parse(members_of(path("s")).at("000000000.json"));
  EXPECT_EQ(truth["location"], (path("files") / "a/caf\\xe9.png").string());
  write_bytes(path("classes") / "caf\xe9/1.png", png);
  write_bytes(path("fold\xe9r") / "a/1.png", png);
  for (const ExportOptions& options : {shards_of(kNpzShards), ExportOptions{kWebDataset}}) {
    expect_parts(message_of(ErrorKind::data,
                            [&] { pack_files({.path = path("classes")}, path("t"), options); }),
                 {"classes: the name of class 'caf\\xe9' is not UTF-8", "rename"});
    expect_parts(message_of(ErrorKind::config,
                            [&] { pack_files({.path = path("fold\xe9r")}, path("t"), options); }),
                 {"fold\\xe9r: not UTF-8", "symbolic link"});
  }
  EXPECT_FALSE(fs::exists(path("t")));
}

TEST_F(Packed, ImageFilesAreDecodedIfAskedOrIfSomethingChangesThem) {
  write_as_folder(path("p"), labelled_noise(2, 3, 6));
  ExportOptions options{kWebDataset};
  EXPECT_TRUE(pack_files({.path = path("p")}, path("copied"), options).copied);
  for (const auto& [key, value] : {std::pair("on_convert", "convert"), std::pair("exif", "ignore")})
    EXPECT_FALSE(
        pack_files({.path = path("p"), .settings = {{key, value, {}}}}, path(key), options).copied)
        << key;
  options.reencode = true;
  EXPECT_FALSE(pack_files({.path = path("p")}, path("png"), options).copied);
  const std::vector<ParamSetting> classes = {{"classes", "classes.txt", {}}};
  EXPECT_EQ(rows_of(*open("png", classes)), rows_of(*open("p")));
  EXPECT_EQ(rows_of(*open("copied", classes)), rows_of(*open("p")));
  expect_parts(message_of(ErrorKind::config,
                          [&] { pack_files({.path = path("p")}, path("copied"), options); }),
               {"different settings"});
  const DatasetRequest own_sizes{.path = path("p"), .settings = {{"canvas", "8", {}}}};
  expect_parts(
      message_of(ErrorKind::config, [&] { pack_files(own_sizes, path("c"), {kWebDataset}); }),
      {"keep their own sizes", "resize"});
}

TEST_F(Packed, CopyingRefusesFilesThatCannotBeReadBack) {
  const LabelledImages images = labelled_noise(2, 3, 6);
  write_as_folder(path("p"), images);
  const fs::path file = path("p") / images.classes.back() / "x.jpg";
  write_bytes(file, encode_jpeg(noise_rgb(6, 6, 1), 6, 6, JpegKind::grey));
  const auto refused_copy = [&] {
    return message_of(ErrorKind::data,
                      [&] { pack_files({.path = path("p")}, path("s"), {kWebDataset}); });
  };
  expect_parts(refused_copy(), {"x.jpg: greyscale image", "on_convert"});
  write_bytes(file, {'n', 'o'});
  expect_parts(refused_copy(), {"x.jpg"});
}

}  // namespace
}  // namespace wellspring::test
