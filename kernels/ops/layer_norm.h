// Layer normalisation: y = gamma xhat + beta with xhat = (x - mu) rstd, where mu is the mean of a
// row, and rstd = 1 / sqrt(variance + epsilon). Called by train/network; host only. The functors
// run on host and device.
//
// Source: J. Ba, J. Kiros, G. Hinton, "Layer Normalization", 2016 (arXiv:1607.06450), eq. 3-4. The
// variance is the mean square of x - mu, so no digits cancel. Backward, with g = gamma dy:
//
//   dx     = rstd (g - a - xhat b),  a = mean(g), b = mean(g xhat) over the row
//   dgamma = sum(dy xhat),  dbeta = sum(dy), over all rows
//
// A team's row is short, so the passes after the first read it from the nearest cache.
#pragma once

#include "kernels/ops/channel_loop.h"
#include "kernels/ops/channel_sums.h"
#include "kernels/ops/normalised.h"
#include "kernels/random/math.h"
#include "kernels/runtime/dtype.h"
#include "kernels/runtime/launch_bound.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/pack.h"
#include "kernels/runtime/reduce.h"
#include "kernels/runtime/simd.h"
#include "kernels/runtime/stream.h"

#include <cstddef>
#include <cstdint>

namespace wellspring::ops {

/// Maximum number of channels per row. The gradient of such a row fits into the scratch of a team
/// on every GPU.
inline constexpr int kMaxLayerNormChannels = 4096;

struct LayerNormSpec {
  std::int64_t rows = 1;
  int channels = 1;  ///< at most kMaxLayerNormChannels
  float epsilon = 1e-6f;
  DType compute = DType::f32;
};
/// Writes mean and rstd [rows] for the backward pass. y may be x.
void layer_norm_forward(Stream& stream, const LayerNormSpec& spec, const void* x,
                        const float* gamma, const float* beta, void* y, float* mean, float* rstd);
/// Computes dx, which may be dy or null, and dgamma and dbeta, which may both be null. `partials`
/// holds layer_norm_partials(spec) floats. `later`: as in group_norm_backward.
void layer_norm_backward(Stream& stream, const LayerNormSpec& spec, const void* x, const void* dy,
                         const float* gamma, const float* mean, const float* rstd, void* dx,
                         float* dgamma, float* dbeta, float* partials, PartTotals* later = nullptr);
std::size_t layer_norm_partials(const LayerNormSpec& spec);

/// Members of a team for one row. Each has up to four packs, or up to eight where this lets two
/// teams share a warp. The order of the sums, and therefore their bits, depend on this number.
WS_INLINE constexpr int row_team(int channels) {
  int size = 8;
  while ((size < 16 ? 4 : 8) * kPack * size < channels) size *= 2;
  return size;
}
/// Leaves registers for the maximum number of blocks per multiprocessor if teams are small.
inline constexpr LaunchBound kRowTeam = {256, 4};
inline constexpr int kMostRowSlots = kPack * row_team(kMaxLayerNormChannels);

template <int count>
struct RowSums {
  float of[count];

