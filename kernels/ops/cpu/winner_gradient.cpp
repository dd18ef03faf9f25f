// Compiled for AVX-512, unlike the rest of the program. It instantiates no library template,
// because the linker could use the AVX-512 copy elsewhere.
#include "kernels/ops/cpu/winner_gradient.h"

#if defined(__AVX512F__)

#include "kernels/ops/cpu/instruction_set.h"

#include <immintrin.h>

namespace wellspring::ops::cpu {
namespace {

constexpr int kVector = 16;  // floats

int round_up(int n, int multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

/// Terms that are added to rows in registers: factor[i] times the row at offset[i].
struct Terms {
  float* factor;
  std::int32_t* offset;
  int count;
};

/// out[r][i] += sum of factor * base[offset + r][i], for 16 kVectors columns i; each array has its
/// own row stride.
template <int kRows, int kVectors>
void add_rows(float* out, std::ptrdiff_t out_stride, const float* base, std::ptrdiff_t base_stride,
              const Terms& terms) {
  __m512 sum[kRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 32
    for (int v = 0; v < kVectors; ++v) {
      sum[r][v] = _mm512_loadu_ps(out + r * out_stride + v * kVector);
    }
  for (int i = 0; i < terms.count; ++i) {
    const __m512 factor = _mm512_set1_ps(terms.factor[i]);
    const float* row = base + terms.offset[i];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 32
      for (int v = 0; v < kVectors; ++v) {
        const __m512 value = _mm512_loadu_ps(row + r * base_stride + v * kVector);
        sum[r][v] = _mm512_fmadd_ps(factor, value, sum[r][v]);
      }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 32
    for (int v = 0; v < kVectors; ++v) {
      _mm512_storeu_ps(out + r * out_stride + v * kVector, sum[r][v]);
    }
}

/// Processes three rows of `vectors` vectors each (a multiple of 3), in as few passes over the
/// terms as 32 registers allow.
void add_three_rows(int vectors, float* out, std::ptrdiff_t out_stride, const float* base,
                    std::ptrdiff_t base_stride, const Terms& terms) {
  if (terms.count == 0) return;
  if (vectors == 3) return add_rows<3, 3>(out, out_stride, base, base_stride, terms);
  if (vectors == 6) return add_rows<3, 6>(out, out_stride, base, base_stride, terms);
  for (int r = 0; r < 3; ++r) {
    float* to = out + r * out_stride;
    const float* from = base + r * base_stride;
    int left = vectors;
    for (; left >= 24; left -= 24, to += 24 * kVector, from += 24 * kVector) {
      add_rows<1, 24>(to, 0, from, 0, terms);
    }
    for (; left >= 12; left -= 12, to += 12 * kVector, from += 12 * kVector) {
      add_rows<1, 12>(to, 0, from, 0, terms);
    }
    for (; left >= 3; left -= 3, to += 3 * kVector, from += 3 * kVector) {
      add_rows<1, 3>(to, 0, from, 0, terms);
    }
  }
}

/// Hands out scratch memory in order; winner_gradient_scratch() adds up the sizes.
class Carver {
 public:
  explicit Carver(void* base) : at_(static_cast<unsigned char*>(base)) {}
  template <class T>
  T* take(int count) {
    T* result = reinterpret_cast<T*>(at_);
    at_ += round_up(count * static_cast<int>(sizeof(T)), 64);
    return result;
  }

 private:
  unsigned char* at_;
};

int bordered_elements(const WinnerShape& s) {
  return (s.height + 2) * (s.width + 2) * s.in_channels;
}

void zero(float* values, int count) {
  for (int i = 0; i < count; ++i) values[i] = 0;
}
void copy(float* to, const float* from, int count) {
  for (int i = 0; i < count; ++i) to[i] = from[i];
}

/// Copies x and adds a border of one zero pixel.
void add_border(const WinnerShape& s, const float* x, float* bordered) {
  const int line = s.width * s.in_channels;
  const int wide = line + 2 * s.in_channels;
  zero(bordered, wide);
  for (int h = 0; h < s.height; ++h) {
    float* to = bordered + (h + 1) * wide;
    zero(to, s.in_channels);
    copy(to + s.in_channels, x + h * line, line);
    zero(to + s.in_channels + line, s.in_channels);
  }
  zero(bordered + (s.height + 1) * wide, wide);
}

void remove_border(const WinnerShape& s, const float* bordered, float* x) {
  const int line = s.width * s.in_channels;
  const int wide = line + 2 * s.in_channels;
  for (int h = 0; h < s.height; ++h) {
    copy(x + h * line, bordered + (h + 1) * wide + s.in_channels, line);
  }
}

/// Offsets of the 3x3 neighbourhoods of a window's four positions, relative to the first one.
struct PlaceOffsets {
  explicit PlaceOffsets(const WinnerShape& s)
      : at{0, s.in_channels, (s.width + 2) * s.in_channels, (s.width + 3) * s.in_channels, 0} {}
  std::int32_t at[5];  // the last entry means no winner
};
std::int32_t window_offset(const WinnerShape& s, int window) {
  const int p = window / s.pooled_width(), q = window % s.pooled_width();
  return (2 * p * (s.width + 2) + 2 * q) * s.in_channels;
}

void add_bias_gradient(const WinnerShape& s, const float* dy, const std::uint8_t* winner, int first,
                       float* dbias) {
  __m512 sum = _mm512_loadu_ps(dbias);
  for (int window = 0; window < s.windows(); ++window) {
    const int i = window * s.out_channels + first;
    const __m128i who = _mm_loadu_si128(reinterpret_cast<const __m128i*>(winner + i));
    const __mmask16 won = _mm512_cmplt_epi32_mask(_mm512_cvtepu8_epi32(who), _mm512_set1_epi32(4));
    sum = _mm512_mask_add_ps(sum, won, sum, _mm512_loadu_ps(dy + i));
  }
  _mm512_storeu_ps(dbias, sum);
}

void add_wide_weight_gradient(const WinnerShape& s, const float* x, const float* dy,
                              const std::uint8_t* winner, int first, float* dw, void* scratch) {
  Carver carver(scratch);
  float* bordered = carver.take<float>(bordered_elements(s));
  float* factors = carver.take<float>(kWinnerBlock * s.windows());
  auto* offsets = carver.take<std::int32_t>(kWinnerBlock * s.windows());
  add_border(s, x, bordered);

  // A list of winners for each output channel. Entries are always written but only counted if there
  // is a winner, because a branch on the pattern of winners would often be mispredicted.
  int counts[kWinnerBlock] = {};
  const PlaceOffsets place(s);
  for (int window = 0; window < s.windows(); ++window) {
    const std::int32_t corner = window_offset(s, window);
    const float* gradient = dy + window * s.out_channels + first;
    const std::uint8_t* who = winner + window * s.out_channels + first;
    for (int k = 0; k < kWinnerBlock; ++k) {
      const int i = k * s.windows() + counts[k];
      factors[i] = gradient[k];
      offsets[i] = corner + place.at[who[k]];
      counts[k] += who[k] < 4 ? 1 : 0;
    }
  }
  const int row = 3 * s.in_channels;
  for (int k = 0; k < kWinnerBlock; ++k) {
    const Terms terms{factors + k * s.windows(), offsets + k * s.windows(), counts[k]};
    add_three_rows(row / kVector, dw + k * s.weight_stride(), row, bordered,
                   (s.width + 2) * s.in_channels, terms);
  }
}

/// For few channels: the 9 * channels values of a neighbourhood are gathered into two vectors, and
/// the block's sums, 2 KiB, stay in the L1 cache.
void add_narrow_weight_gradient(const WinnerShape& s, const float* x, const float* dy,
                                const std::uint8_t* winner, int first, float* dw, void* scratch) {
  Carver carver(scratch);
  float* bordered = carver.take<float>(bordered_elements(s) + kVector);
  add_border(s, x, bordered);
  const int row = 3 * s.in_channels;
  const int line = (s.width + 2) * s.in_channels;
  const PlaceOffsets place(s);
  // Reads whole vectors; values after the first `row` are zeroed.
  const auto row_mask = static_cast<__mmask16>((1u << row) - 1);
  alignas(64) float places[5][2 * kVector] = {};
  for (int window = 0; window < s.windows(); ++window) {
    const float* corner = bordered + window_offset(s, window);
    for (int i = 0; i < 4; ++i) {
      const float* from = corner + place.at[i];
      _mm512_mask_storeu_ps(places[i], row_mask, _mm512_maskz_loadu_ps(row_mask, from));
      _mm512_mask_storeu_ps(places[i] + row, row_mask,
                            _mm512_maskz_loadu_ps(row_mask, from + line));
      _mm512_mask_storeu_ps(places[i] + 2 * row, row_mask,
                            _mm512_maskz_loadu_ps(row_mask, from + 2 * line));
    }
    const float* gradient = dy + window * s.out_channels + first;
    const std::uint8_t* who = winner + window * s.out_channels + first;
    for (int k = 0; k < kWinnerBlock; ++k) {
      // If there is no winner, uses the fifth neighbourhood, which holds zeros.
      const float* values = places[who[k]];
      const __m512 factor = _mm512_set1_ps(gradient[k]);
      float* sum = dw + k * 2 * kVector;
      _mm512_storeu_ps(sum, _mm512_fmadd_ps(factor, _mm512_load_ps(values), _mm512_loadu_ps(sum)));
      _mm512_storeu_ps(sum + kVector, _mm512_fmadd_ps(factor, _mm512_load_ps(values + kVector),
                                                      _mm512_loadu_ps(sum + kVector)));
    }
  }
}

}  // namespace

bool winner_gradient_available() {
  return avx512_in_use();
}

std::size_t winner_gradient_scratch(const WinnerShape& s) {
  const int border = round_up((bordered_elements(s) + kVector) * 4, 64);
  const int lists = 2 * round_up(kWinnerBlock * s.windows() * 4, 64);
  const int places = 8 * round_up((s.out_channels + kVector) * 4, 64);
  return static_cast<std::size_t>(border + (lists > places ? lists : places));
}

void add_weight_gradient(const WinnerShape& s, const float* x, const float* dy,
                         const std::uint8_t* winner, int first, float* dw, float* dbias,
                         void* scratch) {
  add_bias_gradient(s, dy, winner, first, dbias);
  if (s.narrow()) {
    add_narrow_weight_gradient(s, x, dy, winner, first, dw, scratch);
  } else {
    add_wide_weight_gradient(s, x, dy, winner, first, dw, scratch);
  }
}

void write_data_gradient(const WinnerShape& s, const float* w, const float* dy,
                         const std::uint8_t* winner, float* dx, void* scratch) {
  Carver carver(scratch);
  float* bordered = carver.take<float>(bordered_elements(s));
  zero(bordered, bordered_elements(s));
  Terms terms[4];
  for (Terms& list : terms) {
    list.factor = carver.take<float>(s.out_channels + kVector);
    list.offset = carver.take<std::int32_t>(s.out_channels + kVector);
  }
  const PlaceOffsets place(s);
  const int row = 3 * s.in_channels;
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512i steps = _mm512_mullo_epi32(lanes, _mm512_set1_epi32(9 * s.in_channels));
  for (int window = 0; window < s.windows(); ++window) {
    // Output channels won by each of the four positions.
    for (Terms& list : terms) list.count = 0;
    for (int k = 0; k < s.out_channels; k += kVector) {
      const int i = window * s.out_channels + k;
      const __m512 gradient = _mm512_loadu_ps(dy + i);
      const __m512i offset = _mm512_add_epi32(steps, _mm512_set1_epi32(k * 9 * s.in_channels));
      const __m512i who =
          _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(winner + i)));
      for (int p = 0; p < 4; ++p) {
        const __mmask16 won = _mm512_cmpeq_epi32_mask(who, _mm512_set1_epi32(p));
        Terms& list = terms[p];
        _mm512_storeu_ps(list.factor + list.count, _mm512_maskz_compress_ps(won, gradient));
        _mm512_storeu_si512(list.offset + list.count, _mm512_maskz_compress_epi32(won, offset));
        list.count += __builtin_popcount(won);
      }
    }
    float* corner = bordered + window_offset(s, window);
    for (int p = 0; p < 4; ++p) {
      add_three_rows(row / kVector, corner + place.at[p], (s.width + 2) * s.in_channels, w, row,
                     terms[p]);
    }
  }
  remove_border(s, bordered, dx);
}

}  // namespace wellspring::ops::cpu

#else  // this compiler or architecture has no AVX-512

namespace wellspring::ops::cpu {

bool winner_gradient_available() {
  return false;
}
std::size_t winner_gradient_scratch(const WinnerShape&) {
  return 0;
}
void add_weight_gradient(const WinnerShape&, const float*, const float*, const std::uint8_t*, int,
                         float*, float*, void*) {}
void write_data_gradient(const WinnerShape&, const float*, const float*, const std::uint8_t*,
                         float*, void*) {}

}  // namespace wellspring::ops::cpu

#endif
