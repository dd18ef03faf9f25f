// Exports and previews.
#include "generators/samples.h"

#include "core/error.h"
#include "core/font.h"
#include "core/npy.h"
#include "generators/export.h"
#include "generators/preview.h"
#include "tests/generators/collect.h"
#include "tests/generators/golden.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace wellspring {
namespace {

TEST(Export, NpzHoldsTheSamplesAndTheirTruth) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "shapes.npz";
  const auto generator = make_generator("shapes", 12);
  export_samples(*generator, {3, 10, 20}, {Device::cpu(), 7, 1}, path);
  const auto samples = test::collect(*generator, {3, 10, 20});

  const NpyArray x = read_npz(path, "x"), label = read_npz(path, "label");
  const NpyArray latents = read_npz(path, "latents"), weight = read_npz(path, "weight");
  EXPECT_EQ(x.spec.shape, (std::vector<std::int64_t>{20, 12, 12, 3}));
  EXPECT_TRUE(std::ranges::equal(x.as<float>(), samples.x));
  EXPECT_TRUE(std::ranges::equal(label.as<std::int32_t>(), samples.label));
  EXPECT_EQ(latents.spec.shape, (std::vector<std::int64_t>{20, 17}));
  EXPECT_TRUE(std::ranges::equal(latents.as<float>(), samples.latents));
  EXPECT_TRUE(std::ranges::equal(weight.as<float>(), samples.weight));
}

TEST(Export, EventsAreRowsOfFeatures) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "events.npz";
  export_samples(*make_generator("ee_mumu", 1), {3, 0, 100}, {}, path);
  EXPECT_EQ(read_npz(path, "x").spec.shape, (std::vector<std::int64_t>{100, 2}));
}

TEST(Export, UnknownEndingsAreRefused) {
  for (const char* name : {"a.h5", "a.tar", "folder", "a.npy"}) {
    try {
      export_samples(*make_generator("noise", 4), {0, 0, 1}, {}, name);
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

TEST(Preview, ImagesMakeASheetThatHoldsThemEnlarged) {
  const auto generator = make_generator("shapes", 32);
  const RgbImage image = preview(*generator, {1, 0, 5});
  EXPECT_EQ(image.pixels.size(), static_cast<std::size_t>(image.width) * image.height * 3);
  EXPECT_GT(image.width, 3 * 96);
  // The first pixel of the first sample, three times as large, stands at the sheet's first tile.
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

TEST(Preview, EveryGeneratorHasAPicture) {
  for (const GeneratorEntry& entry : generator_registry()) {
    const auto generator = make_generator(entry.name, 16, test::read_golden(entry.name).quick);
    // Paper, ink and pale ink are the sheet's own; the plainest picture is grey on black.
    EXPECT_GT(colours(preview(*generator, {1, 0, 40})), 4u) << entry.name;
    EXPECT_GT(colours(preview(*generator, {1, 0, 1})), 2u) << entry.name << ", one sample";
  }
}

TEST(Preview, TheFontHasEveryCharacterOfTheNames) {
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
