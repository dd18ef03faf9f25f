// Compiled for AVX-512 whatever the rest of the program is compiled for. So that no function of
// this file can be taken for one of another, it instantiates no library template.
#include "kernels/ops/cpu/winograd.h"

#if defined(__AVX512F__)

#include <immintrin.h>

namespace wellspring::ops::cpu {
namespace {

constexpr int kVector = 16;  // floats
constexpr int kPanel = kWinogradPanel;
constexpr int kSide = 6, kPoints = kSide * kSide;  // of a tile of inputs
constexpr int kBlock =
    128;  // channels whose weights, transformed for a panel, take half of a cache

/// [rows][columns], known to the compiler, which leaves out what is multiplied by 0.
template <int kRows, int kColumns>
struct Matrix {
  float at[kRows][kColumns];
  constexpr Matrix<kColumns, kRows> transposed() const {
    Matrix<kColumns, kRows> result{};
    for (int r = 0; r < kRows; ++r)
      for (int c = 0; c < kColumns; ++c) result.at[c][r] = at[r][c];
    return result;
  }
};

// Of the points 0, 1, -1, 1/2, -2 and infinity: an output y_i = sum_j d_(i+j) g_j is
// A^T [(G g) * (B^T d)], G and A evaluating polynomials at the points and B^T being the transposed
// inverse of evaluating one of degree 5.
constexpr Matrix<6, 3> kG = {
    {{1, 0, 0}, {1, 1, 1}, {1, -1, 1}, {1, 0.5f, 0.25f}, {1, -2, 4}, {0, 0, 1}}};
constexpr Matrix<4, 6> kAT = {{{1, 1, 1, 1, 1, 0},
                               {0, 1, -1, 0.5f, -2, 0},
                               {0, 1, 1, 0.25f, 4, 0},
                               {0, 1, -1, 0.125f, -8, 1}}};
constexpr float k3 = 1.0f / 3, k6 = 1.0f / 6, k15 = 1.0f / 15, k30 = 1.0f / 30;
constexpr Matrix<6, 6> kBT = {{{1, -1.5f, -2, 1.5f, 1, 0},
                               {0, -k3, k6, 5 * k6, k3, 0},
                               {0, -k3, 5 * k6, -k6, -k3, 0},
                               {0, 32 * k15, 16 * k15, -32 * k15, -16 * k15, 0},
                               {0, k30, -k15, -k30, k15, 0},
                               {0, 1, -1.5f, -2, 1.5f, 1}}};
constexpr Matrix<6, 4> kA = kAT.transposed();
constexpr Matrix<3, 6> kGT = kG.transposed();

/// out[r * out_stride] = sum over c of M[r][c] in[c].
template <auto M, int kRows, int kColumns>
inline void times(const __m512* in, __m512* out, int out_stride) {
#pragma GCC unroll 6
  for (int r = 0; r < kRows; ++r) {
    __m512 sum = _mm512_setzero_ps();
    bool first = true;
#pragma GCC unroll 6
    for (int c = 0; c < kColumns; ++c) {
      const float factor = M.at[r][c];
      if (factor == 0) continue;
      if (first)
        sum = factor == 1 ? in[c] : _mm512_mul_ps(in[c], _mm512_set1_ps(factor));
      else if (factor == 1)
        sum = _mm512_add_ps(sum, in[c]);
      else if (factor == -1)
        sum = _mm512_sub_ps(sum, in[c]);
      else
        sum = _mm512_fmadd_ps(in[c], _mm512_set1_ps(factor), sum);
      first = false;
    }
    out[r * out_stride] = sum;
  }
}

/// M in M^T, of one vector of channels: load(i) is element i of in [columns][columns], store(i, v)
/// takes element i of the result [rows][rows]. A column at a time, then a row, so that what is at
/// work stays in registers.
template <auto M, int kRows, int kColumns, class Load, class Store>
inline void both_sides(Load load, Store store) {
  __m512 half[kRows * kColumns];
#pragma GCC unroll 1
  for (int c = 0; c < kColumns; ++c) {
    __m512 column[kColumns];
#pragma GCC unroll 6
    for (int r = 0; r < kColumns; ++r) column[r] = load(r * kColumns + c);
    times<M, kRows, kColumns>(column, half + c, kColumns);
  }
#pragma GCC unroll 1
  for (int r = 0; r < kRows; ++r) {
    __m512 row[kRows];
    times<M, kRows, kColumns>(half + r * kColumns, row, 1);
#pragma GCC unroll 6
    for (int c = 0; c < kRows; ++c) store(r * kRows + c, row[c]);
  }
}

/// Floats from one point's matrix [rows][columns] to the next: a vector more than it has, so that
/// the 36 do not fall on the same lines of a cache.
constexpr std::ptrdiff_t point_stride(int rows, int columns) {
  return std::ptrdiff_t{rows} * columns + kVector;
}

/// Asks for the line that p lies in: what is read or written next comes from memory or a far cache,
/// in steps that no processor guesses.
inline void ask_for(const float* p) {
  _mm_prefetch(p, _MM_HINT_T0);
}

/// Where the pixels of a square around tile `index` lie, and which of them do. It begins `before`
/// pixels in front of the tile.
template <int kWidth>
struct Patch {
  std::ptrdiff_t offset[kWidth * kWidth];  ///< of a pixel's first channel; 0 beyond the edge
  __mmask16 inside[kWidth * kWidth];       ///< of a vector of channels: all or none

