// Common parts of batch and group normalisation; the backward passes are in norm_gradient.h. Called
// by batch_norm.h and group_norm.h. The functors run on host and device.
//
// Batch normalisation is group normalisation of one sample that has the rows (pixels) of the whole
// batch, and one channel per group. With m values per group, mean mu, biased variance, rstd = 1 /
// sqrt(variance + epsilon) and xhat = (x - mu) rstd:
//
//   y      = gamma xhat + beta (+ residual), then ReLU, then the mean over the rows of a sample
//   dgamma = sum(dy xhat),  dbeta = sum(dy), over the rows of all samples
//   dx     = rstd (gamma dy - a - xhat b),  a = sum(gamma dy) / m,  b = sum(gamma dy xhat) / m
//
// where dy is masked by the ReLU, and the sums in dx are over the group. The ReLU, the mean and a
// second gradient to be added to dy are optional. Sums over many rows are divided into parts: one
// team per chunk of rows writes a part, and other teams add the parts in order.
#pragma once

#include "kernels/ops/channel_loop.h"
#include "kernels/ops/channel_sums.h"
#include "kernels/ops/ops.h"
#include "kernels/runtime/launch_bound.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/pack.h"
#include "kernels/runtime/simd.h"
#include "kernels/runtime/team.h"

#include <cstddef>
#include <cstdint>

namespace wellspring {
struct TeamShape;
}  // namespace wellspring

namespace wellspring::ops {

/// Samples of `rows` rows, each in `chunks` chunks.
struct NormShape {
  std::int64_t rows = 1;
  int rows_per_chunk = 1;
  int chunks = 1;
  int channels = 1, groups = 1;

  WS_INLINE constexpr int group_width() const { return channels / groups; }
  WS_INLINE constexpr int rows_of(int chunk) const {
    const std::int64_t left = rows - std::int64_t{chunk} * rows_per_chunk;
    return left < rows_per_chunk ? static_cast<int>(left) : rows_per_chunk;
  }
};

/// The shape of samples whose chunks have about `values` elements. A sample has at most 2048
/// chunks, so that few parts are left to add.
constexpr NormShape norm_shape(std::int64_t rows, int channels, int groups, std::int64_t values) {
  const std::int64_t wanted = values / channels, least = (rows + 2047) / 2048;
  std::int64_t each = wanted > least ? wanted : least;
  if (each > rows) each = rows;
  return {rows, static_cast<int>(each), static_cast<int>((rows + each - 1) / each), channels,
          groups};
}

/// One chunk of one sample; `index` counts the chunks of all samples.
struct NormChunk {
  WS_INLINE NormChunk(const NormShape& shape, std::int64_t index)
      : sample(index / shape.chunks),
        rows(shape.rows_of(static_cast<int>(index % shape.chunks))),
        offset((sample * shape.rows + index % shape.chunks * shape.rows_per_chunk) *
               shape.channels) {}
  std::int64_t sample;
  int rows;
  std::int64_t offset;  ///< index of the first element
};

/// Floats of scratch for a team that computes `sums` sums over `rows` rows and keeps `tables`
/// values per channel.
constexpr std::size_t norm_scratch(int rows, int channels, int sums, int tables) {
  return static_cast<std::size_t>(sums * channel_slots(rows, channels) + tables * channels);
}
/// Enough scratch for every functor that has one team per chunk.
constexpr std::size_t norm_scratch(const NormShape& shape) {
  return norm_scratch(shape.rows_per_chunk, shape.channels, 2, 4);
}

/// True if a team for all channels adds the parts in the same order as a team for a single pack of
/// channels. A team for all channels then has about one pack per member, so each device team can
/// add all parts itself, which saves a launch.
constexpr bool team_adds_parts(int parts, int channels) {
  return channel_lanes(parts, channels) == channel_lanes(parts, channel_width(channels));
}

/// Calls body(k, reduce(first)) for all channels k, where `first` is the first channel of k's
/// group. Members of a device team reduce a group repeatedly, which saves a barrier.
template <class Team, class Reduce, class Body>
WS_HD void for_groups(Team& team, const NormShape& shape, Reduce reduce, Body body) {
  const int width = shape.group_width();
  if constexpr (LoneTeam<Team>) {
    for (int first = 0; first < shape.channels; first += width) {
      const auto reduced = reduce(first);
      for (int k = first; k < first + width; ++k) body(k, reduced);
    }
  } else {
    for (int k = team.rank(); k < shape.channels; k += team.size()) {
      body(k, reduce(k / width * width));
    }
    team.sync();
  }
}

/// The mean of each channel of x [rows, channels], and the sum of squared deviations from it. Reads
/// x once and sums the deviations from the first row. Because the first row is one of the values,
/// the squared mean deviation is at most `rows` times the variance. Cancellation thus loses no more
/// than a sum of `rows` terms (T. Chan, G. Golub, R. LeVeque, "Algorithms for computing the sample
/// variance", 1983, section 3: shifted data). `slots` is for two sums. All members call it.
template <class Team, class T>
WS_HD void channel_moments(Team& team, float* slots, const T* x, int rows, int channels,
                           float* mean, float* squares) {
  channel_sums<2>(
      team, slots, rows, channels,
      [=]<int n>(Width<n>, int k) WS_INLINED { return load_parameters<n>(k, x); },
      [=]<int n>(Width<n>, const auto& pivot, int row, int k, Values<n>* sums) WS_INLINED {
        const Values<n> value = load_values<n>(x + std::int64_t{row} * channels + k);
        for (int j = 0; j < n; ++j) {
          const float deviation = value.v[j] - pivot.of[0].v[j];
          sums[0].v[j] += deviation;
          sums[1].v[j] += deviation * deviation;
        }
      });
  const float* square_sums = slots + channel_slots(rows, channels);
  for (int k = team.rank(); k < channels; k += team.size()) {
    const float shift = slots[k] / static_cast<float>(rows);
    const float square = square_sums[k] - slots[k] * shift;
    mean[k] = static_cast<float>(x[k]) + shift;
    squares[k] = square < 0 ? 0.0f : square;  // passes NaN through
  }
  team.sync();
}

/// Combines the moments of the chunks of one sample, means and squares [chunks, stride], for
/// `columns` channels (Chan, Golub, LeVeque 1983, eq. 2.1). `slots`: one sum. All members call it.
template <class Team>
WS_HD void combine_chunks(Team& team, float* slots, const NormShape& shape, const float* means,
                          const float* squares, int columns, float* mean, float* square) {
  const NormShape all = shape;
  const std::int64_t stride = all.channels;
  channel_sums<1>(team, slots, all.chunks, columns, NoParameters(),
                  [=]<int n>(Width<n>, const auto&, int chunk, int k, Values<n>* sums) WS_INLINED {
                    const Values<n> value = load_values<n>(means + chunk * stride + k);
                    const float rows = static_cast<float>(all.rows_of(chunk));
                    for (int j = 0; j < n; ++j) sums->v[j] += rows * value.v[j];
                  });
  for (int k = team.rank(); k < columns; k += team.size()) {
    mean[k] = slots[k] / static_cast<float>(all.rows);
  }
  team.sync();
  channel_sums<1>(
      team, slots, all.chunks, columns,
      [=]<int n>(Width<n>, int k) WS_INLINED { return load_parameters<n>(k, mean); },
      [=]<int n>(Width<n>, const auto& centre, int chunk, int k, Values<n>* sums) WS_INLINED {
        const Values<n> value = load_values<n>(means + chunk * stride + k);
        const Values<n> own = load_values<n>(squares + chunk * stride + k);
        const float rows = static_cast<float>(all.rows_of(chunk));
        for (int j = 0; j < n; ++j) {
          const float deviation = value.v[j] - centre.of[0].v[j];
          sums->v[j] += own.v[j] + rows * deviation * deviation;
        }
      });
  for (int k = team.rank(); k < columns; k += team.size()) square[k] = slots[k];
  team.sync();
}

/// Computes y = activation((x - centre) scale + shift (+ residual)) for [rows, channels] values,
/// starting at the pointers; `residual` may be null. Centre, scale and shift: [channels]. All
/// members call it.
template <class Team, class T>
WS_HD void write_normalised(Team& team, int rows, int channels, const T* x, const T* residual,
                            const float* centre, const float* scale, const float* shift,
                            Activation activation, T* y) {
  const bool rectify = activation == Activation::relu;
  decide(residual != nullptr, [&]<class Added>(Added) WS_INLINED {
    team_for_channels(
        team, rows, channels,
        [=]<int n>(Width<n>, int k)
            WS_INLINED { return load_parameters<n>(k, centre, scale, shift); },
        [=]<int n>(Width<n>, const Parameters<n, 3>& of, std::int64_t i) WS_INLINED {
          Values<n> value = load_values<n>(x + i), added = {};
          if constexpr (Added::value) added = load_values<n>(residual + i);
          for (int j = 0; j < n; ++j) {
            const float normalised = (value.v[j] - of.of[0].v[j]) * of.of[1].v[j] + of.of[2].v[j];
            const float result = Added::value ? normalised + added.v[j] : normalised;
            // Written so that NaN propagates and is detected.
            value.v[j] = rectify & (result < 0) ? 0.0f : result;
          }
          return value;
        },
        [=]<int n>(Width<n>, std::int64_t i, const Values<n>& value)
            WS_INLINED { store_values(y + i, value); });
  });
}

/// means and squares [samples, chunks, channels]: the moments of a chunk; one team per chunk.
template <class T>
struct NormMoments {
  static constexpr LaunchBound kLaunchBound = {kChunkTeam, 4};

