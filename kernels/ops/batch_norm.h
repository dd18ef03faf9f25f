// Batch normalisation and its gradient. Called by train/network. Functors: host and device.
//
// Source: S. Ioffe, C. Szegedy, "Batch Normalization", ICML 2015, algorithms 1 and 2. Over the n
// rows (pixels of all samples) of one channel, with mean mu, biased variance, rstd = 1 /
// sqrt(variance + epsilon) and xhat = (x - mu) rstd:
//
//   y      = gamma xhat + beta (+ residual), then ReLU
//   dgamma = sum(dy xhat),  dbeta = sum(dy)
//   dx     = gamma rstd (dy - dbeta / n - xhat dgamma / n)
//
// where dy is masked by the ReLU. Statistics are computed in two steps, in a fixed order. First, a
// team per chunk of rows computes its sum and its sum of squares around the chunk's mean. Then a
// team per channel combines the chunks (T. Chan, G. Golub, R. LeVeque, "Updating formulae and a
// pairwise algorithm", 1979, eq. 2.1). No digits are lost if the mean is large compared with the
// spread, and x is read from memory once.
#pragma once

#include "kernels/ops/channel_sums.h"
#include "kernels/ops/normalised.h"
#include "kernels/ops/ops.h"
#include "kernels/ops/team_loop.h"
#include "kernels/random/math.h"
#include "kernels/runtime/dtype.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/reduce.h"
#include "kernels/runtime/stream.h"

#include <cstddef>
#include <cstdint>

namespace wellspring::ops {

struct BatchNormSpec {
  std::int64_t rows = 2;  ///< batch * height * width, at least 2
  int channels = 1;
  float momentum = 0.1f;
  float epsilon = 1e-5f;
  Activation activation = Activation::none;
  DType compute = DType::f32;
};

/// Device arrays, each [channels]. Training updates the running statistics: running += momentum
/// (batch - running), with the unbiased variance of the batch.
struct BatchNormStatistics {
  float* mean = nullptr;
  float* rstd = nullptr;
  float* running_mean = nullptr;
  float* running_variance = nullptr;
};

/// Floats of scratch that the calls below need.
std::size_t batch_norm_partials(const BatchNormSpec& spec);
/// Training: mean and rstd of x [rows, channels]; also updates the running statistics. Throws a
/// config error for fewer than two rows, which have no variance.
void batch_norm_statistics(Stream& stream, const BatchNormSpec& spec, const void* x,
                           const BatchNormStatistics& statistics, float* partials);
/// Evaluation, and frozen parameters: mean and rstd from the running statistics.
void batch_norm_running_statistics(Stream& stream, const BatchNormSpec& spec,
                                   const BatchNormStatistics& statistics);
/// Computes y from mean and rstd; `residual` may be null.
void batch_norm_apply(Stream& stream, const BatchNormSpec& spec, const void* x, const float* gamma,
                      const float* beta, const void* residual, void* y,
                      const BatchNormStatistics& statistics);
/// Gradients after a training pass. `dx` and `dresidual` may be null; y is read only for a ReLU. If
/// `dgamma` and `dbeta` are null, mean and rstd are constants: dx = gamma rstd dy, and x is not read.
void batch_norm_backward(Stream& stream, const BatchNormSpec& spec, const void* x, const void* y,
                         const void* dy, const float* gamma, const float* mean, const float* rstd,
                         void* dx, void* dresidual, float* dgamma, float* dbeta, float* partials);

/// The rows of one chunk.
struct RowChunk {
  WS_INLINE RowChunk(std::int64_t index, std::int64_t rows_per_chunk, std::int64_t rows)
      : begin(index * rows_per_chunk),
        count(static_cast<int>(begin + rows_per_chunk < rows ? rows_per_chunk : rows - begin)) {}
  std::int64_t begin;
  int count;
};

/// Floats of scratch for the functors over chunks.
constexpr std::size_t batch_norm_scratch(int channels) {
  return static_cast<std::size_t>(2 * channel_slots(channels) + 2 * channels);
}

/// sums and squares [chunks, channels]: a chunk's sum, and its sum of squares around its mean.
template <class T>
struct BatchNormChunk {
  const T* x;
  float* sums;
  float* squares;
  std::int64_t rows, rows_per_chunk;
  int channels;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t index) const {
    const int c = channels;
    float* slots = team.template scratch<float>(static_cast<std::size_t>(channel_slots(c)));
    float* centre = team.template scratch<float>(static_cast<std::size_t>(c));
    const RowChunk chunk(index, rows_per_chunk, rows);
    const T* from = x + chunk.begin * c;
    const float count = static_cast<float>(chunk.count);
    channel_sums(team, slots, chunk.count, c,
                 [=](std::int64_t i, int) { return static_cast<float>(from[i]); });
    for (int k = team.rank(); k < c; k += team.size()) {
      sums[index * c + k] = slots[k];
      centre[k] = slots[k] / count;
    }
    team.sync();
    channel_sums(team, slots, chunk.count, c, [=](std::int64_t i, int k) {
      const float deviation = static_cast<float>(from[i]) - centre[k];
      return deviation * deviation;
    });
    for (int k = team.rank(); k < c; k += team.size()) squares[index * c + k] = slots[k];
  }
};

