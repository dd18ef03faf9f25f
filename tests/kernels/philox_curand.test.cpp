// Compares Philox with cuRAND, whose host generator needs neither a GPU nor a driver.
#include "kernels/random/philox.h"
#include "kernels/runtime/launch.h"
#include "kernels/runtime/memory_plan.h"
#include "tests/kernels/curand_functors.h"

#include <curand.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace wellspring {
namespace {

/// Words [offset, offset + count) of cuRAND's sequence.
std::vector<std::uint32_t> curand_words(std::uint64_t seed, std::uint64_t offset,
                                        std::size_t count) {
  curandGenerator_t generator = nullptr;
  std::vector<std::uint32_t> words(count);
  EXPECT_EQ(curandCreateGeneratorHost(&generator, CURAND_RNG_PSEUDO_PHILOX4_32_10),
            CURAND_STATUS_SUCCESS);
  EXPECT_EQ(curandSetPseudoRandomGeneratorSeed(generator, seed), CURAND_STATUS_SUCCESS);
  EXPECT_EQ(curandSetGeneratorOffset(generator, offset), CURAND_STATUS_SUCCESS);
  EXPECT_EQ(curandGenerate(generator, words.data(), count), CURAND_STATUS_SUCCESS);
  EXPECT_EQ(curandDestroyGenerator(generator), CURAND_STATUS_SUCCESS);
  return words;
}

// cuRAND's default ordering, found by inspection: 65536 subsequences (our samples) each give four
// words (one block); then each gives its next block (our next draw).
constexpr std::uint64_t kSubsequences = 65536;

TEST(PhiloxCurand, MatchesTheHostGenerator) {
  for (const std::uint64_t seed : {0ull, 42ull, 0x123456789abcdef0ull, ~0ull}) {
    // A draw of 2^32 carries into the counter's second word, which is our purpose tag.
    for (const std::uint64_t draw : {0ull, 1ull, 1000ull, 1ull << 32, (3ull << 32) + 5}) {
      const std::size_t count = 4 * kSubsequences + 64;  // includes part of the next draw
      const auto words = curand_words(seed, draw * kSubsequences * 4, count);
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t block = draw + i / (4 * kSubsequences);
        const SampleRng rng{seed, i / 4 % kSubsequences};
        const auto purpose = static_cast<Purpose>(block >> 32);
        ASSERT_EQ(words[i], rng.block(purpose, static_cast<std::uint32_t>(block)).word[i % 4])
            << "seed " << seed << " draw " << draw << " word " << i;
      }
    }
  }
}

TEST(PhiloxCurand, MatchesTheDeviceGenerator) {
  if (cuda_status().device_count == 0) GTEST_SKIP() << "needs a GPU: " << cuda_status().reason;
  const Device device = Device::parse("auto");
  constexpr std::size_t n = 10'000;
  MemoryPlan plan(device);
  const auto words = plan.reserve<std::uint32_t>("test", "words", 4 * n);
  const auto host = plan.reserve<std::uint32_t>("test", "host", 4 * n, MemorySpace::host);
  plan.commit();
  Stream stream(device);
  const test::CurandWords functor{0x0123456789abcdefull, words.data()};
  map(stream, "curand", n, functor);
  stream.copy(host.data(), words.data(), words.bytes(), CopyDirection::device_to_host, "down");
  stream.synchronize();
  for (std::size_t i = 0; i < n; ++i) {
    const Philox4 block = functor.ours(static_cast<std::int64_t>(i));
    for (std::size_t k = 0; k < 4; ++k) ASSERT_EQ(host.data()[4 * i + k], block.word[k]);
  }
}

}  // namespace
}  // namespace wellspring