  friend WS_INLINE RowSums operator+(const RowSums& a, const RowSums& b) {
    RowSums sums;
    for (int s = 0; s < count; ++s) sums.of[s] = a.of[s] + b.of[s];
    return sums;
  }
};
/// Bytes of scratch for `count` sums over a row.
constexpr std::size_t row_scratch(int channels, int count) {
  return static_cast<std::size_t>(count * row_team(channels)) * sizeof(float);
}

/// `count` sums over the channels of a row. add(Width<n>, k, sums) adds the terms of channels
/// k to k + n - 1 to the Values<n> sums[0] to sums[count - 1]. Pack p belongs to lane p %
/// lanes, with row_team() lanes. A lane adds its packs in order, then the values of the
/// resulting pack as a tree; then team_sum() adds the lanes. The bits do not depend on the
/// team's size.
template <int count, class Team, class Add>
WS_HD RowSums<count> row_sums(Team& team, RowSums<count>* scratch, int channels, Add add) {
  const int lanes = row_team(channels), step = kPack * lanes;
  const auto fold = [](const Pack* packs) {
    RowSums<count> sums;
    for (int s = 0; s < count; ++s) {
      const auto& v = packs[s].v;
      sums.of[s] = ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
    }
    return sums;
  };
  if constexpr (LoneTeam<Team>) {  // processes all lanes in parallel, which vectorises
    alignas(Pack) float all[count * kMostRowSlots];
    float* const slots = all;
    for (int i = 0; i < count * step; ++i) slots[i] = 0;
    for (int first = 0; first < channels; first += step) {
      const int left = channels - first;
      in_lanes(left < step ? left : step, [=](int i) WS_INLINED {
        Values<1> sums[count];
        for (int s = 0; s < count; ++s) sums[s].v[0] = slots[s * step + i];
        add(Width<1>(), first + i, sums);
        for (int s = 0; s < count; ++s) slots[s * step + i] = sums[s].v[0];
      });
    }
    return team_sum(team, scratch, lanes, [=](std::int64_t lane) {
      Pack packs[count];
      for (int s = 0; s < count; ++s) packs[s] = load_pack(slots + s * step + kPack * lane);
      return fold(packs);
    });
  } else {
    return team_sum(team, scratch, lanes, [=](std::int64_t lane) {
      const int first = kPack * static_cast<int>(lane);
      Pack packs[count] = {};
      if (channels % kPack == 0) {
        detail::for_strided(first, channels, step,
                            [&](int k) WS_INLINED { add(Width<kPack>(), k, packs); });
      } else {
        for (int j = 0; j < kPack; ++j) {
          Values<1> sums[count] = {};
          for (int k = first + j; k < channels; k += step) add(Width<1>(), k, sums);
          for (int s = 0; s < count; ++s) packs[s].v[j] = sums[s].v[0];
        }
      }
      return fold(packs);
    });
  }
}

/// to[k] = value(Width<n>, k) for n channels at a time. A device computes two results before it
/// stores the first, so that it waits once for the inputs of both.
template <class Team, class T, class Value>
WS_INLINE void write_row(Team& team, int channels, T* to, Value value) {
  if constexpr (LoneTeam<Team>) {
    in_lanes(channels, [=](int k) WS_INLINED { store_values(to + k, value(Width<1>(), k)); });
  } else {
    const auto write = [=, &team]<int n>(Width<n> width) WS_INLINED {
      const int step = n * team.size();
      int k = n * team.rank();
      for (; k + step < channels; k += 2 * step) {
        const Values<n> one = value(width, k), two = value(width, k + step);
        store_values(to + k, one);
        store_values(to + k + step, two);
      }
      if (k < channels) store_values(to + k, value(width, k));
    };
    if (channels % kPack == 0) {
      write(Width<kPack>());
    } else {
      write(Width<1>());
    }
  }
}

/// One team per row.
template <class T>
struct LayerNormForward {
  static constexpr bool kSharesWarps = true;
  static constexpr LaunchBound kLaunchBound = kRowTeam;

  const T* x;
  const float* gamma;
  const float* beta;
  T* y;
  float* mean;
  float* rstd;
  int channels;
  float epsilon;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t row) const {
    const int c = channels;
    const float count = static_cast<float>(c);
    auto* scratch = team.template scratch<RowSums<1>>(static_cast<std::size_t>(row_team(c)));
    const T* from = x + row * c;
    const auto sum =
        row_sums(team, scratch, c, [=]<int n>(Width<n>, int k, Values<n>* sums) WS_INLINED {
          const Values<n> value = load_values<n>(from + k);
          for (int j = 0; j < n; ++j) sums->v[j] += value.v[j];
        });
    const float centre = sum.of[0] / count;
    const auto squares =
        row_sums(team, scratch, c, [=]<int n>(Width<n>, int k, Values<n>* sums) WS_INLINED {
          const Values<n> value = load_values<n>(from + k);
          for (int j = 0; j < n; ++j) {
            const float deviation = value.v[j] - centre;
            sums->v[j] += deviation * deviation;
          }
        });
    const float scale = 1.0f / math::sqrt(squares.of[0] / count + epsilon);
    if (team.rank() == 0) {
      mean[row] = centre;
      rstd[row] = scale;
    }
    const float *weights = gamma, *shifts = beta;
    write_row(team, c, y + row * c, [=]<int n>(Width<n>, int k) WS_INLINED {
      Values<n> value = load_values<n>(from + k);
      const Values<n> weight = load_values<n>(weights + k), shift = load_values<n>(shifts + k);
      for (int j = 0; j < n; ++j)
        value.v[j] = (value.v[j] - centre) * scale * weight.v[j] + shift.v[j];
      return value;
    });
  }
};

