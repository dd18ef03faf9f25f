// Exports and previews of samples.
#include "export/samples.h"

#include "core/error.h"
#include "core/io/npy.h"
#include "core/picture/font.h"
#include "export/export.h"
#include "export/preview.h"
#include "tests/generators/collect.h"
#include "tests/generators/golden.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace wellspring {
namespace {

TEST(Export, WritesSamplesAndTheirTruth) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "shapes.npz";
  const auto generator = make_generator("shapes", 12);
  GeneratorReader feed(*generator, {3, 10, 20}, {Device::cpu(), 7, 1});
  export_samples(feed, path);
  const auto samples = test::collect(*generator, {3, 10, 20});

  const NpyArray x = read_npz(path, "x"), label = read_npz(path, "label");
  const NpyArray latents = read_npz(path, "latents"), weight = read_npz(path, "weight");
  EXPECT_EQ(x.spec.shape, (std::vector<std::int64_t>{20, 12, 12, 3}));
  EXPECT_TRUE(std::ranges::equal(x.as<float>(), samples.x));
  EXPECT_TRUE(std::ranges::equal(label.as<std::int64_t>(), samples.label));
  EXPECT_EQ(latents.spec.shape, (std::vector<std::int64_t>{20, 17}));
  EXPECT_TRUE(std::ranges::equal(latents.as<float>(), samples.latents));
  EXPECT_TRUE(std::ranges::equal(weight.as<float>(), samples.weight));
  const NpyArray source = read_npz(path, "source"), sample = read_npz(path, "sample");
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(source.as<std::int32_t>()[i], 0);
    EXPECT_EQ(sample.as<std::int64_t>()[i], 10 + static_cast<std::int64_t>(i));
  }
}

// An exception in the progress callback must leave no file.
TEST(Export, ReportsProgressAndStopsAtAnException) {
  const test::TemporaryFolder folder;
  std::vector<std::uint64_t> reported;
  GeneratorReader feed(make_generator("noise", 4), {0, 0, 20}, {Device::cpu(), 7, 1});
  export_samples(feed, folder.path() / "a.npz",
                 {"", [&](std::uint64_t done) { reported.push_back(done); }});
  EXPECT_EQ(reported, (std::vector<std::uint64_t>{7, 14, 20}));

  GeneratorReader again(make_generator("noise", 4), {0, 0, 20}, {Device::cpu(), 7, 1});
  EXPECT_THROW(export_samples(again, folder.path() / "b.npz",
                              {"",
                               [](std::uint64_t done) {
                                 if (done > 7) throw std::runtime_error("enough");
                               }}),
               std::runtime_error);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a.npz"});
}

TEST(Export, WritesEventsAsRowsOfFeatures) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "events.npz";
  GeneratorReader feed(make_generator("ee_mumu", 1), {3, 0, 100});
  export_samples(feed, path);
  EXPECT_EQ(read_npz(path, "x").spec.shape, (std::vector<std::int64_t>{100, 2}));
}

TEST(Export, RefusesUnknownExtensions) {
  for (const char* name : {"a.hdf", "a.tar", "folder", "a.npy"}) {
    try {
      GeneratorReader feed(make_generator("noise", 4), {0, 0, 1});
      export_samples(feed, name);
      FAIL() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::config);
      EXPECT_NE(std::string(error.what()).find(".npz"), std::string::npos) << error.what();
    }
  }
}

std::size_t colours(const RgbImage& image) {
  std::set<std::uint32_t> seen;
  for (std::size_t i = 0; i + 2 < image.pixels.size(); i += 3) {
    seen.insert(image.pixels[i] << 16 | image.pixels[i + 1] << 8 | image.pixels[i + 2]);
  }
  return seen.size();
}

TEST(Preview, EnlargesImagesOnASheet) {
  const auto generator = make_generator("shapes", 32);
  const RgbImage image = preview(*generator, {1, 0, 5});
  EXPECT_EQ(image.pixels.size(), static_cast<std::size_t>(image.width) * image.height * 3);
  EXPECT_GT(image.width, 3 * 96);
  // The first tile shows the first sample enlarged by three: its first pixel has nine copies.
  const auto samples = test::collect(*generator, {1, 0, 1});
  const auto byte = [&](std::size_t c) {
    return static_cast<std::uint8_t>(std::lround(samples.x[c] * 255));
  };
  int hits = 0;
  for (std::size_t p = 0; p + 2 < image.pixels.size(); p += 3) {
    hits += image.pixels[p] == byte(0) && image.pixels[p + 1] == byte(1) &&
                    image.pixels[p + 2] == byte(2)
                ? 1
                : 0;
  }
  EXPECT_GE(hits, 9);
}

// Values outside the range of a picture, including NaN, are counted.
TEST(Preview, CountsClampedValues) {
  SampleOrigin origin;
  origin.info.classes = {"a"};
  origin.augmentation.mean[0] = 0.5f;  // drawn as x / 2 + 0.5
  origin.augmentation.inv_std[0] = 2;
  const auto clamped = [&](std::vector<float> x) {
    HostSamples samples;
    std::int32_t label = 0;
    const Slot slot;
    samples.rows.size = 1;
    samples.rows.layout = SampleLayout::image(1, static_cast<int>(x.size()), 1);
    samples.rows.x = x.data();
    samples.rows.label = &label;
    samples.slots = {&slot, 1};
    const Preview picture = preview({"t", "", ""}, {origin}, samples);
    EXPECT_EQ(picture.values, x.size());
    return picture.clamped;
  };
  EXPECT_EQ(clamped({-1, 0, 1}), 0u);
  EXPECT_EQ(clamped({-1.003f, 1.003f}), 0u) << "less than half a step of 8 bits: 1/255";
  EXPECT_EQ(clamped({-1.005f, 1.005f, 0}), 2u);
  EXPECT_EQ(clamped({std::numeric_limits<float>::quiet_NaN(), 0}), 1u);
}

TEST(Preview, DrawsEveryGenerator) {
  for (const GeneratorEntry& entry : generator_registry()) {
    const auto generator = make_generator(entry.name, 16, test::read_golden(entry.name).quick);
    // The sheet contains paper, ink and pale ink, and even the plainest sample adds black. The
    // tests of the registry check that no sample is empty.
    EXPECT_GE(colours(preview(*generator, {1, 0, 40})), 4u) << entry.name;
    EXPECT_GT(colours(preview(*generator, {1, 0, 1})), 2u) << entry.name << ", one sample";
  }
}

TEST(Font, HasEveryCharacterInNames) {
  std::string used = "0123456789.,:-+/() []=x";
  for (const GeneratorEntry& entry : generator_registry()) {
    const auto generator = make_generator(entry.name, 8);
    used += entry.name + generator->parameters_yaml();
    for (const std::string& name : generator->info().classes) used += name;
    for (const ValueInfo& value : generator->info().features) used += value.name;
  }
  for (const char character : used) {
    if (character != '\n') {
      EXPECT_EQ(font::glyph(character).character, character);
    }
  }
}

}  // namespace
}  // namespace wellspring
