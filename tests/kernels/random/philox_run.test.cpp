#include "kernels/random/philox_run.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace wellspring {
namespace {

void expect_equal(const Philox4& a, const Philox4& b) {
  for (int w = 0; w < 4; ++w) ASSERT_EQ(a.word[w], b.word[w]) << w;
}

template <int N>
void expect_single_blocks() {
  const SampleRng rng{0x9e3779b97f4a7c15u, 0xfedcba9876543210u};
  for (const std::uint32_t first : {0u, 5u, 0xfffffff8u}) {  // the last counter wraps around
    const auto run = consecutive_blocks<N>(rng, Purpose::texture, first);
    for (int i = 0; i < N; ++i) {
      expect_equal(run.of(i), rng.block(Purpose::texture, first + static_cast<std::uint32_t>(i)));
    }
  }
  std::uint32_t draws[N];
  for (int i = 0; i < N; ++i) draws[i] = 0x9e3779b9u * static_cast<std::uint32_t>(i * i + 1);
  const auto scattered = blocks_of_draws<N>(rng, Purpose::noise, draws);
  for (int i = 0; i < N; ++i) expect_equal(scattered.of(i), rng.block(Purpose::noise, draws[i]));
  std::uint64_t samples[N];
  for (int i = 0; i < N; ++i) {
    samples[i] = rng.sample * static_cast<std::uint64_t>(i + 1);  // uses all 64 bits
  }
  const auto run = blocks_of_samples<N>(rng.seed, samples, Purpose::label, 3);
  for (int i = 0; i < N; ++i) {
    expect_equal(run.of(i), SampleRng{rng.seed, samples[i]}.block(Purpose::label, 3));
  }
}

template <int N>
void expect_wanted_lanes() {
  const SampleRng rng{0x9e3779b97f4a7c15u, 0xfedcba9876543210u};
  for (const int step : {1, 3, 2 * N}) {  // reads all lanes, some, or only the first
    std::uint32_t draws[N];
    std::int32_t wanted[N];
    for (int i = 0; i < N; ++i) {
      draws[i] = 0xfffffff8u - 1000u * static_cast<std::uint32_t>(i);
      wanted[i] = i % step == 0 ? 1 : 0;
    }
    const auto run = wanted_blocks<N>(rng, Purpose::noise, draws, wanted);
    for (int i = 0; i < N; i += step) {
      expect_equal(run.of(i), rng.block(Purpose::noise, draws[i]));
    }
  }
}

TEST(PhiloxRun, ComputesTheRequestedLanes) {
  expect_wanted_lanes<1>();
  expect_wanted_lanes<4>();
  expect_wanted_lanes<8>();
  expect_wanted_lanes<16>();
}

TEST(PhiloxRun, EqualsSingleBlocks) {
  expect_single_blocks<1>();
  expect_single_blocks<4>();
  expect_single_blocks<8>();
  expect_single_blocks<16>();
}

// The published test vector (kernels/random/philox.h) in one of several lanes.
TEST(PhiloxRun, MatchesThePublishedWords) {
  PhiloxRun<8> run{};
  run.put(3, {{0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}});
  philox4x32(run, 0x299f31d0a4093822ull);
  expect_equal(run.of(3), {{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}});
}

}  // namespace
}  // namespace wellspring
