// A vector register of floats, for files that are compiled for one instruction set. Included only
// by the kernels of avx2.cpp and avx512.cpp; host only.
//
// These two files compile the same kernels, each into the namespace WS_VECTORS. Their kernels
// instantiate no library template and no template of another namespace, because the linker could
// use the copy for AVX-512 elsewhere.
#pragma once

#include <cstdint>
#include <immintrin.h>

#if defined(__AVX512F__)
#define WS_VECTORS avx512
#else
#define WS_VECTORS avx2
#endif

namespace wellspring::ops::cpu::WS_VECTORS {

/// Prefetches the cache line of p: the access patterns are too irregular for hardware prefetchers.
inline void ask_for(const float* p) {
  __builtin_prefetch(p);
}

#if defined(__AVX512F__)

using Vector = __m512;
inline constexpr int kVector = 16;     ///< floats
inline constexpr int kRegisters = 32;  ///< vectors

inline Vector all(float value) {
  return _mm512_set1_ps(value);
}
inline Vector load(const float* p) {
  return _mm512_loadu_ps(p);
}
/// Loads kVector floats if the mask is 0xffff; zeros if it is 0.
inline Vector load_if(std::uint16_t mask, const float* p) {
  return _mm512_maskz_loadu_ps(mask, p);
}
inline void store(float* p, Vector v) {
  _mm512_storeu_ps(p, v);
}
inline void store_if(std::uint16_t mask, float* p, Vector v) {
  _mm512_mask_storeu_ps(p, mask, v);
}
/// a * b + c, rounded once.
inline Vector add_product(Vector a, Vector b, Vector c) {
  return _mm512_fmadd_ps(a, b, c);
}
/// The larger of a and b; b where either is NaN.
inline Vector larger(Vector a, Vector b) {
  return _mm512_max_ps(a, b);
}
/// The values of v where the element of `numbers` is below 4, and 0 elsewhere.
inline Vector keep_below_4(const std::uint8_t* numbers, Vector v) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(numbers));
  return _mm512_maskz_mov_ps(
      _mm512_cmplt_epi32_mask(_mm512_cvtepu8_epi32(bytes), _mm512_set1_epi32(4)), v);
}
/// Copies count < 16 floats.
inline void copy_few(int count, const float* from, float* to) {
  const auto mask = static_cast<__mmask16>((1u << count) - 1);
  _mm512_mask_storeu_ps(to, mask, _mm512_maskz_loadu_ps(mask, from));
}

/// Transposes kVector rows of kVector values in place.
inline void transpose(Vector* rows) {
  __m512 pairs[16], fours[16];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    pairs[2 * i] = _mm512_unpacklo_ps(rows[2 * i], rows[2 * i + 1]);
    pairs[2 * i + 1] = _mm512_unpackhi_ps(rows[2 * i], rows[2 * i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const auto low = [&](int p) { return _mm512_castps_pd(pairs[4 * i + p]); };
    fours[4 * i] = _mm512_castpd_ps(_mm512_unpacklo_pd(low(0), low(2)));
    fours[4 * i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(low(0), low(2)));
    fours[4 * i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(low(1), low(3)));
    fours[4 * i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(low(1), low(3)));
  }
  // fours[4 i + c] holds rows 4 i to 4 i + 3 of column c, and of columns c + 4, c + 8, c + 12.
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    const __m512 even01 = _mm512_shuffle_f32x4(fours[c], fours[4 + c], 0x88),
                 odd01 = _mm512_shuffle_f32x4(fours[c], fours[4 + c], 0xdd),
                 even23 = _mm512_shuffle_f32x4(fours[8 + c], fours[12 + c], 0x88),
                 odd23 = _mm512_shuffle_f32x4(fours[8 + c], fours[12 + c], 0xdd);
    rows[c] = _mm512_shuffle_f32x4(even01, even23, 0x88);
    rows[c + 8] = _mm512_shuffle_f32x4(even01, even23, 0xdd);
    rows[c + 4] = _mm512_shuffle_f32x4(odd01, odd23, 0x88);
    rows[c + 12] = _mm512_shuffle_f32x4(odd01, odd23, 0xdd);
  }
}

#else

using Vector = __m256;
inline constexpr int kVector = 8;
inline constexpr int kRegisters = 16;

inline Vector all(float value) {
  return _mm256_set1_ps(value);
}
inline Vector load(const float* p) {
  return _mm256_loadu_ps(p);
}
inline Vector load_if(std::uint16_t mask, const float* p) {
  const __m256i bits = _mm256_set1_epi16(static_cast<short>(mask));
  return _mm256_and_ps(_mm256_loadu_ps(p), _mm256_castsi256_ps(bits));
}
inline void store(float* p, Vector v) {
  _mm256_storeu_ps(p, v);
}
inline void store_if(std::uint16_t mask, float* p, Vector v) {
  if (mask != 0) _mm256_storeu_ps(p, v);  // AMD's masked stores are slow
}
inline Vector add_product(Vector a, Vector b, Vector c) {
  return _mm256_fmadd_ps(a, b, c);
}
inline Vector larger(Vector a, Vector b) {
  return _mm256_max_ps(a, b);
}
inline Vector keep_below_4(const std::uint8_t* numbers, Vector v) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(numbers));
  const __m256i below = _mm256_cmpgt_epi32(_mm256_set1_epi32(4), _mm256_cvtepu8_epi32(bytes));
  return _mm256_and_ps(_mm256_castsi256_ps(below), v);
}
inline void copy_few(int count, const float* from, float* to) {
  int i = 0;
  for (; i + kVector <= count; i += kVector) store(to + i, load(from + i));
  for (; i < count; ++i) to[i] = from[i];
}

inline void transpose(Vector* rows) {
  __m256 pairs[8], fours[8];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    pairs[2 * i] = _mm256_unpacklo_ps(rows[2 * i], rows[2 * i + 1]);
    pairs[2 * i + 1] = _mm256_unpackhi_ps(rows[2 * i], rows[2 * i + 1]);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    const auto low = [&](int p) { return _mm256_castps_pd(pairs[4 * i + p]); };
    fours[4 * i] = _mm256_castpd_ps(_mm256_unpacklo_pd(low(0), low(2)));
    fours[4 * i + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(low(0), low(2)));
    fours[4 * i + 2] = _mm256_castpd_ps(_mm256_unpacklo_pd(low(1), low(3)));
    fours[4 * i + 3] = _mm256_castpd_ps(_mm256_unpackhi_pd(low(1), low(3)));
  }
  // fours[4 i + c] holds rows 4 i to 4 i + 3 of columns c and c + 4.
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    rows[c] = _mm256_permute2f128_ps(fours[c], fours[4 + c], 0x20);
    rows[c + 4] = _mm256_permute2f128_ps(fours[c], fours[4 + c], 0x31);
  }
}

#endif

inline Vector zeros() {
  return Vector{};
}
inline Vector add(Vector a, Vector b) {
  return a + b;
}
inline Vector subtract(Vector a, Vector b) {
  return a - b;
}
inline Vector times(Vector a, Vector b) {
  return a * b;
}

}  // namespace wellspring::ops::cpu::WS_VECTORS
