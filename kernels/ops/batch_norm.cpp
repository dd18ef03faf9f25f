#include "kernels/ops/batch_norm.h"

#include "core/error.h"
#include "core/text/plural.h"
#include "kernels/batch/communicator.h"
#include "kernels/ops/part_totals.h"
#include "kernels/runtime/launch.h"

#include <fmt/format.h>

#include <algorithm>

namespace wellspring::ops {
namespace {

/// One sample with one channel per group. Chunks have 2 to 8 packs per team member, so that small
/// tensors spread over many multiprocessors, and large ones have few parts to add.
NormShape shape_of(const BatchNormSpec& spec) {
  const std::int64_t values =
      std::clamp<std::int64_t>(spec.rows * spec.channels / 256, 4096, 16384);
  return norm_shape(spec.rows, spec.channels, spec.channels, values);
}

}  // namespace

void expect_batch_norm_fits(const BatchNormSpec& spec, Device device) {
  const std::size_t needed = norm_team(shape_of(spec)).scratch_bytes,
                    limit = device.is_cpu() ? kHostScratchBytes : scratch_limit(device);
  if (needed <= limit) return;
  fail(ErrorKind::device,
       {fmt::format("batch norm of {}: too wide for {}", counted(spec.channels, "channel"),
                    device.to_string()),
        fmt::format("a team needs {} bytes of scratch, but only {} are available", needed, limit),
        "use a narrower layer, such as a projection with fewer features"});
}

std::size_t batch_norm_partials(const BatchNormSpec& spec) {
  const int ranks = spec.ranks == nullptr ? 0 : spec.ranks->size();
  return 2 * static_cast<std::size_t>(shape_of(spec).chunks + ranks) *
         static_cast<std::size_t>(spec.channels);
}

namespace {

/// Gathers the moments of all ranks, [2, ranks, channels], and lets `total` combine them instead of
/// this rank's chunks.
void gather_moments(Stream& stream, const BatchNormSpec& spec, BatchNormTotal& total,
                    float* gathered) {
  const int n = spec.ranks->size(), columns = channel_width(spec.channels);
  league(stream, "batch_norm_rank_moments", channel_units(spec.channels),
         {channel_team(total.shape.chunks, columns),
          BatchNormTotal::scratch_floats(total.shape) * sizeof(float)},
         BatchNormRankMoments{total.means, total.squares, gathered, total.shape, spec.ranks->rank(),
                              n});
  const std::int64_t values = std::int64_t{n} * spec.channels;
  spec.ranks->all_reduce(stream, gathered, 2 * values);
  total.means = gathered;
  total.squares = gathered + values;
  total.shape = {n * spec.rows, static_cast<int>(spec.rows), n, spec.channels, spec.channels};
}

}  // namespace

void batch_norm_forward(Stream& stream, const BatchNormSpec& spec, const void* x,
                        const float* gamma, const float* beta, const void* residual, void* y,
                        const BatchNormStatistics& statistics, float* partials) {
  if (spec.rows < 2 && spec.ranks == nullptr)
    fail(ErrorKind::config, {"batch norm: each channel has only one value",
                             "a variance needs at least two", "use a larger batch"});
  const NormShape shape = shape_of(spec);
  const int columns = channel_width(spec.channels);
  float* squares = partials + std::int64_t{shape.chunks} * spec.channels;
  BatchNormTotal total{partials, squares, statistics, shape, spec.momentum, spec.epsilon};
  visit_float(spec.compute, [&]<class T>(T) {
    league(stream, "batch_norm_chunk", shape.chunks, norm_team(shape),
           NormMoments<T>{static_cast<const T*>(x), partials, squares, shape});
    if (spec.ranks != nullptr) {
      gather_moments(stream, spec, total, squares + std::int64_t{shape.chunks} * spec.channels);
    } else if (stream.device().is_cuda() && team_adds_parts(shape.chunks, spec.channels)) {
      league(stream, "batch_norm_forward", shape.chunks,
             {kChunkTeam, BatchNormForward<T>::scratch_floats(shape) * sizeof(float)},
             BatchNormForward<T>{total, static_cast<const T*>(x), gamma, beta,
                                 static_cast<const T*>(residual), static_cast<T*>(y),
                                 spec.activation});
      return;
    }
    league(stream, "batch_norm_total", channel_units(spec.channels),
           {channel_team(total.shape.chunks, columns),
            BatchNormTotal::scratch_floats(total.shape) * sizeof(float)},
           total);
    batch_norm_apply(stream, spec, x, gamma, beta, residual, y, statistics);
  });
}

void batch_norm_running_statistics(Stream& stream, const BatchNormSpec& spec,
                                   const BatchNormStatistics& statistics) {
  map(stream, "batch_norm_running", spec.channels, BatchNormRunning{statistics, spec.epsilon});
}

void batch_norm_apply(Stream& stream, const BatchNormSpec& spec, const void* x, const float* gamma,
                      const float* beta, const void* residual, void* y,
                      const BatchNormStatistics& statistics) {
  const NormShape shape = shape_of(spec);
  visit_float(spec.compute, [&]<class T>(T) {
    league(
        stream, "batch_norm_apply", shape.chunks, norm_team(shape),
        NormApply<T>{static_cast<const T*>(x), gamma, beta, statistics.mean, statistics.rstd,
                     static_cast<const T*>(residual), static_cast<T*>(y), shape, spec.activation});
  });
}

void batch_norm_backward(Stream& stream, const BatchNormSpec& spec, const void* x, const void* y,
                         const OutputGradient& dy, const float* gamma, const float* mean,
                         const float* rstd, void* dx, void* dresidual, float* dgamma, float* dbeta,
                         float* partials) {
  WS_EXPECT(!dy.averaged);
  const NormShape shape = shape_of(spec);
  float* beta_parts = partials + std::int64_t{shape.chunks} * spec.channels;
  visit_float(spec.compute, [&]<class T>(T) {
    T* const input = static_cast<T*>(dx);
    if (dgamma != nullptr) {
      const auto in =
          NormGradient<T>::of(x, y, dy, mean, rstd, shape, spec.activation, dresidual, dx);
      league(stream, "batch_norm_backward_chunk", shape.chunks, norm_team(shape),
             NormGradientSums<T>{in, partials, beta_parts});
      if (dx != nullptr && spec.ranks == nullptr) {
        norm_backward(
            stream, 1,
            NormBackward<T>{in, gamma, partials, beta_parts, shape.chunks, dgamma, dbeta, input});
      } else {
        sum_parts(stream, nullptr,
                  {{partials, dgamma, shape.chunks, spec.channels},
                   {beta_parts, dbeta, shape.chunks, spec.channels}});
      }
      if (dx != nullptr && spec.ranks != nullptr) {
        // Means over the ranks, because the sums in dx are divided by this rank's number of rows.
        float* const shared = beta_parts + std::int64_t{shape.chunks} * spec.channels;
        map(stream, "batch_norm_rank_gradient", 2 * std::int64_t{spec.channels},
            BatchNormRankGradient{dgamma, dbeta, shared, spec.channels,
                                  static_cast<float>(spec.ranks->size())});
        spec.ranks->all_reduce(stream, shared, 2 * std::int64_t{spec.channels});
        league(
            stream, "norm_backward", shape.chunks, norm_team(shape),
            NormBackward<T>{in, gamma, shared, shared + spec.channels, 1, nullptr, nullptr, input});
      }
    } else if (dx != nullptr || dresidual != nullptr) {
      const void* sum = dy.data;
      if (dy.again != nullptr) {
        add(stream, spec.compute, spec.rows * spec.channels, dy.data, dy.again, dy.again);
        sum = dy.again;
      }
      const auto in =
          NormGradient<T>::of(x, y, sum, mean, rstd, shape, spec.activation, nullptr, nullptr);
      league(stream, "batch_norm_backward", shape.chunks, norm_team(shape),
             BatchNormFrozenBackward<T>{in, gamma, input, static_cast<T*>(dresidual)});
    }
  });
}

}  // namespace wellspring::ops
