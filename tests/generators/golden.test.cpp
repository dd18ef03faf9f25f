// Digests pinned in golden/<name>.json. They change only when a generator's samples change on
// purpose, together with its version. To update them, run
//
//     WELLSPRING_UPDATE_GOLDEN=1 build/cpu/tests/generators/test_generators
//     --gtest_filter='*PinnedSamples*'
//
// It rewrites them, or creates the file of a new generator. Give the reason in the commit.
#include "tests/generators/golden.h"

#include "export/digest.h"
#include "generators/generator.h"
#include "kernels/runtime/device.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace wellspring {
namespace {

class PinnedSamples : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Registry, PinnedSamples, ::testing::ValuesIn(test::generator_names()),
                         [](const auto& test) { return test.param; });

TEST_P(PinnedSamples, HaveTheDigestsOfTheirFile) {
  test::Golden golden = test::read_golden(GetParam());
  const bool update = std::getenv("WELLSPRING_UPDATE_GOLDEN") != nullptr;
  if (update && golden.samples.empty()) golden.samples.emplace_back();
  ASSERT_FALSE(golden.samples.empty())
      << golden.file << " is missing: run this test with WELLSPRING_UPDATE_GOLDEN=1";
  for (test::GoldenSamples& entry : golden.samples) {
    const auto generator = make_generator(GetParam(), entry.size, entry.settings);
    SampleMaking making;
    making.dense = entry.dense;
    const std::string digest = sample_digest(*generator, entry.range, making);
    if (!update) {
      EXPECT_EQ(entry.sha256, digest) << generator->parameters_yaml();
    }
    entry.sha256 = digest;
  }
  if (update) {
    test::write_golden(golden);
    GTEST_SKIP() << "wrote " << golden.file;
  }
}

// A host vectorises events while enough of the batch is left, and makes the rest one by
// one.
TEST_P(PinnedSamples, AreEqualForVectorisedAndSingleEvents) {
  constexpr std::uint64_t kCount = 40;
  for (const test::GoldenSamples& entry : test::read_golden(GetParam()).samples) {
    const auto generator = make_generator(GetParam(), entry.size, entry.settings);
    if (generator->layout().kind == SampleKind::image) GTEST_SKIP() << "for events only";
    const SampleRange range = {entry.range.seed, entry.range.first, kCount};
    EXPECT_EQ(sample_digest(*generator, range, {Device::cpu(), kCount, 1}),
              sample_digest(*generator, range, {Device::cpu(), 1, 1}))
        << generator->parameters_yaml();
  }
}

// Covers all pinned modes; other tests run only the quick one.
TEST_P(PinnedSamples, HaveTheDigestsOfTheirFileOnAGpu) {
  if (cuda_status().device_count == 0) GTEST_SKIP() << "needs a GPU: " << cuda_status().reason;
  for (const test::GoldenSamples& entry : test::read_golden(GetParam()).samples) {
    const auto generator = make_generator(GetParam(), entry.size, entry.settings);
    SampleMaking making = {.device = Device::cuda(0), .dense = entry.dense};
    EXPECT_EQ(sample_digest(*generator, entry.range, making), entry.sha256)
        << generator->parameters_yaml();
  }
}

TEST(PinnedSamples, BelongToRegisteredGenerators) {
  const std::filesystem::path folder = WELLSPRING_SOURCE_DIR "/tests/generators/golden";
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    EXPECT_NO_THROW(find_generator(file.path().stem())) << file.path();
  }
}

}  // namespace
}  // namespace wellspring
