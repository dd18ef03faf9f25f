// Blocks of random numbers for N lanes: the same words as in kernels/random/philox.h, but computed
// in the SIMD registers of a host. Host and device.
#pragma once

#include "kernels/random/philox.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

#if defined(__AVX2__) && !defined(__CUDACC__)
#define WS_PHILOX_AVX2 1
#include <immintrin.h>
#else
#define WS_PHILOX_AVX2 0
#endif

namespace wellspring {

/// One block per lane: word w of lane i is word[w][i].
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
/// Counters of eight lanes, with even and odd lanes separate. They are in the lower halves of
/// 64-bit numbers, where products are computed; the upper halves are arbitrary. Vectorising the
/// scalar code would take three times as many instructions.
struct PhiloxEight {
  __m256i even[4], odd[4];
};

WS_INLINE __m256i all_lanes(std::uint32_t word) {
  return _mm256_set1_epi64x(static_cast<std::int64_t>(word));
}

/// The words of both halves, in lane order.
WS_INLINE __m256i in_order(__m256i even, __m256i odd) {
  return _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xAA);
}

/// Rounds `done` to 9 for half of the lanes.
WS_INLINE void philox_rounds(__m256i (&c)[4], std::uint64_t key, std::uint32_t done) {
  const __m256i m0 = all_lanes(0xD2511F53u), m1 = all_lanes(0xCD9E8D57u);
  std::uint32_t k0 = static_cast<std::uint32_t>(key) + done * 0x9E3779B9u;
  std::uint32_t k1 = static_cast<std::uint32_t>(key >> 32) + done * 0xBB67AE85u;
  WS_UNROLL(10)
  for (std::uint32_t round = done; round < 10; ++round) {
    const __m256i p0 = _mm256_mul_epu32(c[0], m0), p1 = _mm256_mul_epu32(c[2], m1);
    c[0] = _mm256_xor_si256(_mm256_srli_epi64(p1, 32), _mm256_xor_si256(c[1], all_lanes(k0)));
    c[1] = p1;
    c[2] = _mm256_xor_si256(_mm256_srli_epi64(p0, 32), _mm256_xor_si256(c[3], all_lanes(k1)));
    c[3] = p0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
}

/// philox4x32 of eight lanes, in place.
WS_INLINE void philox4x32_of_eight(__m256i (&c)[4], std::uint64_t key) {
  PhiloxEight all;
  for (int w = 0; w < 4; ++w) {
    all.even[w] = c[w];
    all.odd[w] = _mm256_srli_epi64(c[w], 32);
  }
  philox_rounds(all.even, key, 0);
  philox_rounds(all.odd, key, 0);
  for (int w = 0; w < 4; ++w) c[w] = in_order(all.even[w], all.odd[w]);
}

/// The same for counters that differ only in word 0: they share half of the first two rounds.
/// `first`: word 0 of each lane, in the lower halves.
WS_INLINE void philox4x32_of_numbers(__m256i first, const Philox4& counter, std::uint64_t key,
                                     __m256i (&c)[4]) {
  const std::uint32_t k0 = static_cast<std::uint32_t>(key);
  const std::uint32_t k1 = static_cast<std::uint32_t>(key >> 32);
  const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * counter.word[2];
  const std::uint32_t c0 = static_cast<std::uint32_t>(p1 >> 32) ^ counter.word[1] ^ k0;
  const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c0;
  const __m256i q0 = _mm256_mul_epu32(first, all_lanes(0xD2511F53u));
  const __m256i c2 = _mm256_xor_si256(_mm256_srli_epi64(q0, 32), all_lanes(counter.word[3] ^ k1));
  const __m256i q1 = _mm256_mul_epu32(c2, all_lanes(0xCD9E8D57u));
  c[0] = _mm256_xor_si256(_mm256_srli_epi64(q1, 32),
                          all_lanes(static_cast<std::uint32_t>(p1) ^ (k0 + 0x9E3779B9u)));
  c[1] = q1;
  c[2] = _mm256_xor_si256(q0, all_lanes(static_cast<std::uint32_t>(p0 >> 32) ^ (k1 + 0xBB67AE85u)));
  c[3] = all_lanes(static_cast<std::uint32_t>(p0));
  philox_rounds(c, key, 2);
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
WS_INLINE void count_blocks([[maybe_unused]] int n) {
#if WS_COUNTS_DRAWS
  blocks_drawn.fetch_add(static_cast<std::uint64_t>(n), std::memory_order_relaxed);
#endif
}

/// Blocks draws[0] to draws[N - 1] of one sample, without counting them as drawn.
template <int N>
WS_INLINE PhiloxRun<N> make_blocks(const SampleRng& rng, Purpose purpose,
                                   const std::uint32_t (&draws)[N]) {
  PhiloxRun<N> run;
#if WS_PHILOX_AVX2
  if constexpr (N % 8 == 0) {
    const Philox4 counter = {{0, static_cast<std::uint32_t>(purpose),
                              static_cast<std::uint32_t>(rng.sample),
                              static_cast<std::uint32_t>(rng.sample >> 32)}};
    for (int i = 0; i < N; i += 8) {
      const __m256i even = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(draws + i));
      PhiloxEight all;
      philox4x32_of_numbers(even, counter, rng.seed, all.even);
      philox4x32_of_numbers(_mm256_srli_epi64(even, 32), counter, rng.seed, all.odd);
      for (int w = 0; w < 4; ++w)
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(&run.word[w][i]),
                            in_order(all.even[w], all.odd[w]));
    }
    return run;
  }
#endif
  for (int i = 0; i < N; ++i) {
    run.word[0][i] = draws[i];
    run.word[1][i] = static_cast<std::uint32_t>(purpose);
    run.word[2][i] = static_cast<std::uint32_t>(rng.sample);
    run.word[3][i] = static_cast<std::uint32_t>(rng.sample >> 32);
  }
  philox4x32(run, rng.seed);
  return run;
}
}  // namespace detail

/// Blocks draws[0] to draws[N - 1] of one sample.
template <int N>
WS_INLINE PhiloxRun<N> blocks_of_draws(const SampleRng& rng, Purpose purpose,
                                       const std::uint32_t (&draws)[N]) {
  detail::count_blocks(N);
  return detail::make_blocks<N>(rng, purpose, draws);
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
  detail::count_blocks(N);
  return run;
}

/// Block draws[i] of one sample in each requested lane; the other lanes are arbitrary.
template <int N>
WS_INLINE PhiloxRun<N> wanted_blocks(const SampleRng& rng, Purpose purpose,
                                     const std::uint32_t (&draws)[N],
                                     const std::int32_t (&wanted)[N]) {
  int count = 0;
  for (int i = 0; i < N; ++i) count += wanted[i] != 0 ? 1 : 0;
  if (count == 0) return {};
  detail::count_blocks(count);
  return detail::make_blocks<N>(rng, purpose, draws);
}

}  // namespace wellspring
