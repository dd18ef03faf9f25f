// Gradients of a 3x3 convolution before max pooling, for one instruction set. Included only by
// avx2.cpp and avx512.cpp; host only. kernels/ops/cpu/winner_gradient.h describes the functions.
#pragma once

#include "kernels/ops/cpu/vector.h"
#include "kernels/ops/cpu/winner_gradient.h"

namespace wellspring::ops::cpu::WS_VECTORS {

inline int round_up(int n, int multiple) {
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
  Vector sum[kRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 32
    for (int v = 0; v < kVectors; ++v) {
      sum[r][v] = load(out + r * out_stride + v * kVector);
    }
  for (int i = 0; i < terms.count; ++i) {
    const Vector factor = all(terms.factor[i]);
    const float* row = base + terms.offset[i];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 32
      for (int v = 0; v < kVectors; ++v) {
        const Vector value = load(row + r * base_stride + v * kVector);
        sum[r][v] = add_product(factor, value, sum[r][v]);
      }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 32
    for (int v = 0; v < kVectors; ++v) {
      store(out + r * out_stride + v * kVector, sum[r][v]);
    }
}

/// Processes three rows of `vectors` vectors each, in as few passes over the terms as the registers
/// allow. `vectors` is a multiple of 3.
inline void add_three_rows(int vectors, float* out, std::ptrdiff_t out_stride, const float* base,
                           std::ptrdiff_t base_stride, const Terms& terms) {
  constexpr int kMost = kRegisters * 3 / 4;
  if (terms.count == 0) return;
  if (kRegisters == 32 && vectors == 3)
    return add_rows<3, 3>(out, out_stride, base, base_stride, terms);
  if (kRegisters == 32 && vectors == 6)
    return add_rows<3, 6>(out, out_stride, base, base_stride, terms);
  for (int r = 0; r < 3; ++r) {
    float* to = out + r * out_stride;
    const float* from = base + r * base_stride;
    int left = vectors;
    const auto add = [&]<int kCount>() {
      for (; left >= kCount; left -= kCount, to += kCount * kVector, from += kCount * kVector)
        add_rows<1, kCount>(to, 0, from, 0, terms);
    };
    add.template operator()<kMost>();
    add.template operator()<kMost / 2>();
    add.template operator()<3>();
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

inline int bordered_elements(const WinnerShape& s) {
  return (s.height + 2) * (s.width + 2) * s.in_channels;
}

inline void zero(float* values, int count) {
  for (int i = 0; i < count; ++i) values[i] = 0;
}
inline void copy(float* to, const float* from, int count) {
  for (int i = 0; i < count; ++i) to[i] = from[i];
}

/// Copies x and adds a border of one zero pixel.
inline void add_border(const WinnerShape& s, const float* x, float* bordered) {
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

inline void remove_border(const WinnerShape& s, const float* bordered, float* x) {
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
inline std::int32_t window_offset(const WinnerShape& s, int window) {
  const int p = window / s.pooled_width(), q = window % s.pooled_width();
  return (2 * p * (s.width + 2) + 2 * q) * s.in_channels;
}

inline void add_bias_gradient(const WinnerShape& s, const float* dy, const std::uint8_t* winner,
                              int first, float* dbias) {
  for (int k = 0; k < kWinnerBlock; k += kVector) {
    Vector sum = load(dbias + k);
    for (int window = 0; window < s.windows(); ++window) {
      const int i = window * s.out_channels + first + k;
      sum = add(sum, keep_below_4(winner + i, load(dy + i)));
    }
    store(dbias + k, sum);
  }
}

inline void add_wide_weight_gradient(const WinnerShape& s, const float* x, const float* dy,
                                     const std::uint8_t* winner, int first, float* dw,
                                     void* scratch) {
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

/// For few channels: the 9 * channels values of a neighbourhood are gathered into kNarrow values,
/// and the block's sums, 2 KiB, fit into the L1 cache.
inline void add_narrow_weight_gradient(const WinnerShape& s, const float* x, const float* dy,
                                       const std::uint8_t* winner, int first, float* dw,
                                       void* scratch) {
  constexpr int kNarrow = 32;
  Carver carver(scratch);
  float* bordered = carver.take<float>(bordered_elements(s) + kVector);
  add_border(s, x, bordered);
  const int row = 3 * s.in_channels;
  const int line = (s.width + 2) * s.in_channels;
  const PlaceOffsets place(s);
  alignas(64) float places[5][kNarrow] = {};
  for (int window = 0; window < s.windows(); ++window) {
    const float* corner = bordered + window_offset(s, window);
    for (int i = 0; i < 4; ++i)
      for (int r = 0; r < 3; ++r)
        copy_few(row, corner + place.at[i] + r * line, places[i] + r * row);
    const float* gradient = dy + window * s.out_channels + first;
    const std::uint8_t* who = winner + window * s.out_channels + first;
    for (int k = 0; k < kWinnerBlock; ++k) {
      // If there is no winner, uses the fifth neighbourhood, which holds zeros.
      const float* values = places[who[k]];
      const Vector factor = all(gradient[k]);
      float* sum = dw + k * kNarrow;
#pragma GCC unroll 4
      for (int v = 0; v < kNarrow; v += kVector)
        store(sum + v, add_product(factor, load(values + v), load(sum + v)));
    }
  }
}

/// Appends each output channel of a window to the list of its winning position; terms[4] takes the
/// channels without a winner.
inline void list_winners(const WinnerShape& s, int window, const float* dy,
                         const std::uint8_t* winner, Terms* terms) {
  for (int p = 0; p < 5; ++p) terms[p].count = 0;
  const float* gradient = dy + window * s.out_channels;
  const std::uint8_t* who = winner + window * s.out_channels;
#if defined(__AVX512F__)
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512i steps = _mm512_mullo_epi32(lanes, _mm512_set1_epi32(9 * s.in_channels));
  for (int k = 0; k < s.out_channels; k += kVector) {
    const __m512i offset = _mm512_add_epi32(steps, _mm512_set1_epi32(k * 9 * s.in_channels));
    const __m512i place =
        _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(who + k)));
    for (int p = 0; p < 4; ++p) {
      const __mmask16 won = _mm512_cmpeq_epi32_mask(place, _mm512_set1_epi32(p));
      Terms& list = terms[p];
      store(list.factor + list.count, _mm512_maskz_compress_ps(won, load(gradient + k)));
      _mm512_storeu_si512(list.offset + list.count, _mm512_maskz_compress_epi32(won, offset));
      list.count += _mm_popcnt_u32(won);
    }
  }
#else
  for (int k = 0; k < s.out_channels; ++k) {
    Terms& list = terms[who[k]];
    list.factor[list.count] = gradient[k];
    list.offset[list.count++] = k * 9 * s.in_channels;
  }
#endif
}

inline std::size_t winner_gradient_scratch(const WinnerShape& s) {
  const int border = round_up((bordered_elements(s) + kVector) * 4, 64);
  const int lists = 2 * round_up(kWinnerBlock * s.windows() * 4, 64);
  const int places = 10 * round_up((s.out_channels + kVector) * 4, 64);
  return static_cast<std::size_t>(border + (lists > places ? lists : places));
}

inline void add_weight_gradient(const WinnerShape& s, const float* x, const float* dy,
                                const std::uint8_t* winner, int first, float* dw, float* dbias,
                                void* scratch) {
  add_bias_gradient(s, dy, winner, first, dbias);
  if (s.narrow()) {
    add_narrow_weight_gradient(s, x, dy, winner, first, dw, scratch);
  } else {
    add_wide_weight_gradient(s, x, dy, winner, first, dw, scratch);
  }
}

inline void write_data_gradient(const WinnerShape& s, const float* w, const float* dy,
                                const std::uint8_t* winner, float* dx, void* scratch) {
  Carver carver(scratch);
  float* bordered = carver.take<float>(bordered_elements(s));
  zero(bordered, bordered_elements(s));
  Terms terms[5];
  for (Terms& list : terms) {
    list.factor = carver.take<float>(s.out_channels + kVector);
    list.offset = carver.take<std::int32_t>(s.out_channels + kVector);
  }
  const PlaceOffsets place(s);
  const int row = 3 * s.in_channels;
  for (int window = 0; window < s.windows(); ++window) {
    list_winners(s, window, dy, winner, terms);
    float* corner = bordered + window_offset(s, window);
    for (int p = 0; p < 4; ++p) {
      add_three_rows(row / kVector, corner + place.at[p], (s.width + 2) * s.in_channels, w, row,
                     terms[p]);
    }
  }
  remove_border(s, bordered, dx);
}

inline constexpr WinnerKernels kWinner{
    .scratch = winner_gradient_scratch,
    .add_weight_gradient = add_weight_gradient,
    .write_data_gradient = write_data_gradient,
};

}  // namespace wellspring::ops::cpu::WS_VECTORS
