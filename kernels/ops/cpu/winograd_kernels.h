// The kernels of Winograd's algorithm for one instruction set. Included only by avx2.cpp and
// avx512.cpp; host only. kernels/ops/cpu/winograd.h describes the algorithm and the functions.
#pragma once

#include "kernels/ops/cpu/vector.h"
#include "kernels/ops/cpu/winograd.h"
#include "kernels/ops/cpu/winograd_forms.h"
#include "kernels/ops/cpu/winograd_patches.h"

namespace wellspring::ops::cpu::WS_VECTORS {

inline constexpr int kPanel = kWinogradPanel;
inline constexpr int kBlock = 128;  // channels whose weights for a panel fill half of an L2 cache

/// out[r * out_stride] = sum over c of M[r][c] in[c].
template <auto M, int kRows, int kColumns>
inline void multiply_column(const Vector* in, Vector* out, int out_stride) {
#pragma GCC unroll 6
  for (int r = 0; r < kRows; ++r) {
    Vector sum = zeros();
    bool first = true;
#pragma GCC unroll 6
    for (int c = 0; c < kColumns; ++c) {
      const float factor = M.at[r][c];
      if (factor == 0) continue;
      if (first)
        sum = factor == 1 ? in[c] : times(in[c], all(factor));
      else if (factor == 1)
        sum = add(sum, in[c]);
      else if (factor == -1)
        sum = subtract(sum, in[c]);
      else
        sum = add_product(in[c], all(factor), sum);
      first = false;
    }
    out[r * out_stride] = sum;
  }
}

/// Computes M in M^T for one vector of channels. load(i) returns element i of in
/// [columns][columns]; store(i, v) takes element i of the result [rows][rows]. Works column by
/// column, then row by row, so that operands stay in registers.
template <auto M, int kRows, int kColumns, class Load, class Store>
inline void both_sides(Load load, Store store) {
  Vector half[kRows * kColumns];
#pragma GCC unroll 1
  for (int c = 0; c < kColumns; ++c) {
    Vector column[kColumns];
#pragma GCC unroll 6
    for (int r = 0; r < kColumns; ++r) column[r] = load(r * kColumns + c);
    multiply_column<M, kRows, kColumns>(column, half + c, kColumns);
  }
#pragma GCC unroll 1
  for (int r = 0; r < kRows; ++r) {
    Vector row[kRows];
    multiply_column<M, kRows, kColumns>(half + r * kColumns, row, 1);
#pragma GCC unroll 6
    for (int c = 0; c < kRows; ++c) store(r * kRows + c, row[c]);
  }
}

/// Floats from one point's matrix [rows][columns] to the next. A cache line of padding keeps the 36
/// matrices from sharing the same cache sets.
constexpr std::ptrdiff_t point_stride(int rows, int columns) {
  return std::ptrdiff_t{rows} * columns + 16;
}

/// Calls body(Form of the images).
template <class Body>
auto with_form(const WinogradImages& images, Body body) {
  return images.stride == 1 ? body(Form<1>()) : body(Form<2>());
}

inline std::size_t winograd_tiles(const WinogradImages& images, int channels) {
  return with_form(images, [&]<class F>(F) {
    return static_cast<std::size_t>(F::kPoints * point_stride(images.group(), channels));
  });
}

/// Computes M patch M^T for channels [first, first + count) for the tiles of one group. A
/// transformed tile has `pitch` channels.
template <auto M, int kSide, int kWidth>
void transform_group(const WinogradImages& images, Plane plane, int channels, int before,
                     const float* x, std::int64_t group, int first, int count, int pitch,
                     float* tiles) {
  using Square = Patch<kWidth>;
  const std::ptrdiff_t stride = point_stride(images.group(), pitch);
  each_tile<kWidth>(images, plane, channels, before, group,
                    [&](int t, const Square& patch, const Square& next) {
                      for (int c = 0; c < count; c += kVector) {
                        const float* from = x + first + c;
                        float* to = tiles + std::ptrdiff_t{t} * pitch + c;
                        next.ask_for_new(from);
                        both_sides<M, kSide, kWidth>(
                            [&](int p) { return load_if(patch.inside[p], from + patch.offset[p]); },
                            [&](int p, Vector value) { store(to + p * stride, value); });
                      }
                    });
}

/// Rows and vectors of columns whose sums stay in registers, with two vectors of b and a factor.
inline constexpr int kRowsAtOnce = kRegisters / 4, kVectorsAtOnce = 2;

/// Computes the part [kRowsAtOnce][kVectorsAtOnce] of the output of multiply().
template <class Ask>
inline void multiply_block(int depth, const float* a, std::ptrdiff_t a_row, std::ptrdiff_t a_step,
                           const float* b, bool add, float* out, Ask ask) {
  Vector sum[kRowsAtOnce][kVectorsAtOnce];
#pragma GCC unroll 8
  for (int r = 0; r < kRowsAtOnce; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < kVectorsAtOnce; ++v)
      sum[r][v] = load_if(add ? 0xffff : 0, out + r * kPanel + v * kVector);
  for (int k = 0; k < depth; ++k, a += a_step, b += kPanel) {
    ask(k);
    const Vector left = load(b), right = load(b + kVector);
#pragma GCC unroll 8
    for (int r = 0; r < kRowsAtOnce; ++r) {
      const Vector factor = all(a[r * a_row]);
      sum[r][0] = add_product(factor, left, sum[r][0]);
      sum[r][1] = add_product(factor, right, sum[r][1]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRowsAtOnce; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < kVectorsAtOnce; ++v) store(out + r * kPanel + v * kVector, sum[r][v]);
}

/// out [8 rows][panel] = sum over k < depth of a[row * a_row + k * a_step] * b[k * panel + column].
/// With `add`, the sum is added to the old value. ask(k) prefetches later operands.
template <class Ask>
inline void multiply(int depth, const float* a, std::ptrdiff_t a_row, std::ptrdiff_t a_step,
                     const float* b, bool add, float* out, Ask ask) {
  for (int row = 0; row < 8; row += kRowsAtOnce)
    for (int column = 0; column < kPanel; column += kVectorsAtOnce * kVector) {
      const auto block = [&](auto asks) {
        multiply_block(depth, a + row * a_row, a_row, a_step, b + column, add,
                       out + row * kPanel + column, asks);
      };
      if (row == 0 && column == 0)
        block(ask);
      else
        block([](int) {});
    }
}

/// Channels [first, first + count) of one phase: the terms of one product's sums.
struct Block {
  Block(int of, int begin, int channels)
      : phase(of), first(begin), count(channels - begin < kBlock ? channels - begin : kBlock) {}
  int phase, first, count;
};

/// Transformed weights of a block of input channels for output channels [first, first + panel): u
/// [points][block][panel].
template <class F>
void transform_weights(int in, Block block, const float* w, int first, float* u) {
  constexpr int kTaps = F::kTaps * F::kTaps;
  const std::ptrdiff_t kernel = std::ptrdiff_t{9} * in, stride = point_stride(block.count, kPanel);
  for (int k = 0; k < kPanel; k += kVector)
    for (int c = 0; c < block.count; c += kVector) {
      Vector taps[kVector * kTaps];  // [input channel][tap]
      for (int t = 0; t < kTaps; ++t) {
        const int tap = tap_of<F>(block.phase, t);
        const std::uint16_t is = tap < 0 ? 0 : 0xffff;
        Vector rows[kVector];
#pragma GCC unroll 16
        for (int i = 0; i < kVector; ++i) {
          const float* from =
              w + (first + k + i) * kernel + (tap < 0 ? 0 : tap * in) + block.first + c;
          ask_for(from + kVector);
          rows[i] = load_if(is, from);
        }
        transpose(rows);
#pragma GCC unroll 16
        for (int i = 0; i < kVector; ++i) taps[i * kTaps + t] = rows[i];
      }
      for (int i = 0; i < kVector; ++i) {
        float* to = u + (c + i) * kPanel + k;
        both_sides<F::kG, F::kSide, F::kTaps>(
            [&](int t) { return taps[i * kTaps + t]; },
            [&](int p, Vector value) { store(to + p * stride, value); });
      }
    }
}

/// Transformed weights, with kernels rotated by 180 degrees, of a block of output channels for
/// input channels [first, first + panel) of a phase.
template <class F>
void transform_turned_weights(int in, int phase, Block block, const float* w, int first, float* u) {
  constexpr int kTaps = F::kTaps * F::kTaps;
  const std::ptrdiff_t stride = point_stride(block.count, kPanel);
  std::ptrdiff_t offset[kTaps];
  std::uint16_t is[kTaps];
  for (int t = 0; t < kTaps; ++t) {
    const int tap = tap_of<F>(phase, kTaps - 1 - t);
    is[t] = tap < 0 ? 0 : 0xffff;
    offset[t] = tap < 0 ? 0 : std::ptrdiff_t{tap} * in;
  }
  for (int k = 0; k < block.count; ++k)
    for (int c = 0; c < kPanel; c += kVector) {
      const float* kernel = w + std::ptrdiff_t{block.first + k} * 9 * in + first + c;
      float* to = u + k * kPanel + c;
      both_sides<F::kG, F::kSide, F::kTaps>(
          [&](int t) {
            ask_for(kernel + offset[t] + std::ptrdiff_t{18} * in);
            return load_if(is[t], kernel + offset[t]);
          },
          [&](int p, Vector value) { store(to + p * stride, value); });
    }
}

/// Panel of an image: channels [first, first + panel) of a plane of y with `channels` channels.
struct Target {
  Plane plane;
  int channels, first;
  WinogradEnd end;
  float* y;
};

/// Writes a panel from the products of one group, m [points][group][panel].
template <class F>
void write_group(const WinogradImages& images, std::int64_t group, const float* m,
                 const Target& target) {
  using Square = Patch<4>;
  const std::ptrdiff_t stride = point_stride(images.group(), kPanel);
  const WinogradEnd end = target.end;
  // NaN passes through: max_ps returns the second operand if either is NaN.
  const Vector least = all(end.relu ? 0.0f : -__builtin_inff());
  const auto body = [&](int t, const Square& patch, const Square& next) {
    for (int c = 0; c < kPanel; c += kVector) {
      const Vector bias = end.bias != nullptr ? load(end.bias + target.first + c) : zeros();
      const float* from = m + t * kPanel + c;
      float* to = target.y + target.first + c;
      next.ask_for_new(to);
      both_sides<F::kAT, 4, F::kSide>(
          [&](int p) {
            ask_for(from + p * stride + kPanel);
            return load(from + p * stride);
          },
          [&](int p, Vector value) {
            store_if(patch.inside[p], to + patch.offset[p], larger(least, add(value, bias)));
          });
    }
  };
  each_tile<4>(images, target.plane, target.channels, 0, group, body);
}

/// Writes a panel from the transformed tiles of an image with `depth` channels in each of `phases`,
/// block by block. transform(block, u) writes the transformed weights; vanishes(phase, p) is true
/// if the weights are known to be 0 at point p.
template <class F, class Transform, class Vanishes>
void write_panel(const WinogradImages& images, int phases, int depth, TileGroups groups,
                 const float* tiles, Transform transform, Vanishes vanishes, const Target& target,
                 float* scratch) {
  const int pitch = phases * depth;
  const std::ptrdiff_t from = point_stride(images.group(), pitch),
                       to = point_stride(images.group(), kPanel);
  const std::size_t size = winograd_tiles(images, kPanel);  // floats of a group's products
  float* const u = scratch + kGroupsAtOnce * size;
  // Starts with the last phase, whose kernels vanish at no point.
  for (int phase = phases; phase-- > 0;)
    for (int begin = 0; begin < depth; begin += kBlock) {
      const Block block(phase, begin, depth);
      const bool first = phase == phases - 1 && begin == 0,
                 last = phase == 0 && begin + block.count == depth;
      const std::ptrdiff_t weights = point_stride(block.count, kPanel);
      transform(block, u);
      for (std::int64_t group = groups.first; group < groups.end; ++group) {
        const auto index = static_cast<std::size_t>(group - groups.first);
        const float* v = tiles + index * winograd_tiles(images, pitch) + phase * depth + begin;
        float* m = scratch + (first && last ? 0 : index * size);
        for (int p = 0; p < F::kPoints; ++p)
          for (int t = 0; t < images.group(); t += 8) {
            const float* rows = v + p * from + std::ptrdiff_t{t} * pitch;
            const float* next = rows + std::ptrdiff_t{8} * pitch;
            multiply(vanishes(phase, p) ? 0 : block.count, rows, pitch, 1, u + p * weights, !first,
                     m + p * to + t * kPanel,
                     [=](int k) { ask_for(next + std::ptrdiff_t{k % 8} * pitch + k / 8 * 8); });
          }
        if (last) write_group<F>(images, group, m, target);
      }
    }
}

template <class F>
void write_weights(const WinogradImages& images, int in_channels, int out_channels, const float* x,
                   const float* tiles, int phase, int first, float* dw, float* scratch) {
  const std::ptrdiff_t from = point_stride(images.group(), out_channels),
                       beside = point_stride(images.group(), kPanel);
  float *const v = scratch, *const du = scratch + winograd_tiles(images, kPanel);
  for (int begin = 0; begin < out_channels; begin += kBlock) {
    const Block block(phase, begin, out_channels);
    const std::ptrdiff_t sums = point_stride(block.count, kPanel);  // du [points][block][panel]
    for (std::int64_t group = 0; group < images.groups(); ++group) {
      const float* d =
          tiles + static_cast<std::size_t>(group) * winograd_tiles(images, out_channels) + begin;
      if (begin == 0 || images.groups() > 1)
        transform_group<F::kBT, F::kSide, F::kSide>(images, Plane(images.stride, phase),
                                                    in_channels, 1, x, group, first, kPanel, kPanel,
                                                    v);
      for (int p = 0; p < F::kPoints; ++p) {
        if (F::vanishes(phase, p, 0)) continue;  // no tap of the phase contributes to this point
        for (int k = 0; k < block.count; k += 8) {
          const float *columns = d + p * from + k, *next = columns + from;
          multiply(images.group(), columns, 1, out_channels, v + p * beside, group > 0,
                   du + p * sums + std::ptrdiff_t{k} * kPanel,
                   [=](int t) { ask_for(next + std::ptrdiff_t{t} * out_channels); });
        }
      }
    }
    for (int k = 0; k < block.count; ++k)
      for (int c = 0; c < kPanel; c += kVector) {
        const float* points = du + std::ptrdiff_t{k} * kPanel + c;
        float* to = dw + std::ptrdiff_t{begin + k} * 9 * in_channels + first + c;
        both_sides<F::kG.transposed(), F::kTaps, F::kSide>(
            [&](int p) { return load(points + p * sums); },
            [&](int t, Vector value) {
              const int tap = tap_of<F>(phase, t);
              if (tap < 0) return;
              ask_for(to + std::ptrdiff_t{tap + 18} * in_channels);
              store(to + std::ptrdiff_t{tap} * in_channels, value);
            });
      }
  }
}

inline std::size_t winograd_scratch(const WinogradImages& images) {
  return with_form(images, [&]<class F>(F) {
    return kGroupsAtOnce * winograd_tiles(images, kPanel) +
           static_cast<std::size_t>(F::kPoints * point_stride(kBlock, kPanel));
  });
}

inline void winograd_input(const WinogradImages& images, int channels, const float* x,
                           std::int64_t group, float* tiles) {
  with_form(images, [&]<class F>(F) {
    for (int phase = 0; phase < F::kPhases; ++phase)
      transform_group<F::kBT, F::kSide, F::kSide>(images, Plane(images.stride, phase), channels, 1,
                                                  x, group, 0, channels, F::kPhases * channels,
                                                  tiles + phase * channels);
  });
}

inline void winograd_arriving(const WinogradImages& images, int channels, const float* dy,
                              std::int64_t group, float* tiles) {
  with_form(images, [&]<class F>(F) {
    transform_group<F::kBT, F::kSide, F::kSide>(images, Plane(), channels, F::kBefore, dy, group, 0,
                                                channels, channels, tiles);
  });
}

inline void winograd_gradient(const WinogradImages& images, int channels, const float* dy,
                              std::int64_t group, float* tiles) {
  with_form(images, [&]<class F>(F) {
    transform_group<F::kAT.transposed(), F::kSide, 4>(images, Plane(), channels, 0, dy, group, 0,
                                                      channels, channels, tiles);
  });
}

inline void winograd_forward(const WinogradImages& images, int in_channels, int out_channels,
                             TileGroups groups, const float* tiles, const float* w, int panel,
                             WinogradEnd end, float* y, float* scratch) {
  const int first = panel * kPanel;
  with_form(images, [&]<class F>(F) {
    write_panel<F>(
        images, F::kPhases, in_channels, groups, tiles,
        [&](Block block, float* u) { transform_weights<F>(in_channels, block, w, first, u); },
        [](int phase, int p) { return F::vanishes(phase, p, 0); },
        {Plane(), out_channels, first, end, y}, scratch);
  });
}

inline void winograd_backward_data(const WinogradImages& images, int in_channels, int out_channels,
                                   TileGroups groups, const float* tiles, const float* w, int panel,
                                   float* dx, float* scratch) {
  const int phase = panel * kPanel / in_channels, first = panel * kPanel % in_channels;
  with_form(images, [&]<class F>(F) {
    write_panel<F>(
        images, 1, out_channels, groups, tiles,
        [&](Block block, float* u) {
          transform_turned_weights<F>(in_channels, phase, block, w, first, u);
        },
        [=](int, int p) { return F::vanishes(phase, p, F::kSide - 1); },
        {Plane(images.stride, phase), in_channels, first, {}, dx}, scratch);
  });
}

inline void winograd_backward_weights(const WinogradImages& images, int in_channels,
                                      int out_channels, const float* x, const float* tiles,
                                      int panel, float* dw, float* scratch) {
  const int phase = panel * kPanel / in_channels, first = panel * kPanel % in_channels;
  with_form(images, [&]<class F>(F) {
    write_weights<F>(images, in_channels, out_channels, x, tiles, phase, first, dw, scratch);
  });
}

inline constexpr WinogradKernels kWinograd{
    .tiles = winograd_tiles,
    .scratch = winograd_scratch,
    .input = winograd_input,
    .arriving = winograd_arriving,
    .gradient = winograd_gradient,
    .forward = winograd_forward,
    .backward_data = winograd_backward_data,
    .backward_weights = winograd_backward_weights,
};

}  // namespace wellspring::ops::cpu::WS_VECTORS
