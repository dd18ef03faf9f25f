// The guarantees of every registered generator, tested only through the registry.
#include "core/io/sha256.h"
#include "export/digest.h"
#include "generators/generator.h"
#include "generators/own/check.h"
#include "kernels/runtime/device.h"
#include "tests/generators/collect.h"
#include "tests/generators/golden.h"
#include "tests/support/draw_counter.h"
#include "tests/support/error_testing.h"
#include "tests/support/host_batch.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <set>
#include <string>

namespace wellspring::test {
namespace {

constexpr int kSize = 40;  // not a multiple of the host's run length or of a tile

std::unique_ptr<Generator> make_quick(const std::string& name, int size = kSize) {
  return make_generator(name, size, test::read_golden(name).quick);
}

class EveryGenerator : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Registry, EveryGenerator, ::testing::ValuesIn(generator_names()),
                         [](const auto& test) { return test.param; });

// ---- digests ------------------------------------------------------------------------------------

TEST_P(EveryGenerator, HasEqualDigestsForAnyBatchThreadsAndSplit) {
  const auto generator = make_quick(GetParam());
  const std::string whole = sample_digest(*generator, {7, 100, 65});
  for (const std::int64_t batch : {1, 7, 64}) {
    for (const int threads : {1, 2}) {
      EXPECT_EQ(sample_digest(*generator, {7, 100, 65}, {Device::cpu(), batch, threads}), whole)
          << "batch " << batch << ", threads " << threads;
    }
  }
  const auto all = test::collect(*generator, {7, 100, 65});
  for (const std::uint64_t split : {1, 13, 64}) {
    auto parts = test::collect(*generator, {7, 100, split});
    const auto rest = test::collect(*generator, {7, 100 + split, 65 - split});
    parts.x.insert(parts.x.end(), rest.x.begin(), rest.x.end());
    parts.label.insert(parts.label.end(), rest.label.begin(), rest.label.end());
    EXPECT_TRUE(parts.x == all.x && parts.label == all.label) << "split at " << split;
  }
}

TEST_P(EveryGenerator, HasADigestThatDependsOnSeedAndFirst) {
  const auto generator = make_quick(GetParam());
  const std::string digest = sample_digest(*generator, {7, 0, 8});
  EXPECT_NE(sample_digest(*generator, {8, 0, 8}), digest);
  EXPECT_NE(sample_digest(*generator, {7, 1, 8}), digest);
  EXPECT_NE(sample_digest(*generator, {7, std::uint64_t{1} << 32, 8}), digest) << "64-bit ids";
}

TEST_P(EveryGenerator, HasAnEqualDigestOnAGpu) {
  if (cuda_status().device_count == 0) GTEST_SKIP() << "needs a GPU: " << cuda_status().reason;
  const auto generator = make_quick(GetParam());
  for (const std::int64_t batch : {1, 64}) {
    EXPECT_EQ(sample_digest(*generator, {7, 100, 65}, {Device::cuda(0), batch, 0}),
              sample_digest(*generator, {7, 100, 65}));
  }
}

// Digests cover plain f32 samples of one size. On a device, rows of 37 pixels need single-value
// stores, rows of 40 and 224 pixels allow wide stores, and images of 224 pixels have several bands.
TEST_P(EveryGenerator, GivesEqualAugmentedAndBf16SamplesOnAGpu) {
  if (cuda_status().device_count == 0) GTEST_SKIP() << "needs a GPU: " << cuda_status().reason;
  for (const int size : {37, 40, 224}) {
    const std::int64_t count = size == 224 ? 2 : 9;
    const auto generator = make_quick(GetParam(), size);
    std::vector<std::string> augmentations = {""};
    if (generator->layout().kind == SampleKind::image) {
      augmentations.push_back(
          "augment: [flip_x, flip_y, shift: 0.2, zoom: [0.7, 1.6], rotate: 30, brightness: 0.3, "
          "contrast: 0.3, saturation: 0.3, hue: 0.2, solarise: 0.5, grey: 0.2, erase: 9]\n"
          "normalise: {mean: [0.4, 0, 0], std: [1, 0.27, 1]}");
      augmentations.push_back("augment: [perspective, crop_resize]");
    }
    for (const std::string& yaml : augmentations) {
      const auto host = test::emit_augmented<float>(*generator, yaml, 3, 50, count);
      const auto wide =
          test::emit_augmented<float>(*generator, yaml, 3, 50, count, Device::cuda(0));
      const auto narrow =
          test::emit_augmented<bf16>(*generator, yaml, 3, 50, count, Device::cuda(0));
      ASSERT_EQ(host, wide) << size;
      for (std::size_t i = 0; i < host.size(); ++i) {
        ASSERT_EQ(narrow[i].bits, bf16(host[i]).bits) << size << ", value " << i;
      }
    }
  }
}

TEST(Digest, ReportsEverythingNeededToRepeatIt) {
  const auto generator = make_generator("noise", 8, {{"law", "uniform", {}}});
  GeneratorReader feed(*generator, {3, 5, 2});
  const auto report = digest_report(feed);
  EXPECT_EQ(report["generator"], "noise");
  EXPECT_EQ(report["generator_version"], generator->info().version);
  EXPECT_EQ(report["seed"], 3);
  EXPECT_EQ(report["first"], 5);
  EXPECT_EQ(report["count"], 2);
  EXPECT_EQ(report["shape"], (nlohmann::json{8, 8, 3}));
  EXPECT_EQ(report["sha256"], sample_digest(*generator, {3, 5, 2}));
  Sha256 samples, sources;
  for (const std::int64_t id : {5, 6}) samples.update(std::as_bytes(std::span(&id, 1)));
  for (const std::int32_t source : {0, 0}) sources.update(std::as_bytes(std::span(&source, 1)));
  EXPECT_EQ(report["columns"]["sample"], samples.hex());
  EXPECT_EQ(report["columns"]["source"], sources.hex());
  EXPECT_EQ(report["columns"].size(), 6u) << "x, label, latents, weight, source, sample";
  EXPECT_EQ(report["parameters"]["law"], "uniform");
}

// ---- values -------------------------------------------------------------------------------------

TEST_P(EveryGenerator, DescribesItsLatents) {
  const auto generator = make_quick(GetParam());
  for (const LatentInfo& latent : generator->info().latents)
    EXPECT_FALSE(latent.help.empty()) << latent.name;
}

TEST_P(EveryGenerator, KeepsValuesLatentsAndLabelsInTheirRanges) {
  const auto generator = make_quick(GetParam());
  const SampleInfo& info = generator->info();
  const auto samples = test::collect(*generator, {1, 0, 256});
  for (const float v : samples.x) {
    ASSERT_TRUE(v >= info.low && v <= info.high) << v;  // false for NaN as well
  }
  for (std::size_t i = 0; i < samples.count(); ++i) {
    ASSERT_GE(samples.label[i], 0);
    ASSERT_LT(samples.label[i], static_cast<std::int32_t>(info.classes.size()));
    ASSERT_TRUE(std::isfinite(samples.weight[i]) && samples.weight[i] > 0);
    for (std::size_t l = 0; l < info.latents.size(); ++l) {
      const LatentInfo& latent = info.latents[l];
      ASSERT_TRUE(samples.latent(i, l) >= latent.low && samples.latent(i, l) <= latent.high)
          << latent.name << " = " << samples.latent(i, l);
    }
  }
}

TEST_P(EveryGenerator, GivesDistinctSamples) {
  const auto generator = make_quick(GetParam());
  const auto samples = test::collect(*generator, {5, 0, 512});
  std::set<std::vector<float>> seen;
  for (std::size_t i = 0; i < samples.count(); ++i) {
    seen.emplace(samples.image(i), samples.image(i) + samples.elements);
  }
  EXPECT_EQ(seen.size(), samples.count());
}

TEST_P(EveryGenerator, RoundsF32ToBf16) {
  const auto generator = make_quick(GetParam());
  const bool image = generator->layout().kind == SampleKind::image;
  const std::string yaml = image ? "augment: [flip_x, rotate: 20, brightness: 0.2]\n"
                                   "normalise: {mean: [0.4, 0, 0]}"
                                 : "";
  const auto wide = test::emit_augmented<float>(*generator, yaml, 3, 0, 9);
  const auto narrow = test::emit_augmented<bf16>(*generator, yaml, 3, 0, 9);
  for (std::size_t i = 0; i < wide.size(); ++i) {
    ASSERT_EQ(narrow[i].bits, bf16(wide[i]).bits) << i;
  }
}

TEST_P(EveryGenerator, SkipsSlotsOfOtherSources) {
  const auto generator = make_quick(GetParam());
  SampleLayout layout = generator->layout();
  const auto elements = static_cast<std::size_t>(layout.elements());
  const auto latents = static_cast<std::size_t>(layout.latents);
  layout.latents += 2;                 // simulates another source with more latents
  constexpr std::uint32_t kRows = 70;  // gives several runs of vectorised events
  const test::HostBatch batch(kRows, layout);
  std::vector<Slot> slots;
  for (std::uint32_t i = 0; i < kRows; ++i)
    slots.push_back({5 + i, 5 + i, i % 3 == 1 ? 2u : 1u, i});
  Stream stream(Device::cpu());
  MemoryPlan memory(Device::cpu());
  generator->plan(memory, kRows);
  memory.commit();
  generator->load(stream);
  generator->emit(stream, {slots.data(), 1, 0, {}, batch.view()});
  const auto x = batch.x(), weight = batch.weight(), latent = batch.latents();
  const auto label = batch.label();
  const auto alone = test::collect(*generator, {0, 5, kRows});
  for (std::size_t row = 0; row < kRows; ++row) {
    const bool foreign = slots[row].source == 2;
    for (std::size_t i = 0; i < elements; ++i) {
      ASSERT_EQ(x[row * elements + i], foreign ? -77 : alone.image(row)[i]) << row;
    }
    ASSERT_EQ(label[row], foreign ? -77 : alone.label[row]) << row;
    ASSERT_EQ(weight[row], foreign ? -77 : alone.weight[row]) << row;
  }
  EXPECT_EQ(latent[latents], 0) << "unused latents of a row must be zero";
  EXPECT_EQ(latent[latents + 2], -77);
}

TEST_P(EveryGenerator, RoundTripsItsParametersThroughYaml) {
  const auto generator = make_quick(GetParam());
  std::vector<ParamSetting> settings;
  std::istringstream yaml(generator->parameters_yaml());
  for (std::string line; std::getline(yaml, line);) {
    const std::size_t colon = line.find(": ");
    ASSERT_NE(colon, std::string::npos) << line;
    std::string value = line.substr(colon + 2);
    if (value.starts_with('"')) value = value.substr(1, value.size() - 2);  // texts are quoted
    settings.push_back({line.substr(0, colon), std::move(value), {}});
  }
  const auto again = make_generator(GetParam(), kSize, settings);
  EXPECT_EQ(again->parameters_yaml(), generator->parameters_yaml());
  EXPECT_EQ(sample_digest(*again, {1, 0, 3}), sample_digest(*generator, {1, 0, 3}));
}

// ---- random numbers -----------------------------------------------------------------------------

TEST_P(EveryGenerator, DrawsWithinItsBudgetForAnyBatch) {
  SKIP_UNLESS_DRAWS_ARE_COUNTED();
  constexpr std::int64_t kCount = 14;
  double nearest = 0;
  for (const test::GoldenSamples& entry : test::read_golden(GetParam()).samples) {
    for (const int size : {1, 32, 33}) {
      const auto generator = make_generator(GetParam(), size, entry.settings);
      // Draws during load, for fills from other generators, do not count.
      const auto drawn_in = [&](std::int64_t batch, int threads) {
        const auto blocks = [&](std::uint64_t count) {
          return test::blocks_drawn_by([&] {
            test::collect(*generator, {7, 100, count}, {Device::cpu(), batch, threads});
          });
        };
        return blocks(kCount) - blocks(0);
      };
      test::collect(*generator, {7, 100, 1});  // the first run also draws for tables
      const std::uint64_t drawn = drawn_in(1, 1);
      if (!generator->info().draws.cached) {
        EXPECT_EQ(drawn_in(7, 2), drawn);
      }
      const std::int64_t allowed = kCount * own::blocks_allowed(generator->info());
      EXPECT_LE(drawn, static_cast<std::uint64_t>(allowed)) << "size " << size << "\n"
                                                            << generator->parameters_yaml();
      nearest = std::max(nearest, static_cast<double>(drawn) / static_cast<double>(allowed));
    }
  }
  EXPECT_GT(nearest, 0.5) << "the budget is too large to test anything";
}

// ---- the registry itself ------------------------------------------------------------------------

TEST(Registry, RefusesAnUnknownNameAndSuggestsTheNearest) {
  expect_parts(message_of(ErrorKind::config,
                          [] {
                            make_generator("shape", 32, {}, {"a.yaml", 3, 9});
                          }),
               {"a.yaml:3:9", "'shapes'"});
}

TEST(Registry, RefusesBadParameters) {
  const auto refused = [](const char* name, std::vector<ParamSetting> settings, int size = 32) {
    return message_of(ErrorKind::config, [&] { make_generator(name, size, settings); });
  };
  expect_parts(refused("shapes", {{"scale_lo", "0.2", {}}}), {"scale_low"});
  expect_parts(refused("shapes", {{"scale_low", "0.9", {}}}), {"scale_low = 0.9", "out of range"});
  expect_parts(refused("shapes", {{"scale_low", "0.25", {}}, {"scale_high", "0.2", {}}}),
               {"scale_low = 0.25 is larger than scale_high = 0.2"});
  expect_parts(refused("dead_leaves", {{"r_min", "0.5", {}}, {"r_max", "0.2", {}}}),
               {"r_min * spread is larger than r_max"});
  expect_parts(refused("ee_mumu", {{"energies", "[]", {}}}), {"energies"});
  expect_parts(refused("ee_mumu", {{"energies", "[30, 80, 30.0]", {}}}),
               {"energies lists 30 GeV twice", "each energy is a class"});
  expect_parts(refused("noise", {{"law", "cauchy", {}}}), {"law", "cauchy", "gaussian"});
  expect_parts(refused("noise", {}, 0), {"image size 0"});
  expect_parts(refused("noise", {}, 1 << 20), {"image size 1048576"});
}

TEST(Registry, RefusesAugmentationOfEvents) {
  const auto generator = make_generator("ee_mumu", 1);
  expect_parts(
      message_of(ErrorKind::config,
                 [&] { test::emit_augmented<float>(*generator, "augment: [flip_x]", 0, 0, 1); }),
      {"ee_mumu makes events", "remove `augment`"});
}

}  // namespace
}  // namespace wellspring::test