  void find(const WinogradImages& images, int channels, int before, std::int64_t index) {
    const std::int64_t line = index / images.tiles_across();
    const int left = 4 * static_cast<int>(index % images.tiles_across()) - before;
    const int top = 4 * static_cast<int>(line % images.tiles_down()) - before;
    const std::ptrdiff_t image = line / images.tiles_down() * images.height;
    const bool exists = index < images.tiles();
    for (int i = 0; i < kWidth; ++i) {
      const bool row = exists && top + i >= 0 && top + i < images.height;
      const std::ptrdiff_t begin = ((image + top + i) * images.width + left) * channels;
      for (int j = 0; j < kWidth; ++j) {
        const bool is = row && left + j >= 0 && left + j < images.width;
        inside[i * kWidth + j] = is ? 0xffff : 0;
        offset[i * kWidth + j] = is ? begin + std::ptrdiff_t{j} * channels : 0;
      }
    }
  }
  /// The first rows and columns are in a cache already, from the tile above or the one before.
  void ask_for_new(const float* x) const {
#pragma GCC unroll 4
    for (int i = kWidth - 4; i < kWidth; ++i)
#pragma GCC unroll 4
      for (int j = kWidth - 4; j < kWidth; ++j) ask_for(x + offset[i * kWidth + j]);
  }
};

/// body(t, patch of tile t, patch of the next) for the tiles of one group.
template <int kWidth, class Body>
inline void each_tile(const WinogradImages& images, int channels, int before, std::int64_t group,
                      Body body) {
  const std::int64_t first = group * images.group();
  Patch<kWidth> patches[2];
  patches[0].find(images, channels, before, first);
  for (int t = 0; t < images.group(); ++t) {
    Patch<kWidth>& next = patches[(t + 1) % 2];
    next.find(images, channels, before, first + t + 1);
    body(t, patches[t % 2], next);
  }
}

/// M patch M^T of channels [first, first + count) for the tiles of one group.
template <auto M, int kWidth>
void transform_group(const WinogradImages& images, int channels, int before, const float* x,
                     std::int64_t group, int first, int count, float* tiles) {
  using Square = Patch<kWidth>;
  const std::ptrdiff_t stride = point_stride(images.group(), count);
  each_tile<kWidth>(
      images, channels, before, group, [&](int t, const Square& patch, const Square& next) {
        for (int c = 0; c < count; c += kVector) {
          const float* from = x + first + c;
          float* to = tiles + std::ptrdiff_t{t} * count + c;
          next.ask_for_new(from);
          both_sides<M, kSide, kWidth>(
              [&](int p) { return _mm512_maskz_loadu_ps(patch.inside[p], from + patch.offset[p]); },
              [&](int p, __m512 value) { _mm512_storeu_ps(to + p * stride, value); });
        }
      });
}

/// out [8 rows][panel] = sum over k < depth of a[row * a_row + k * a_step] * b[k * panel + column],
/// where `add`, added to what is there. ask(k) asks for what comes later.
template <class Ask>
inline void multiply(int depth, const float* a, std::ptrdiff_t a_row, std::ptrdiff_t a_step,
                     const float* b, bool add, float* out, Ask ask) {
  constexpr int kRows = 8, kVectors = kPanel / kVector;
  __m512 sum[kRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v)
      sum[r][v] = _mm512_maskz_loadu_ps(add ? 0xffff : 0, out + r * kPanel + v * kVector);
  for (int k = 0; k < depth; ++k, a += a_step, b += kPanel) {
    ask(k);
    const __m512 left = _mm512_loadu_ps(b), right = _mm512_loadu_ps(b + kVector);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const __m512 factor = _mm512_set1_ps(a[r * a_row]);
      sum[r][0] = _mm512_fmadd_ps(factor, left, sum[r][0]);
      sum[r][1] = _mm512_fmadd_ps(factor, right, sum[r][1]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) _mm512_storeu_ps(out + r * kPanel + v * kVector, sum[r][v]);
}

/// rows[i] [16] = column i of what rows were.
void transpose(__m512* rows) {
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
  // fours[4 i + c]: rows 4 i to 4 i + 3 of column c, and of columns c + 4, c + 8, c + 12.
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

/// Channels [first, first + count) of those that are summed over.
struct Block {
  Block(int begin, int channels)
      : first(begin), count(channels - begin < kBlock ? channels - begin : kBlock) {}
  int first, count;
};

/// The transformed weights of a block of in channels for out channels [first, first + panel): u
/// [36][block][panel].
void transform_weights(int in, Block block, const float* w, int first, float* u) {
  const std::ptrdiff_t kernel = std::ptrdiff_t{9} * in, stride = point_stride(block.count, kPanel);
  for (int k = 0; k < kPanel; k += kVector)
    for (int c = 0; c < block.count; c += kVector) {
      __m512 taps[kVector * 9];  // [in channel][tap]
      for (int tap = 0; tap < 9; ++tap) {
        __m512 rows[kVector];
#pragma GCC unroll 16
        for (int i = 0; i < kVector; ++i) {
          const float* from = w + (first + k + i) * kernel + tap * in + block.first + c;
          ask_for(from + kVector);
          rows[i] = _mm512_loadu_ps(from);
        }
        transpose(rows);
#pragma GCC unroll 16
        for (int i = 0; i < kVector; ++i) taps[i * 9 + tap] = rows[i];
      }
      for (int i = 0; i < kVector; ++i) {
        float* to = u + (c + i) * kPanel + k;
        both_sides<kG, kSide, 3>(
            [&](int tap) { return taps[i * 9 + tap]; },
            [&](int p, __m512 value) { _mm512_storeu_ps(to + p * stride, value); });
      }
    }
}

/// The same of kernels turned by 180 degrees and a block of out channels, for in channels [first,
/// first + panel).
void transform_turned_weights(int in, Block block, const float* w, int first, float* u) {
  const std::ptrdiff_t stride = point_stride(block.count, kPanel);
  for (int k = 0; k < block.count; ++k)
    for (int c = 0; c < kPanel; c += kVector) {
      const float* last = w + (std::ptrdiff_t{block.first + k} * 9 + 8) * in + first + c;
      float* to = u + k * kPanel + c;
      both_sides<kG, kSide, 3>(
          [&](int tap) {
            const float* from = last - std::ptrdiff_t{tap} * in;
            ask_for(from + 2 * std::ptrdiff_t{9} * in);
            return _mm512_loadu_ps(from);
          },
          [&](int p, __m512 value) { _mm512_storeu_ps(to + p * stride, value); });
    }
}

/// Channels [first, first + panel) of y, which has `channels`, from the products of one group: m
/// [36][group][panel].
void write_group(const WinogradImages& images, int channels, std::int64_t group, const float* m,
                 int first, WinogradEnd end, float* y) {
  using Square = Patch<4>;
  const std::ptrdiff_t stride = point_stride(images.group(), kPanel);
  // A NaN passes through: max_ps gives the second operand where one is none.
  const __m512 least = _mm512_set1_ps(end.relu ? 0.0f : -__builtin_inff());
  each_tile<4>(images, channels, 0, group, [&](int t, const Square& patch, const Square& next) {
    for (int c = 0; c < kPanel; c += kVector) {
      const __m512 bias =
          end.bias != nullptr ? _mm512_loadu_ps(end.bias + first + c) : _mm512_setzero_ps();
      const float* from = m + t * kPanel + c;
      float* to = y + first + c;
      next.ask_for_new(to);
      both_sides<kAT, 4, kSide>(
          [&](int p) {
            ask_for(from + p * stride + kPanel);
            return _mm512_loadu_ps(from + p * stride);
          },
          [&](int p, __m512 value) {
            _mm512_mask_storeu_ps(to + patch.offset[p], patch.inside[p],
                                  _mm512_max_ps(least, _mm512_add_ps(value, bias)));
          });
    }
  });
}

/// A panel of an image from the transformed tiles of another with `depth` channels, block by block:
/// transform(block, u) writes the transformed weights.
template <class Transform>
void write_panel(const WinogradImages& images, int depth, TileGroups groups, const float* tiles,
                 Transform transform, int channels, int first, WinogradEnd end, float* y,
                 float* scratch) {
  const std::ptrdiff_t from = point_stride(images.group(), depth),
                       to = point_stride(images.group(), kPanel);
  const std::size_t size = winograd_tiles(images, kPanel);  // of the products of a group
  float* const u = scratch + kGroupsAtOnce * size;
  for (int begin = 0; begin < depth; begin += kBlock) {
    const Block block(begin, depth);
    const std::ptrdiff_t weights = point_stride(block.count, kPanel);
    transform(block, u);
    for (std::int64_t group = groups.first; group < groups.end; ++group) {
      const auto index = static_cast<std::size_t>(group - groups.first);
      const float* v = tiles + index * winograd_tiles(images, depth) + begin;
      float* m = scratch + (block.count == depth ? 0 : index * size);
      for (int p = 0; p < kPoints; ++p)
        for (int t = 0; t < images.group(); t += 8) {
          const float* rows = v + p * from + std::ptrdiff_t{t} * depth;
          const float* next = rows + std::ptrdiff_t{8} * depth;
          multiply(block.count, rows, depth, 1, u + p * weights, begin > 0, m + p * to + t * kPanel,
                   [=](int k) { ask_for(next + std::ptrdiff_t{k % 8} * depth + k / 8 * 8); });
        }
      if (begin + block.count == depth) write_group(images, channels, group, m, first, end, y);
    }
  }
}

}  // namespace

bool winograd_available() {
  return __builtin_cpu_supports("avx512f") != 0;
}

std::size_t winograd_tiles(const WinogradImages& images, int channels) {
  return static_cast<std::size_t>(kPoints * point_stride(images.group(), channels));
}

std::size_t winograd_scratch(const WinogradImages& images) {
  return kGroupsAtOnce * winograd_tiles(images, kPanel) +
         static_cast<std::size_t>(kPoints * point_stride(kBlock, kPanel));
}

void winograd_input(const WinogradImages& images, int channels, const float* x, std::int64_t group,
                    float* tiles) {
  transform_group<kBT, 6>(images, channels, 1, x, group, 0, channels, tiles);
}

void winograd_gradient(const WinogradImages& images, int channels, const float* dy,
                       std::int64_t group, float* tiles) {
  transform_group<kA, 4>(images, channels, 0, dy, group, 0, channels, tiles);
}

void winograd_forward(const WinogradImages& images, int in_channels, int out_channels,
                      TileGroups groups, const float* tiles, const float* w, int panel,
                      WinogradEnd end, float* y, float* scratch) {
  const int first = panel * kPanel;
  write_panel(
      images, in_channels, groups, tiles,
      [&](Block block, float* u) { transform_weights(in_channels, block, w, first, u); },
      out_channels, first, end, y, scratch);
}

void winograd_backward_data(const WinogradImages& images, int in_channels, int out_channels,
                            TileGroups groups, const float* tiles, const float* w, int panel,
                            float* dx, float* scratch) {
  const int first = panel * kPanel;
  write_panel(
      images, out_channels, groups, tiles,
      [&](Block block, float* u) { transform_turned_weights(in_channels, block, w, first, u); },
      in_channels, first, {}, dx, scratch);
}

void winograd_backward_weights(const WinogradImages& images, int in_channels, int out_channels,
                               const float* x, const float* tiles, int panel, float* dw,
                               float* scratch) {
  const int first = panel * kPanel;
  const std::ptrdiff_t from = point_stride(images.group(), out_channels),
                       beside = point_stride(images.group(), kPanel);
  float *const v = scratch, *const du = scratch + winograd_tiles(images, kPanel);
  for (int begin = 0; begin < out_channels; begin += kBlock) {
    const Block block(begin, out_channels);
    const std::ptrdiff_t sums = point_stride(block.count, kPanel);  // du [36][block][panel]
    for (std::int64_t group = 0; group < images.groups(); ++group) {
      const float* d =
          tiles + static_cast<std::size_t>(group) * winograd_tiles(images, out_channels) + begin;
      if (begin == 0 || images.groups() > 1)
        transform_group<kBT, 6>(images, in_channels, 1, x, group, first, kPanel, v);
      for (int p = 0; p < kPoints; ++p)
        for (int k = 0; k < block.count; k += 8) {
          const float *columns = d + p * from + k, *next = columns + from;
          multiply(images.group(), columns, 1, out_channels, v + p * beside, group > 0,
                   du + p * sums + std::ptrdiff_t{k} * kPanel,
                   [=](int t) { ask_for(next + std::ptrdiff_t{t} * out_channels); });
        }
    }
    for (int k = 0; k < block.count; ++k)
      for (int c = 0; c < kPanel; c += kVector) {
        const float* points = du + std::ptrdiff_t{k} * kPanel + c;
        float* to = dw + std::ptrdiff_t{begin + k} * 9 * in_channels + first + c;
        both_sides<kGT, 3, kSide>([&](int p) { return _mm512_loadu_ps(points + p * sums); },
                                  [&](int tap, __m512 value) {
                                    ask_for(to + std::ptrdiff_t{tap + 18} * in_channels);
                                    _mm512_storeu_ps(to + std::ptrdiff_t{tap} * in_channels, value);
                                  });
      }
  }
}

}  // namespace wellspring::ops::cpu

#else

namespace wellspring::ops::cpu {

bool winograd_available() {
  return false;
}
std::size_t winograd_tiles(const WinogradImages&, int) {
  return 0;
}
std::size_t winograd_scratch(const WinogradImages&) {
  return 0;
}
void winograd_input(const WinogradImages&, int, const float*, std::int64_t, float*) {}
void winograd_gradient(const WinogradImages&, int, const float*, std::int64_t, float*) {}
void winograd_forward(const WinogradImages&, int, int, TileGroups, const float*, const float*, int,
                      WinogradEnd, float*, float*) {}
void winograd_backward_data(const WinogradImages&, int, int, TileGroups, const float*, const float*,
                            int, float*, float*) {}
void winograd_backward_weights(const WinogradImages&, int, int, const float*, const float*, int,
                               float*, float*) {}

}  // namespace wellspring::ops::cpu

#endif
