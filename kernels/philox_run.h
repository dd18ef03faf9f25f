// Blocks of random numbers of N lanes at a time: the words of kernels/philox.h, in the SIMD
// registers of a host. Host and device.
#pragma once

#include "kernels/macros.h"
#include "kernels/philox.h"

#include <cstdint>

#if defined(__AVX2__) && !defined(__CUDACC__)
#define WS_PHILOX_AVX2 1
#include <immintrin.h>
#else
#define WS_PHILOX_AVX2 0
#endif

namespace wellspring {

/// A block of each of N lanes: word w of lane i is word[w][i].
template <int N>
struct PhiloxRun {
  alignas(N * sizeof(std::uint32_t)) std::uint32_t word[4][N];

  WS_INLINE Philox4 of(int i) const { return {{word[0][i], word[1][i], word[2][i], word[3][i]}}; }
  WS_INLINE void put(int i, const Philox4& block) {
    word[0][i] = block.word[0];
    word[1][i] = block.word[1];
    word[2][i] = block.word[2];
    word[3][i] = block.word[3];
  }
};

namespace detail {
#if WS_PHILOX_AVX2
struct WideProduct {
  __m256i high, low;
};
/// Of eight words with a constant: of those in even places and of those in odd ones, then sorted. A
/// compiler that makes a SIMD loop of scalar code takes three times as many instructions.
WS_INLINE WideProduct wide_product(__m256i words, __m256i constant) {
  const __m256i even = _mm256_mul_epu32(words, constant);
  const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(words, 32), constant);
  return {_mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA),
          _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xAA)};
}

/// philox4x32 of eight lanes, in place.
WS_INLINE void philox4x32_of_eight(__m256i (&c)[4], std::uint64_t key) {
  const __m256i m0 = _mm256_set1_epi32(static_cast<int>(0xD2511F53u));
  const __m256i m1 = _mm256_set1_epi32(static_cast<int>(0xCD9E8D57u));
  std::uint32_t k0 = static_cast<std::uint32_t>(key);
  std::uint32_t k1 = static_cast<std::uint32_t>(key >> 32);
  WS_UNROLL(10)
  for (int round = 0; round < 10; ++round) {
    const WideProduct p0 = wide_product(c[0], m0), p1 = wide_product(c[2], m1);
    c[0] =
        _mm256_xor_si256(_mm256_xor_si256(p1.high, c[1]), _mm256_set1_epi32(static_cast<int>(k0)));
    c[1] = p1.low;
    c[2] =
        _mm256_xor_si256(_mm256_xor_si256(p0.high, c[3]), _mm256_set1_epi32(static_cast<int>(k1)));
    c[3] = p0.low;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
}
#endif
}  // namespace detail

/// philox4x32 of every lane, in place.
template <int N>
WS_INLINE void philox4x32(PhiloxRun<N>& counters, std::uint64_t key) {
#if WS_PHILOX_AVX2
  if constexpr (N % 8 == 0) {
    for (int first = 0; first < N; first += 8) {
      __m256i words[4];
      for (int w = 0; w < 4; ++w) {
        words[w] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(&counters.word[w][first]));
      }
      detail::philox4x32_of_eight(words, key);
      for (int w = 0; w < 4; ++w) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(&counters.word[w][first]), words[w]);
      }
    }
    return;
  }
#endif
  for (int i = 0; i < N; ++i) counters.put(i, philox4x32(counters.of(i), key));
}

namespace detail {
template <int N>
WS_INLINE void count_blocks() {
#if WS_COUNTS_DRAWS
  blocks_drawn.fetch_add(N, std::memory_order_relaxed);
#endif
}
}  // namespace detail

/// Blocks draws[0] to draws[N - 1] of one sample.
template <int N>
WS_INLINE PhiloxRun<N> blocks_of_draws(const SampleRng& rng, Purpose purpose,
                                       const std::uint32_t (&draws)[N]) {
  PhiloxRun<N> run;
  for (int i = 0; i < N; ++i) {
    run.word[0][i] = draws[i];
    run.word[1][i] = static_cast<std::uint32_t>(purpose);
    run.word[2][i] = static_cast<std::uint32_t>(rng.sample);
    run.word[3][i] = static_cast<std::uint32_t>(rng.sample >> 32);
  }
  philox4x32(run, rng.seed);
  detail::count_blocks<N>();
  return run;
}

/// Blocks first_draw to first_draw + N - 1 of one sample.
template <int N>
WS_INLINE PhiloxRun<N> consecutive_blocks(const SampleRng& rng, Purpose purpose,
                                          std::uint32_t first_draw) {
  std::uint32_t draws[N];
  for (int i = 0; i < N; ++i) draws[i] = first_draw + static_cast<std::uint32_t>(i);
  return blocks_of_draws<N>(rng, purpose, draws);
}

/// Block `draw` of each of N samples.
template <int N>
WS_INLINE PhiloxRun<N> blocks_of_samples(std::uint64_t seed, const std::uint64_t (&samples)[N],
                                         Purpose purpose, std::uint32_t draw) {
  PhiloxRun<N> run;
  for (int i = 0; i < N; ++i) {
    run.word[0][i] = draw;
    run.word[1][i] = static_cast<std::uint32_t>(purpose);
    run.word[2][i] = static_cast<std::uint32_t>(samples[i]);
    run.word[3][i] = static_cast<std::uint32_t>(samples[i] >> 32);
  }
  philox4x32(run, seed);
  detail::count_blocks<N>();
  return run;
}

}  // namespace wellspring