/// Mean, rstd and running statistics of a channel, from its chunks; one team per channel.
struct BatchNormTotal {
  const float* sums;
  const float* squares;
  BatchNormStatistics statistics;
  std::int64_t rows, rows_per_chunk, chunks;
  int channels;
  float momentum, epsilon;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t channel) const {
    float* lanes = team.template scratch<float>(kReduceLanes);
    const float *sum_of = sums + channel, *square_of = squares + channel;
    const std::int64_t all = rows, each = rows_per_chunk;
    const int stride = channels;
    const float n = static_cast<float>(rows);
    const float total = team_sum<Team, float>(
        team, lanes, chunks, [=](std::int64_t chunk) { return sum_of[chunk * stride]; });
    const float centre = total / n;
    const float square = team_sum<Team, float>(team, lanes, chunks, [=](std::int64_t chunk) {
      const float count = static_cast<float>(RowChunk(chunk, each, all).count);
      const float deviation = sum_of[chunk * stride] / count - centre;
      return square_of[chunk * stride] + count * deviation * deviation;
    });
    if (team.rank() != 0) return;
    statistics.mean[channel] = centre;
    statistics.rstd[channel] = 1.0f / math::sqrt(square / n + epsilon);
    float& mean = statistics.running_mean[channel];
    float& variance = statistics.running_variance[channel];
    mean = (1 - momentum) * mean + momentum * centre;
    variance = (1 - momentum) * variance + momentum * (square / (n - 1));
  }
};

/// Mean and rstd of a channel from the running statistics; a map over channels.
struct BatchNormRunning {
  BatchNormStatistics statistics;
  float epsilon;

  WS_HD void operator()(std::int64_t channel) const {
    statistics.mean[channel] = statistics.running_mean[channel];
    statistics.rstd[channel] = 1.0f / math::sqrt(statistics.running_variance[channel] + epsilon);
  }
};

/// One team writes y for one chunk of rows.
template <class T>
struct BatchNormApply {
  const T* x;
  const float* gamma;
  const float* beta;
  const float* mean;
  const float* rstd;
  const T* residual;  ///< may be null
  T* y;
  std::int64_t rows, rows_per_chunk;
  int channels;
  Activation activation;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t index) const {
    const int c = channels;
    float* centre = team.template scratch<float>(static_cast<std::size_t>(c));
    float* scale = team.template scratch<float>(static_cast<std::size_t>(c));
    for (int k = team.rank(); k < c; k += team.size()) {
      centre[k] = mean[k];
      scale[k] = rstd[k] * gamma[k];
    }
    team.sync();
    const RowChunk chunk(index, rows_per_chunk, rows);
    const std::int64_t offset = chunk.begin * c;
    write_normalised(team, chunk.count, c, x + offset,
                     residual != nullptr ? residual + offset : nullptr, centre, scale, beta,
                     activation, y + offset);
  }
};

