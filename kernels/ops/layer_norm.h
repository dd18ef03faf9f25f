// Layer normalisation: y = gamma xhat + beta with xhat = (x - mu) rstd, where mu is the mean of a
// row, and rstd = 1 / sqrt(variance + epsilon). Called by train/network; host; functors for host and
// device.
//
// Source: J. Ba, J. Kiros, G. Hinton, "Layer Normalization", 2016 (arXiv:1607.06450), eq. 3-4. The
// variance is the mean square of x - mu, so it does not cancel. Backward, with g = gamma dy:
//
//   dx     = rstd (g - a - xhat b),  a = mean(g), b = mean(g xhat) over the row
//   dgamma = sum(dy xhat),  dbeta = sum(dy), over all rows
//
// A team keeps its row in scratch, so each pass reads memory once.
#pragma once

#include "kernels/ops/channel_loop.h"
#include "kernels/ops/channel_sums.h"
#include "kernels/ops/normalised.h"
#include "kernels/random/math.h"
#include "kernels/runtime/dtype.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/pack.h"
#include "kernels/runtime/reduce.h"
#include "kernels/runtime/simd.h"
#include "kernels/runtime/stream.h"

#include <cstddef>
#include <cstdint>

namespace wellspring::ops {

/// Most channels of a row, so that its gradient fits into the scratch of a team on every GPU.
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
/// holds layer_norm_partials(spec) floats.
void layer_norm_backward(Stream& stream, const LayerNormSpec& spec, const void* x, const void* dy,
                         const float* gamma, const float* mean, const float* rstd, void* dx,
                         float* dgamma, float* dbeta, float* partials);
std::size_t layer_norm_partials(const LayerNormSpec& spec);

/// Members of a team for one row: each has up to four packs.
constexpr int row_team(int channels) {
  int size = 8;
  while (4 * kPack * size < channels) size *= 2;
  return size;
}
/// Floats of scratch for a sum and for `kept` values per channel.
constexpr std::size_t row_scratch(int channels, int kept) {
  return static_cast<std::size_t>(reduce_lanes(channels) + kept * channels);
}

/// One team per row.
template <class T>
struct LayerNormForward {
  static constexpr bool kSharesWarps = true;

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
    float* kept = team.template scratch<float>(row_scratch(c, 1));
    float* slots = kept + c;
    const T* from = x + row * c;
    team_for_channels(
        team, 1, c, NoParameters(),
        [=]<int n>(Width<n>, const auto&, std::int64_t i)
            WS_INLINED { return load_values<n>(from + i); },
        [=]<int n>(Width<n>, std::int64_t i, const Values<n>& value)
            WS_INLINED { store_values(kept + i, value); });
    team.sync();
    const float centre =
        team_sum<Team, float>(team, slots, c, [=](std::int64_t i) { return kept[i]; }) / count;
    const float squares = team_sum<Team, float>(team, slots, c, [=](std::int64_t i) {
      const float deviation = kept[i] - centre;
      return deviation * deviation;
    });
    const float scale = 1.0f / math::sqrt(squares / count + epsilon);
    if (team.rank() == 0) {
      mean[row] = centre;
      rstd[row] = scale;
    }
    const float *weights = gamma, *shifts = beta;
    T* to = y + row * c;
    team_for_channels(
        team, 1, c,
        [=]<int n>(Width<n>, int k) WS_INLINED { return load_parameters<n>(k, weights, shifts); },
        [=]<int n>(Width<n>, const Parameters<n, 2>& of, std::int64_t i) WS_INLINED {
          Values<n> value = load_values<n>(kept + i);
          for (int j = 0; j < n; ++j)
            value.v[j] = (value.v[j] - centre) * scale * of.of[0].v[j] + of.of[1].v[j];
          return value;
        },
        [=]<int n>(Width<n>, std::int64_t i, const Values<n>& value)
            WS_INLINED { store_values(to + i, value); });
  }
};

/// Writes dx; one team per row.
template <class T>
struct LayerNormBackward {
  static constexpr bool kSharesWarps = true;

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
    float* g = team.template scratch<float>(row_scratch(c, 2));
    float *xhat = g + c, *slots = xhat + c;
    const T *values = x + row * c, *arriving = dy + row * c;
    const float* weights = gamma;
    team_for_channels(
        team, 1, c,
        [=]<int n>(Width<n>, int k) WS_INLINED { return load_parameters<n>(k, weights); },
        [=]<int n>(Width<n>, const Parameters<n, 1>& weight, std::int64_t i) WS_INLINED {
          Terms<n> terms = {load_values<n>(arriving + i), load_values<n>(values + i)};
          for (int j = 0; j < n; ++j) {
            terms.g.v[j] *= weight.of[0].v[j];
            terms.xhat.v[j] = (terms.xhat.v[j] - centre) * scale;
          }
          return terms;
        },
        [=]<int n>(Width<n>, std::int64_t i, const Terms<n>& terms) WS_INLINED {
          store_values(g + i, terms.g);
          store_values(xhat + i, terms.xhat);
        });
    team.sync();
    const float a =
        team_sum<Team, float>(team, slots, c, [=](std::int64_t i) { return g[i]; }) / count;
    const float b =
        team_sum<Team, float>(team, slots, c, [=](std::int64_t i) { return g[i] * xhat[i]; }) /
        count;
    T* to = dx + row * c;
    team_for_channels(
        team, 1, c, NoParameters(),
        [=]<int n>(Width<n>, const auto&, std::int64_t i) WS_INLINED {
          Values<n> value = load_values<n>(g + i);
          const Values<n> at = load_values<n>(xhat + i);
          for (int j = 0; j < n; ++j) value.v[j] = scale * (value.v[j] - a - at.v[j] * b);
          return value;
        },
        [=]<int n>(Width<n>, std::int64_t i, const Values<n>& value)
            WS_INLINED { store_values(to + i, value); });
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
