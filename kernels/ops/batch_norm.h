// Batch normalisation and its gradient. Called by train/network. Functors run on host and device.
//
// Source: S. Ioffe, C. Szegedy, "Batch Normalization", ICML 2015, algorithms 1 and 2; the formulas
// are in normalised.h. First, one team per chunk of rows computes the chunk's moments; then teams
// combine the chunks. x is read from memory once, and no digits are lost even if the mean is large
// compared with the spread.
#pragma once

#include "kernels/ops/norm_gradient.h"
#include "kernels/ops/normalised.h"
#include "kernels/ops/ops.h"
#include "kernels/random/math.h"
#include "kernels/runtime/dtype.h"
#include "kernels/runtime/launch_bound.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/simd.h"
#include "kernels/runtime/stream.h"

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace wellspring {
class Communicator;
}

namespace wellspring::ops {

struct BatchNormSpec {
  std::int64_t rows = 2;  ///< batch * height * width, at least 2
  int channels = 1;
  float momentum = 0.1f;
  float epsilon = 1e-5f;
  Activation activation = Activation::none;
  DType compute = DType::f32;
  Communicator* ranks = nullptr;  ///< ranks with equal numbers of rows, which share the statistics
                                  ///< during a training pass; null: none
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
/// Error (device): too many channels for a team's scratch.
void expect_batch_norm_fits(const BatchNormSpec& spec, Device device);
/// Training: computes mean and rstd of x [rows, channels] (with ranks, of the x of all ranks),
/// computes y, and updates the running statistics. `residual` may be null. Throws a config error
/// for fewer than two rows, which have no variance.
void batch_norm_forward(Stream& stream, const BatchNormSpec& spec, const void* x,
                        const float* gamma, const float* beta, const void* residual, void* y,
                        const BatchNormStatistics& statistics, float* partials);
/// Evaluation and frozen parameters: mean and rstd from the running statistics.
void batch_norm_running_statistics(Stream& stream, const BatchNormSpec& spec,
                                   const BatchNormStatistics& statistics);
/// Computes y from mean and rstd; `residual` may be null.
void batch_norm_apply(Stream& stream, const BatchNormSpec& spec, const void* x, const float* gamma,
                      const float* beta, const void* residual, void* y,
                      const BatchNormStatistics& statistics);
/// Gradients after a training pass. `dx` and `dresidual` may be null; y is read only for a ReLU.
/// If `dgamma` and `dbeta` are null, mean and rstd are constants: dx = gamma rstd dy, and x is
/// not read. `dy.averaged` must be false. With ranks, dgamma and dbeta are sums over this rank's
/// rows.
void batch_norm_backward(Stream& stream, const BatchNormSpec& spec, const void* x, const void* y,
                         const OutputGradient& dy, const float* gamma, const float* mean,
                         const float* rstd, void* dx, void* dresidual, float* dgamma, float* dbeta,
                         float* partials);

/// Mean, rstd and running statistics from the moments of the chunks, [chunks, channels]. A team
/// takes one pack of neighbouring channels.
struct BatchNormTotal {
  const float* means;
  const float* squares;
  BatchNormStatistics statistics;
  NormShape shape;
  float momentum, epsilon;

  static constexpr std::size_t scratch_floats(const NormShape& shape) {
    return norm_scratch(shape.chunks, channel_width(shape.channels), 1, 2);
  }

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t index) const {
    const int columns = channel_width(shape.channels);
    float* slots = team.template scratch<float>(scratch_floats(shape));
    float* centre = slots + channel_slots(shape.chunks, columns);
    float* square = centre + columns;
    const std::int64_t first = index * columns;
    combine_chunks(team, slots, shape, means + first, squares + first, columns, centre, square);
    for (int k = team.rank(); k < columns; k += team.size()) store(first + k, centre[k], square[k]);
  }

