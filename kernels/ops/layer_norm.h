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
  int channels = 1;        ///< at most kMaxLayerNormChannels
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

/// A row as packs; the last one may be incomplete. Pack p belongs to lane p % lanes. The lanes
/// depend only on the channels, so sums do not depend on the team's size.
struct PackedRow {
  int channels;

  WS_INLINE constexpr int packs() const { return (channels + kPack - 1) / kPack; }
  /// Up to 32 lanes; more if each still has four packs.
  WS_INLINE constexpr int lanes() const {
    int lanes = 1;
    while (2 * lanes <= packs() && (lanes < kWarp || 8 * lanes <= packs())) lanes *= 2;
    return lanes;
  }
  /// Bytes of scratch for a sum of type Sum and `kept` rows of packs.
  template <class Sum>
  constexpr std::size_t scratch_bytes(int kept) const {
    return static_cast<std::size_t>(reduce_lanes(lanes())) * sizeof(Sum) +
           static_cast<std::size_t>(kept * packs()) * sizeof(Pack);
  }
  /// Pack p of the row at `from`, with zeros after the last channel.
  template <class T>
  WS_INLINE Pack load(const T* from, int p) const {
    return channels % kPack == 0 ? load_pack(from + p * kPack)
                                 : load_part_of_pack(from + p * kPack, channels - p * kPack);
  }
  /// load(0) + ... + load(packs() - 1), in a fixed order; see team_reduce.
  template <class Sum, class Team, class Load>
  WS_INLINE Sum sum(Team& team, Sum* slots, Load load) const {
    const int end = packs(), step = lanes();
    return team_sum<Team, Sum>(team, slots, step, [=](std::int64_t lane) WS_INLINED {
      Sum total = load(static_cast<int>(lane));
      for (int p = static_cast<int>(lane) + step; p < end; p += step) total = total + load(p);
      return total;
    });
  }
};

WS_INLINE float sum_of_pack(const Pack& pack) {
  const float* v = pack.v;
  return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
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
  WS_HD void operator()(Team& team, std::int64_t index) const {
    const PackedRow row{channels};
    const int c = channels;
    const float count = static_cast<float>(c);
    Pack* slots = team.template scratch<Pack>(reduce_lanes(row.lanes()));
    Pack* kept = team.template scratch<Pack>(row.packs());
    const T* from = x + index * c;
    const Pack total = row.sum<Pack>(team, slots, [=](int p) WS_INLINED {
      kept[p] = row.load(from, p);
      return kept[p];
    });
    const float centre = sum_of_pack(total) / count;
    const Pack squares = row.sum<Pack>(team, slots, [=](int p) WS_INLINED {
      Pack deviation = kept[p], square;
      for (int k = 0; k < kPack; ++k) {
        deviation.v[k] = p * kPack + k < c ? deviation.v[k] - centre : 0.0f;
        square.v[k] = deviation.v[k] * deviation.v[k];
      }
      kept[p] = deviation;
      return square;
    });
    const float scale = 1.0f / math::sqrt(sum_of_pack(squares) / count + epsilon);
    if (team.rank() == 0) {
      mean[index] = centre;
      rstd[index] = scale;
    }
    const float *weights = gamma, *shifts = beta, *deviations = kept->v;
    T* to = y + index * c;
    team_for_channels(
        team, 1, c,
        [=]<int n>(Width<n>, int k) WS_INLINED { return load_parameters<n>(k, weights, shifts); },
        [=]<int n>(Width<n>, const Parameters<n, 2>& of, std::int64_t i) WS_INLINED {
          Values<n> value = load_values<n>(deviations + i);
          for (int j = 0; j < n; ++j)
            value.v[j] = value.v[j] * scale * of.of[0].v[j] + of.of[1].v[j];
          return value;
        },
        [=]<int n>(Width<n>, std::int64_t i, const Values<n>& value)
            WS_INLINED { store_values(to + i, value); });
  }
};

/// Sums of g and of g xhat.
struct LayerNormSums {
  Pack g, product;
};
WS_INLINE LayerNormSums operator+(const LayerNormSums& a, const LayerNormSums& b) {
  return {a.g + b.g, a.product + b.product};
}

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
  WS_HD void operator()(Team& team, std::int64_t index) const {
    const PackedRow row{channels};
    const int c = channels;
    const float count = static_cast<float>(c), centre = mean[index], scale = rstd[index];
    auto* slots = team.template scratch<LayerNormSums>(reduce_lanes(row.lanes()));
    Pack* gradients = team.template scratch<Pack>(row.packs());
    Pack* normalised = team.template scratch<Pack>(row.packs());
    const T *values = x + index * c, *arriving = dy + index * c;
    const float* weights = gamma;
    const auto sums = row.sum<LayerNormSums>(team, slots, [=](int p) WS_INLINED {
      const Pack value = row.load(values, p), weight = row.load(weights, p);
      LayerNormSums terms = {row.load(arriving, p), {}};
      Pack xhat;
      for (int k = 0; k < kPack; ++k) {
        xhat.v[k] = (value.v[k] - centre) * scale;
        terms.g.v[k] *= weight.v[k];
        terms.product.v[k] = terms.g.v[k] * xhat.v[k];
      }
      gradients[p] = terms.g;
      normalised[p] = xhat;
      return terms;
    });
    const float a = sum_of_pack(sums.g) / count, b = sum_of_pack(sums.product) / count;
    const float *g = gradients->v, *xhat = normalised->v;
    T* to = dx + index * c;
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
