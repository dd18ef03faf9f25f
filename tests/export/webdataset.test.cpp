// WebDataset shards: contents, interruption and refusals.
#include "export/layouts/webdataset.h"

#include "core/io/npy.h"
#include "core/io/sha256.h"
#include "core/signals.h"
#include "sources/files/format.h"
#include "sources/files/tar.h"
#include "tests/generators/collect.h"
#include "tests/support/error_testing.h"
#include "tests/support/temporary_folder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kCount = 23;

GeneratorReader feed_of(const std::string& generator, std::uint64_t count = kCount,
                        std::uint64_t seed = 3) {
  SampleMaking making{Device::cpu(), 7, 1};
  if (generator == "shapes") making.dense = DenseLabels::plane;
  return {make_generator(generator, 8), {seed, 10, count}, making};
}

ExportReport write(const fs::path& folder, const std::string& generator,
                   const ExportOptions& options = {kWebDataset, {}, {}, {}, 5}) {
  GeneratorReader feed = feed_of(generator);
  return export_samples(feed, folder, options);
}

/// Members of all shards, by name.
std::map<std::string, std::string> members_of(const fs::path& folder) {
  std::map<std::string, std::string> members;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".tar") continue;
    const InputFile file(entry.path());
    for (const TarMember& member : read_tar_index(file)) {
      std::string content(member.bytes, '\0');
      file.read(member.offset, std::as_writable_bytes(std::span(content)));
      EXPECT_TRUE(members.emplace(member.path, content).second) << member.path;
    }
  }
  return members;
}

nlohmann::json index_of(const fs::path& folder) {
  return nlohmann::json::parse(slurp(folder / "index.json"));
}

std::vector<float> npy_of(const TemporaryFolder& folder, const std::string& bytes) {
  spill(folder / "a.npy", bytes);
  const NpyArray array = read_npy(folder / "a.npy");
  return {array.as<float>().begin(), array.as<float>().end()};
}

TEST(WebDatasetExport, IsADataSetWithTheSameImagesAndLabels) {
  const TemporaryFolder folder;
  const ExportReport report = write(folder / "s", "shapes");
  EXPECT_EQ(report.arrays.size(), 5u);
  const auto rows = open_dataset(
      {.path = folder / "s/shard-{000000..000004}.tar", .settings = {{"classes", "classes.txt"}}});
  const auto generator = make_generator("shapes", 8);
  const auto samples = collect(*generator, {3, 10, kCount});
  ASSERT_EQ(rows->size(), static_cast<std::int64_t>(kCount));
  EXPECT_EQ(rows->classes(), generator->info().classes);
  std::vector<std::uint8_t> pixels(8 * 8 * 3);
  for (std::size_t row = 0; row < kCount; ++row) {
    EXPECT_EQ(rows->label(static_cast<std::int64_t>(row)), samples.label[row]);
    rows->reader()->read(static_cast<std::int64_t>(row), pixels.data());
    for (std::size_t i = 0; i < pixels.size(); ++i)
      ASSERT_EQ(pixels[i], std::lround(255 * samples.x[row * pixels.size() + i])) << row;
  }
}

TEST(WebDatasetExport, StoresTheTruthOfEverySample) {
  const TemporaryFolder folder;
  write(folder / "s", "shapes");
  const auto members = members_of(folder / "s");
  EXPECT_EQ(members.size(), 4 * kCount);
  const auto generator = make_generator("shapes", 8);
  const auto samples = collect(*generator, {3, 10, kCount});
  const nlohmann::json truth = nlohmann::json::parse(members.at("000000004.json"));
  EXPECT_EQ(truth["source"], "shapes");
  EXPECT_EQ(truth["sample"], 14);
  const auto& latents = generator->info().latents;
  for (std::size_t i = 0; i < latents.size(); ++i)
    EXPECT_EQ(truth["latents"][latents[i].name].get<float>(),
              samples.latents[4 * latents.size() + i]);
  EXPECT_EQ(npy_of(folder, members.at("000000004.plane.npy")).size(), 64u);
}

