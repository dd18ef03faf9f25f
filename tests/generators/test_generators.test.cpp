// Unregistered generators in the full pipeline: a set with more items than its rows hold, and
// images from a table.
#include "core/error.h"
#include "core/io/npy.h"
#include "export/digest.h"
#include "export/export.h"
#include "export/preview.h"
#include "export/samples.h"
#include "tests/generators/team_test.h"
#include "tests/generators/unregistered.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace wellspring::test {
namespace {

TEST(SetGenerator, IsIndependentOfBatchAndTeams) {
  FunctorGenerator<Handful> generator({}, {});
  EXPECT_EQ(generator.layout().kind, SampleKind::set);
  const std::string digest = sample_digest(generator, {1, 5, 50});
  EXPECT_EQ(sample_digest(generator, {1, 5, 50}, {Device::cpu(), 7, 2}), digest);
  EXPECT_NE(sample_digest(generator, {2, 5, 50}), digest);
  test::expect_equal_for_all_teams<Handful>(Handful::Params{}, SampleShape{});
}

TEST(SetGenerator, ExportsRaggedArraysAndReportsOverflow) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "sets.npz";
  FunctorGenerator<Handful> generator({}, {});
  GeneratorReader feed(generator, {3, 10, 200}, {Device::cpu(), 7, 1});
  const ExportReport report = export_samples(feed, path);

  std::vector<float> x;
  std::vector<std::int64_t> offsets = {0};
  SetOverflow overflow;
  SampleMaker maker(generator);
  maker.make({3, 10, 200}, [&](const HostSamples& samples) {
    for (std::size_t row = 0; row < samples.items().size(); ++row) {
      const auto items = static_cast<std::size_t>(samples.items()[row]);
      const auto values = samples.x().subspan(row * 12, items * 2);
      x.insert(x.end(), values.begin(), values.end());
      offsets.push_back(offsets.back() + static_cast<std::int64_t>(items));
      const auto made = static_cast<std::uint64_t>(samples.latents()[row]);
      overflow.samples += made > 6 ? 1 : 0;
      overflow.items += made > 6 ? made - 6 : 0;
    }
  });
  const NpyArray items = read_npz(path, "x");
  EXPECT_EQ(items.spec.shape, (std::vector<std::int64_t>{offsets.back(), 2}));
  EXPECT_TRUE(std::ranges::equal(items.as<float>(), x));
  EXPECT_TRUE(std::ranges::equal(read_npz(path, "offsets").as<std::int64_t>(), offsets));
  EXPECT_EQ(read_npz(path, "globals").spec.shape, (std::vector<std::int64_t>{200, 1}));
  EXPECT_THROW(read_npz(path, "count"), Error);

  EXPECT_GT(overflow.items, 0u);
  EXPECT_EQ(report.overflow.samples, overflow.samples);
  EXPECT_EQ(report.overflow.items, overflow.items);
  EXPECT_EQ(report.arrays,
            (std::vector<std::string>{"globals", "label", "latents", "weight", "source", "sample",
                                      "offsets", "x", "metadata"}));
  EXPECT_EQ(overflow_text({2, 5}, generator.layout()),
            "5 items of 2 samples did not fit into rows of 6 items");
  EXPECT_EQ(overflow_text({}, generator.layout()), "");
}

TEST(SetGenerator, HasAPreview) {
  FunctorGenerator<Handful> generator({}, {});
  const RgbImage image = preview(generator, {1, 0, 300});
  EXPECT_EQ(image.pixels.size(), static_cast<std::size_t>(image.width) * image.height * 3);
}

TEST(TableGenerator, ComputesItsTableOnceAndReadsIt) {
  const test::TemporaryFolder folder;
  ASSERT_EQ(setenv("WELLSPRING_CACHE", folder.path().c_str(), 1), 0);
  Swatches::Tables::computed = 0;
  for (int round = 0; round < 2; ++round) {
    FunctorGenerator<Swatches> generator({}, {2, 2, 3});
    SampleMaker maker(generator);
    maker.make({0, 7, 1}, [](const HostSamples& samples) {
      EXPECT_EQ(samples.x()[0], 2.f / 5) << "sample 7, colour 2 of 5";
    });
    sample_digest(generator, {0, 0, 1});  // makes a second plan, with different addresses
    EXPECT_TRUE(maker.notes().empty());
  }
  EXPECT_EQ(Swatches::Tables::computed, 1);
  unsetenv("WELLSPRING_CACHE");
}

TEST(Generators, ShareNoRandomWordsUnderOneSeed) {
  // The keys are the bare seed, and the seed with the names of two generators.
  const SampleRng bare{5, 3}, named{named_key(5, "noise"), 3}, other{named_key(5, "shapes"), 3};
  int equal = 0;
  for (std::uint32_t draw = 0; draw < 1000; ++draw) {
    const Philox4 a = bare.block(Purpose::scene, draw), b = named.block(Purpose::scene, draw);
    const Philox4 c = other.block(Purpose::scene, draw);
    for (int w = 0; w < 4; ++w) {
      equal += a.word[w] == b.word[w] || b.word[w] == c.word[w] ? 1 : 0;
    }
  }
  // Each of 8000 pairs of 32-bit words is equal with a probability of 2^-32.
  EXPECT_EQ(equal, 0);
}

}  // namespace
}  // namespace wellspring::test
