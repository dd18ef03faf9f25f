// Group normalisation and its gradient; the formulas are in normalised.h. Called by
// kernels/ops/group_norm.cpp; host and device.
//
// Source: Y. Wu, K. He, "Group Normalization", ECCV 2018. A team processes a sample, whose values
// it reads twice, the second time from the cache. Samples of more than kFusedValues are divided
// into chunks.
#pragma once

#include "kernels/ops/norm_gradient.h"
#include "kernels/ops/normalised.h"
#include "kernels/ops/ops.h"
#include "kernels/ops/pooling.h"
#include "kernels/random/math.h"
#include "kernels/runtime/launch_bound.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/simd.h"

#include <cstddef>
#include <cstdint>

namespace wellspring::ops {

/// Maximum number of values in a sample that one team processes: 32 packs for each of the team's
/// 256 members.
inline constexpr std::int64_t kFusedValues = 65536;

/// Outputs of the statistics of one sample.
struct GroupStatistics {
  const float* gamma;
  float* mean;    ///< [groups]
  float* rstd;    ///< [groups]
  float* centre;  ///< [channels], the mean
  float* scale;   ///< [channels], rstd gamma
  float epsilon;

  /// Combines the moments of a sample's channels, means and squares [channels]. All members
  /// call it.
  template <class Team>
  WS_HD void fill(Team& team, const NormShape& shape, const float* means,
                  const float* squares) const {
    struct Moments {
      float mean, rstd;
    };
    const int width = shape.group_width();
    const float rows = static_cast<float>(shape.rows), count = static_cast<float>(width);
    const GroupStatistics to = *this;
    for_groups(
        team, shape,
        [=](int first) WS_INLINED {
          float sum = 0, square = 0;
          WS_UNROLL_LOADS
          for (int k = first; k < first + width; ++k) sum += means[k];
          const float mean_of_group = sum / count;
          WS_UNROLL_LOADS
          for (int k = first; k < first + width; ++k) {
            const float deviation = means[k] - mean_of_group;
            square += squares[k] + rows * deviation * deviation;
          }
          return Moments{mean_of_group, 1.0f / math::sqrt(square / (rows * count) + to.epsilon)};
        },
        [=](int k, const Moments& moments) WS_INLINED {
          to.centre[k] = moments.mean;
          to.scale[k] = moments.rstd * to.gamma[k];
          if (k % width != 0) return;
          to.mean[k / width] = moments.mean;
          to.rstd[k / width] = moments.rstd;
        });
  }
};

/// One team per sample. Mean and rstd: [samples, groups]. Average: [samples, channels], the mean of
/// y over the rows.
template <class T>
struct GroupNormForward {
  const T* x;
  const float* gamma;
  const float* beta;
  const T* residual;  ///< may be null
  T* y;
  float* mean;
  float* rstd;
  NormShape shape;
  float epsilon;
  Activation activation;
  T* average = nullptr;  ///< may be null

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t sample) const {
    const int c = shape.channels, rows = static_cast<int>(shape.rows);
    float* slots = team.template scratch<float>(norm_scratch(rows, c, 2, 0));
    float* table = team.template scratch<float>(static_cast<std::size_t>(4 * c));
    float *means = table, *squares = table + c, *centre = table + 2 * c, *scale = table + 3 * c;
    const std::int64_t offset = sample * rows * c, groups = sample * shape.groups;
    channel_moments(team, slots, x + offset, rows, c, means, squares);
    GroupStatistics{gamma, mean + groups, rstd + groups, centre, scale, epsilon}.fill(
        team, shape, means, squares);
    write_normalised(team, rows, c, x + offset, residual != nullptr ? residual + offset : nullptr,
                     centre, scale, beta, activation, y + offset);
    if (average == nullptr) return;
    team.sync();
    average_rows(team, slots, y + offset, rows, c, average + sample * c);
  }
};

/// Mean and rstd of one sample per team from the moments of its chunks, [samples, chunks,
/// channels]; for large samples.
struct GroupNormTotal {
  static constexpr LaunchBound kLaunchBound = {kChunkTeam, 2};

  const float* means;
  const float* squares;
  const float* gamma;
  float* mean;
  float* rstd;
  NormShape shape;
  float epsilon;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t sample) const {
    const int c = shape.channels;
    float* slots = team.template scratch<float>(norm_scratch(shape.chunks, c, 1, 0));
    float* table = team.template scratch<float>(static_cast<std::size_t>(4 * c));
    const std::int64_t offset = sample * shape.chunks * c, groups = sample * shape.groups;
    combine_chunks(team, slots, shape, means + offset, squares + offset, c, table, table + c);
    GroupStatistics{gamma, mean + groups, rstd + groups, table + 2 * c, table + 3 * c, epsilon}
        .fill(team, shape, table, table + c);
  }
};

/// Writes dx, and the sample's sums of dy xhat and of dy, [samples, channels]. One team per sample.
template <class T>
struct GroupNormBackward {
  NormGradient<T> in;
  const float* gamma;
  T* dx;
  float* gamma_sums;
  float* beta_sums;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t sample) const {
    const NormShape& shape = in.shape;
    const int c = shape.channels, width = shape.group_width(), rows = static_cast<int>(shape.rows);
    float* beta_sum = team.template scratch<float>(norm_scratch(rows, c, 2, 0));
    float* gamma_sum = beta_sum + channel_slots(rows, c);
    const InputGradient table(team, c);
    const std::int64_t offset = sample * rows * c, groups = sample * shape.groups;
    for (int k = team.rank(); k < c; k += team.size()) {
      table.centre[k] = in.mean[groups + k / width];
      table.scale[k] = in.rstd[groups + k / width];
    }
    team.sync();
    gradient_sums(team, beta_sum, rows, c, in.x + offset, in.first_pass(sample, offset),
                  table.centre, table.scale);
    for (int k = team.rank(); k < c; k += team.size()) {
      beta_sums[sample * c + k] = beta_sum[k];
      gamma_sums[sample * c + k] = gamma_sum[k];
      beta_sum[k] *= gamma[k];
      gamma_sum[k] *= gamma[k];
    }
    team.sync();
    table.fill(team, shape, in.mean + groups, in.rstd + groups, gamma, gamma_sum, beta_sum);
    table.write(team, rows, c, in.x + offset, in.second_pass(offset), dx + offset);
  }
};

/// 2x2 max pooling of a sample, then its normalisation.
template <class T>
struct PoolNormForward {
  static constexpr LaunchBound kLaunchBound = {kChunkTeam, 2};

  MaxPoolForward<T> pool;  ///< a team has all rows of a sample
  GroupNormForward<T> norm;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t sample) const {
    pool(team, sample);
    team.sync();
    norm(team, sample);
  }
};

/// The gradient of both operations. The gradient of the pooled values stays in memory between them.
template <class T>
struct PoolNormBackward {
  GroupNormBackward<T> norm;
  MaxPoolBackward<T> pool;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t sample) const {
    norm(team, sample);
    team.sync();
    pool(team, sample);
  }
};

}  // namespace wellspring::ops