TEST(WebDatasetExport, StoresEventsAndSetsAsArrays) {
  const TemporaryFolder folder;
  for (const char* generator : {"ee_mumu", "ginkgo"}) {
    write(folder / generator, generator);
    GeneratorReader feed = feed_of(generator);
    const auto members = members_of(folder / generator);
    std::size_t number = 0;
    feed.make([&](const HostSamples& samples) {
      const auto width = static_cast<std::size_t>(samples.rows.layout.elements());
      for (std::size_t row = 0; row < static_cast<std::size_t>(samples.count()); ++row) {
        const std::vector<float> x = npy_of(folder, members.at(fmt::format("{:09}.npy", number++)));
        if (!samples.items().empty()) {
          EXPECT_EQ(x.size(),
                    static_cast<std::size_t>(samples.items()[row] * samples.rows.layout.features));
        }
        EXPECT_TRUE(std::ranges::equal(x, samples.x().subspan(row * width, x.size())));
      }
    });
  }
}

TEST(WebDatasetExport, DescribesItsShardsInAnIndex) {
  const TemporaryFolder folder;
  write(folder / "s", "shapes");
  const nlohmann::json index = index_of(folder / "s");
  EXPECT_EQ(index["complete"], true);
  EXPECT_EQ(index["samples"], kCount);
  EXPECT_EQ(index["metadata"]["sources"][0]["name"], "shapes");
  ASSERT_EQ(index["shards"].size(), 5u);
  EXPECT_EQ(index["shards"][4]["samples"], 3);
  for (const nlohmann::json& shard : index["shards"]) {
    const std::string bytes = slurp(folder / "s" / shard["name"].get<std::string>());
    EXPECT_EQ(shard["bytes"], bytes.size());
    EXPECT_EQ(shard["sha256"], Sha256().update(bytes_of(bytes)).hex());
  }
}

// Every attempt is interrupted after its first batch, so each attempt gets one batch further.
TEST(WebDatasetExport, GoesOnAfterAnInterruptionWithTheSameBytes) {
  const TemporaryFolder folder;
  for (const char* generator : {"shapes", "ginkgo"}) {
    const fs::path whole = folder / (std::string(generator) + "-whole"), parts = folder / generator;
    write(whole, generator);
    std::vector<std::uint64_t> resumed;
    for (bool ended = true; ended;) {
      ended = false;
      const auto stop = [&](std::uint64_t done) {
        if (done < kCount) throw Interrupted{};
      };
      try {
        resumed.push_back(write(parts, generator, {kWebDataset, stop, {}, {}, 5}).resumed);
      } catch (const Interrupted&) {
        ended = true;
        EXPECT_EQ(index_of(parts)["complete"], false);
      }
    }
    EXPECT_EQ(resumed, std::vector<std::uint64_t>{20});  // 5, 10, 15 before
    EXPECT_EQ(files_of(parts).size(), files_of(whole).size());
    for (const auto& [name, bytes] : files_of(whole))
      EXPECT_TRUE(name == "index.json" || files_of(parts)[name] == bytes) << name;
    EXPECT_EQ(index_of(parts)["shards"], index_of(whole)["shards"]);
  }
}

TEST(WebDatasetExport, LeavesACompleteExportUnchanged) {
  const TemporaryFolder folder;
  write(folder / "s", "shapes");
  const auto before = files_of(folder / "s");
  EXPECT_EQ(write(folder / "s", "shapes").resumed, kCount);
  EXPECT_EQ(files_of(folder / "s"), before);
}

TEST(WebDatasetExport, DoesNotDependOnTheNumberOfThreads) {
  const TemporaryFolder folder;
  write(folder / "one", "shapes", {kWebDataset, {}, {}, {}, 5, 1});
  write(folder / "three", "shapes", {kWebDataset, {}, {}, {}, 5, 3});
  EXPECT_EQ(files_of(folder / "one"), files_of(folder / "three"));
}