  const T* x;
  float* means;
  float* squares;
  NormShape shape;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t index) const {
    const int c = shape.channels;
    float* slots = team.template scratch<float>(norm_scratch(shape.rows_per_chunk, c, 2, 0));
    const NormChunk chunk(shape, index);
    channel_moments(team, slots, x + chunk.offset, chunk.rows, c, means + index * c,
                    squares + index * c);
  }
};

/// Writes y for one chunk per team. Mean and rstd: [samples, groups].
template <class T>
struct NormApply {
  static constexpr LaunchBound kLaunchBound = {kChunkTeam, 3};

  const T* x;
  const float* gamma;
  const float* beta;
  const float* mean;
  const float* rstd;
  const T* residual;  ///< may be null
  T* y;
  NormShape shape;
  Activation activation;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t index) const {
    const int c = shape.channels, width = shape.group_width();
    float* centre = team.template scratch<float>(static_cast<std::size_t>(c));
    float* scale = team.template scratch<float>(static_cast<std::size_t>(c));
    const NormChunk chunk(shape, index);
    for (int k = team.rank(); k < c; k += team.size()) {
      const std::int64_t group = chunk.sample * shape.groups + k / width;
      centre[k] = mean[group];
      scale[k] = rstd[group] * gamma[k];
    }
    team.sync();
    write_normalised(team, chunk.rows, c, x + chunk.offset,
                     residual != nullptr ? residual + chunk.offset : nullptr, centre, scale, beta,
                     activation, y + chunk.offset);
  }
};

/// Team of the functors that have one team per chunk; host only.
TeamShape norm_team(const NormShape& shape);

}  // namespace wellspring::ops