/// Writes dx; one team per row.
template <class T>
struct LayerNormBackward {
  static constexpr bool kSharesWarps = true;
  static constexpr LaunchBound kLaunchBound = kRowTeam;

  const T* x;
  const T* dy;
  const float* gamma;
  const float* mean;
  const float* rstd;
  T* dx;
  int channels;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t row) const {
    const int c = channels;
    const float count = static_cast<float>(c), centre = mean[row], scale = rstd[row];
    auto* scratch = team.template scratch<RowSums<2>>(static_cast<std::size_t>(row_team(c)));
    const T *values = x + row * c, *arriving = dy + row * c;
    const float* weights = gamma;
    const auto terms = [=]<int n>(Width<n>, int k) WS_INLINED {
      Terms<n> of = {load_values<n>(arriving + k), load_values<n>(values + k)};
      const Values<n> weight = load_values<n>(weights + k);
      for (int j = 0; j < n; ++j) {
        of.g.v[j] *= weight.v[j];
        of.xhat.v[j] = (of.xhat.v[j] - centre) * scale;
      }
      return of;
    };
    const auto sums =
        row_sums(team, scratch, c, [=]<int n>(Width<n> width, int k, Values<n>* both) WS_INLINED {
          const Terms<n> of = terms(width, k);
          for (int j = 0; j < n; ++j) {
            both[0].v[j] += of.g.v[j];
            both[1].v[j] += of.g.v[j] * of.xhat.v[j];
          }
        });
    const float a = sums.of[0] / count, b = sums.of[1] / count;
    write_row(team, c, dx + row * c, [=]<int n>(Width<n> width, int k) WS_INLINED {
      const Terms<n> of = terms(width, k);
      Values<n> value;
      for (int j = 0; j < n; ++j) value.v[j] = scale * (of.g.v[j] - a - of.xhat.v[j] * b);
      return value;
    });
  }

 private:
  template <int n>
  struct Terms {
    Values<n> g, xhat;
  };
};

/// gamma_parts and beta_parts [chunks, channels]: the sums of dy xhat and of dy over a chunk of
/// rows; one team per chunk. Mean and rstd: [rows].
template <class T>
struct LayerNormGradientSums {
  const T* x;
  const T* dy;
  const float* mean;
  const float* rstd;
  float* gamma_parts;
  float* beta_parts;
  NormShape shape;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t index) const {
    const int c = shape.channels;
    float* slots = team.template scratch<float>(norm_scratch(shape.rows_per_chunk, c, 2, 0));
    const NormChunk chunk(shape, index);
    const T *values = x + chunk.offset, *arriving = dy + chunk.offset;
    const float* centres = mean + index * shape.rows_per_chunk;
    const float* scales = rstd + index * shape.rows_per_chunk;
    channel_sums<2>(team, slots, chunk.rows, c, NoParameters(),
                    [=]<int n>(Width<n>, const auto&, int row, int k, Values<n>* sums) WS_INLINED {
                      const std::int64_t i = std::int64_t{row} * c + k;
                      const auto value = load_values<n>(values + i),
                                 gradient = load_values<n>(arriving + i);
                      const float centre = centres[row], scale = scales[row];
                      for (int j = 0; j < n; ++j) {
                        sums[0].v[j] += gradient.v[j];
                        sums[1].v[j] += gradient.v[j] * ((value.v[j] - centre) * scale);
                      }
                    });
    const float* gamma_sum = slots + channel_slots(chunk.rows, c);
    for (int k = team.rank(); k < c; k += team.size()) {
      beta_parts[index * c + k] = slots[k];
      gamma_parts[index * c + k] = gamma_sum[k];
    }
  }
};

}  // namespace wellspring::ops