  WS_INLINE float rstd(float square) const {
    return 1.0f / math::sqrt(square / static_cast<float>(shape.rows) + epsilon);
  }
  /// Stores the statistics of a channel with this mean and this sum of squared deviations.
  WS_INLINE void store(std::int64_t channel, float centre, float square) const {
    statistics.mean[channel] = centre;
    statistics.rstd[channel] = rstd(square);
    float& mean = statistics.running_mean[channel];
    float& variance = statistics.running_variance[channel];
    mean = (1 - momentum) * mean + momentum * centre;
    variance =
        (1 - momentum) * variance + momentum * (square / (static_cast<float>(shape.rows) - 1));
  }
};

/// Writes the moments of this rank's rows to the rank's place among the moments of all ranks, [2,
/// ranks, channels], and 0 to the other places, which a sum over the ranks then fills. A team takes
/// one pack of neighbouring channels.
struct BatchNormRankMoments {
  const float* means;
  const float* squares;
  float* gathered;
  NormShape shape;
  int rank, ranks;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t index) const {
    const int columns = channel_width(shape.channels);
    float* slots = team.template scratch<float>(BatchNormTotal::scratch_floats(shape));
    float* centre = slots + channel_slots(shape.chunks, columns);
    float* square = centre + columns;
    const std::int64_t first = index * columns, all = std::int64_t{ranks} * shape.channels;
    combine_chunks(team, slots, shape, means + first, squares + first, columns, centre, square);
    for (int i = team.rank(); i < ranks * columns; i += team.size()) {
      const int of = i / columns, k = i % columns;
      float* const at = gathered + std::int64_t{of} * shape.channels + first + k;
      at[0] = of == rank ? centre[k] : 0.0f;
      at[all] = of == rank ? square[k] : 0.0f;
    }
  }
};

/// Writes `shared` [2, channels]: this rank's part of the means of dgamma and dbeta over the ranks.
/// A map over these values.
struct BatchNormRankGradient {
  const float* dgamma;
  const float* dbeta;
  float* shared;
  std::int64_t channels;
  float ranks;

  WS_HD void operator()(std::int64_t i) const {
    shared[i] = (i < channels ? dgamma[i] : dbeta[i - channels]) / ranks;
  }
};

/// BatchNormTotal and NormApply in one: every team combines all chunks, then writes y for its own.
/// The first team stores the statistics.
template <class T>
struct BatchNormForward {
  static constexpr LaunchBound kLaunchBound = {kChunkTeam, 2};

  BatchNormTotal total;
  const T* x;
  const float* gamma;
  const float* beta;
  const T* residual;  ///< may be null
  T* y;
  Activation activation;

  static constexpr std::size_t scratch_floats(const NormShape& shape) {
    return norm_scratch(shape.chunks, shape.channels, 1, 3);
  }

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t index) const {
    const NormShape& shape = total.shape;
    const int c = shape.channels;
    float* slots = team.template scratch<float>(scratch_floats(shape));
    float* centre = slots + channel_slots(shape.chunks, c);
    float *square = centre + c, *scale = square + c;
    combine_chunks(team, slots, shape, total.means, total.squares, c, centre, square);
    for (int k = team.rank(); k < c; k += team.size()) {
      if (index == 0) total.store(k, centre[k], square[k]);
      scale[k] = total.rstd(square[k]) * gamma[k];
    }
    team.sync();
    const NormChunk chunk(shape, index);
    write_normalised(team, chunk.rows, c, x + chunk.offset,
                     residual != nullptr ? residual + chunk.offset : nullptr, centre, scale, beta,
                     activation, y + chunk.offset);
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

/// The gradient if dx needs no sums: mean and rstd are constants, so that dx = gamma rstd dy, or
/// there is no dx. One team per chunk.
template <class T>
struct BatchNormFrozenBackward {
  static constexpr LaunchBound kLaunchBound = {kChunkTeam, 3};

  NormGradient<T> in;
  const float* gamma;
  T* dx;         ///< may be null
  T* dresidual;  ///< may be null

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t index) const {
    const NormChunk chunk(in.shape, index);
    const float *weight = gamma, *rstd = in.rstd;
    const ActivationGradient<T> gradient(in.y + chunk.offset, in.dy + chunk.offset, in.activation);
    const auto write = [&](T* to, auto scaled) WS_INLINED {
      if (to == nullptr) return;
      T* target = to + chunk.offset;
      team_for_channels(
          team, chunk.rows, in.shape.channels,
          [=]<int n>(Width<n>, int k) WS_INLINED { return load_parameters<n>(k, rstd, weight); },
          [=]<int n>(Width<n>, const Parameters<n, 2>& of, std::int64_t i) WS_INLINED {
            Values<n> value = gradient.template at<n>(i);
            if constexpr (scaled) {
              for (int j = 0; j < n; ++j) value.v[j] *= of.of[0].v[j] * of.of[1].v[j];
            }
            return value;
          },
          [=]<int n>(Width<n>, std::int64_t i, const Values<n>& value)
              WS_INLINED { store_values(target + i, value); });
    };
    write(dx, std::true_type());
    write(dresidual, std::false_type());
  }
};

}  // namespace wellspring::ops