/// Inputs of the two backward functors.
template <class T>
struct BatchNormGradient {
  const T* x;
  const T* y;
  const T* dy;
  const float* mean;
  const float* rstd;
  std::int64_t rows, rows_per_chunk;
  int channels;
  Activation activation;
};

/// gamma_partial and beta_partial [chunks, channels]: contributions of a chunk to the gradients.
template <class T>
struct BatchNormBackwardChunk {
  BatchNormGradient<T> in;
  float* gamma_partial;
  float* beta_partial;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t index) const {
    const int c = in.channels;
    float* beta_sum = team.template scratch<float>(static_cast<std::size_t>(channel_slots(c)));
    float* gamma_sum = team.template scratch<float>(static_cast<std::size_t>(channel_slots(c)));
    const RowChunk chunk(index, in.rows_per_chunk, in.rows);
    const std::int64_t offset = chunk.begin * c;
    const T* from = in.x + offset;
    const float *centre = in.mean, *inverse = in.rstd;
    const ActivationGradient<T> gradient(in.y + offset, in.dy + offset, in.activation);
    channel_sums(team, beta_sum, chunk.count, c, [=](std::int64_t i, int) { return gradient(i); });
    channel_sums(team, gamma_sum, chunk.count, c, [=](std::int64_t i, int k) {
      return gradient(i) * ((static_cast<float>(from[i]) - centre[k]) * inverse[k]);
    });
    for (int k = team.rank(); k < c; k += team.size()) {
      beta_partial[index * c + k] = beta_sum[k];
      gamma_partial[index * c + k] = gamma_sum[k];
    }
  }
};

/// One team writes dx and dresidual for one chunk of rows.
template <class T>
struct BatchNormBackward {
  BatchNormGradient<T> in;
  const float* gamma;
  const float* dgamma;  ///< null: mean and rstd are constants
  const float* dbeta;
  T* dx;         ///< may be null
  T* dresidual;  ///< may be null

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t index) const {
    const int c = in.channels;
    float* shared = team.template scratch<float>(static_cast<std::size_t>(3 * c));
    float *scale = shared, *along_one = shared + c, *along_xhat = shared + 2 * c;
    const float n = static_cast<float>(in.rows);
    const bool constant = dgamma == nullptr;
    for (int k = team.rank(); k < c; k += team.size()) {
      scale[k] = gamma[k] * in.rstd[k];
      along_one[k] = constant ? 0 : dbeta[k] / n;
      along_xhat[k] = constant ? 0 : dgamma[k] / n;
    }
    team.sync();
    const RowChunk chunk(index, in.rows_per_chunk, in.rows);
    const std::int64_t offset = chunk.begin * c;
    const T* from = in.x + offset;
    const float *centre = in.mean, *inverse = in.rstd;
    const ActivationGradient<T> gradient(in.y + offset, in.dy + offset, in.activation);
    if (dx != nullptr && constant) {
      T* to = dx + offset;
      team_for_grid(team, chunk.count, c, [=](int row, int k) {
        const std::int64_t i = std::int64_t{row} * c + k;
        to[i] = T(scale[k] * gradient(i));
      });
    } else if (dx != nullptr) {
      T* to = dx + offset;
      team_for_grid(team, chunk.count, c, [=](int row, int k) {
        const std::int64_t i = std::int64_t{row} * c + k;
        const float xhat = (static_cast<float>(from[i]) - centre[k]) * inverse[k];
        to[i] = T(scale[k] * (gradient(i) - along_one[k] - xhat * along_xhat[k]));
      });
    }
    if (dresidual != nullptr) {
      T* to = dresidual + offset;
      team_for_grid(team, chunk.count, c, [=](int row, int k) {
        const std::int64_t i = std::int64_t{row} * c + k;
        to[i] = T(gradient(i));
      });
    }
  }
};

}  // namespace wellspring::ops