TEST(WebDatasetExport, RefusesOtherFoldersAndSettings) {
  const TemporaryFolder folder;
  write(folder / "s", "shapes");
  const auto refused = [&](const fs::path& path, const ExportOptions& options,
                           const std::string& generator = "shapes", std::uint64_t seed = 3) {
    GeneratorReader feed = feed_of(generator, kCount, seed);
    return message_of(ErrorKind::config, [&] { export_samples(feed, path, options); });
  };
  const ExportOptions five{kWebDataset, {}, {}, {}, 5};
  expect_parts(refused(folder / "s", {kWebDataset, {}, {}, {}, 6}),
               {"different settings", "shard_samples is 5 there and 6 here"});
  expect_parts(refused(folder / "s", five, "shapes", 4), {"seed is 3 there and 4 here"});
  GeneratorReader larger(make_generator("shapes", 9), {3, 10, kCount},
                         {Device::cpu(), 7, 1, DenseLabels::plane});
  expect_parts(message_of(ErrorKind::config, [&] { export_samples(larger, folder / "s", five); }),
               {"different settings", "size is 8 there and 9 here"});
  expect_parts(refused(folder / "s", five, "noise"), {"generator is \"shapes\" there"});
  expect_parts(refused(folder / "s.npz", five), {"cannot be used with", "without an extension"});
  expect_parts(refused(folder / "t", {kWebDataset, {}, {}, {Codec::lz4}, 5}), {"--compress"});
  expect_parts(refused(folder / "t", {kWebDataset, {}, {ElementType::u8, false}}), {"--pixels"});
  fs::create_directory(folder / "photos");
  spill(folder / "photos/a.jpg", "x");
  expect_parts(refused(folder / "photos", five), {"not empty", "'a.jpg'"});
  spill(folder / "photos/index.json", "[1]");
  expect_parts(refused(folder / "photos", five), {"was not written by an export"});
  spill(folder / "s/shard-000002.tar", "short");
  expect_parts(refused(folder / "s", five), {"shard-000002.tar is missing, or its size differs"});
  nlohmann::json index = index_of(folder / "s");
  for (const char* key : {"complete", "samples", "shards"}) {
    nlohmann::json damaged = index;
    damaged["shards"].clear();
    damaged.erase(key);
    spill(folder / "s/index.json", damaged.dump());
    expect_parts(refused(folder / "s", five), {"damaged"});
  }
}

/// Pictures from a reader that makes all samples, even unneeded ones.
struct WholeReader final : SampleReader {
  GeneratorReader inner = feed_of("dead_leaves");
  std::function<void(const HostSamples&)> change = [](const HostSamples&) {};

  std::uint64_t count() const override { return inner.count(); }
  SampleLayout layout() const override { return inner.layout(); }
  const std::vector<SampleOrigin>& origins() const override { return inner.origins(); }
  void make(const std::function<void(const HostSamples&)>& take) override {
    inner.make([&](const HostSamples& samples) {
      change(samples);
      take(samples);
    });
  }
  SetOverflow overflow() const override { return {}; }
  SampleHeading heading() const override { return inner.heading(); }
  std::string summary() const override { return inner.summary(); }
  nlohmann::ordered_json identity() const override { return inner.identity(); }
  nlohmann::ordered_json making() const override { return inner.making(); }
};

TEST(WebDatasetExport, LeavesOutSamplesThatAreMadeAgain) {
  const TemporaryFolder folder;
  write(folder / "whole", "dead_leaves");
  const auto stop = [](std::uint64_t done) {
    if (done == 14) throw Interrupted{};
  };
  WholeReader first, second;
  EXPECT_THROW(export_samples(first, folder / "parts", {kWebDataset, stop, {}, {}, 5}),
               Interrupted);
  EXPECT_EQ(export_samples(second, folder / "parts", {kWebDataset, {}, {}, {}, 5}).resumed, 10u);
  EXPECT_EQ(files_of(folder / "parts"), files_of(folder / "whole"));
}

TEST(WebDatasetExport, RefusesValuesThatAreNotPixels) {
  const TemporaryFolder folder;
  WholeReader reader;
  reader.change = [](const HostSamples& samples) { static_cast<float*>(samples.rows.x)[0] = -2; };
  expect_parts(
      message_of(ErrorKind::data, [&] { export_samples(reader, folder / "s", {kWebDataset}); }),
      {"cannot write the value -2"});
  EXPECT_FALSE(fs::exists(folder / "s/shard-000000.tar"));
}

}  // namespace
}  // namespace wellspring::test
