#include "kernels/ops/batch_norm.h"

#include "core/error.h"
#include "kernels/ops/group_norm.h"
#include "kernels/runtime/launch.h"

#include <algorithm>

namespace wellspring::ops {
namespace {

/// At least 32 rows, so that the partial sums are small compared with the tensor. At most 1024
/// chunks, four for each lane of the sums over chunks.
std::int64_t rows_per_chunk(const BatchNormSpec& spec) {
  return std::max<std::int64_t>(32, (spec.rows + 1023) / 1024);
}

std::int64_t chunk_count(const BatchNormSpec& spec) {
  return (spec.rows + rows_per_chunk(spec) - 1) / rows_per_chunk(spec);
}

TeamShape chunk_shape(const BatchNormSpec& spec) {
  return {kChunkTeam, batch_norm_scratch(spec.channels) * sizeof(float)};
}

}  // namespace

std::size_t batch_norm_partials(const BatchNormSpec& spec) {
  return 2 * static_cast<std::size_t>(chunk_count(spec)) * static_cast<std::size_t>(spec.channels);
}

void batch_norm_statistics(Stream& stream, const BatchNormSpec& spec, const void* x,
                           const BatchNormStatistics& statistics, float* partials) {
  if (spec.rows < 2)
    fail(ErrorKind::config, {"batch norm: each channel has only one value",
                             "a variance needs at least two", "use a larger batch"});
  const std::int64_t chunks = chunk_count(spec), each = rows_per_chunk(spec);
  float* squares = partials + chunks * spec.channels;
  visit_float(spec.compute, [&]<class T>(T) {
    league(stream, "batch_norm_chunk", chunks, chunk_shape(spec),
           BatchNormChunk<T>{static_cast<const T*>(x), partials, squares, spec.rows, each,
                             spec.channels});
  });
  league(stream, "batch_norm_total", spec.channels, {kChunkTeam, kReduceLanes * sizeof(float)},
         BatchNormTotal{partials, squares, statistics, spec.rows, each, chunks, spec.channels,
                        spec.momentum, spec.epsilon});
}

void batch_norm_running_statistics(Stream& stream, const BatchNormSpec& spec,
                                   const BatchNormStatistics& statistics) {
  map(stream, "batch_norm_running", spec.channels, BatchNormRunning{statistics, spec.epsilon});
}

void batch_norm_apply(Stream& stream, const BatchNormSpec& spec, const void* x, const float* gamma,
                      const float* beta, const void* residual, void* y,
                      const BatchNormStatistics& statistics) {
  visit_float(spec.compute, [&]<class T>(T) {
    league(stream, "batch_norm_apply", chunk_count(spec), chunk_shape(spec),
           BatchNormApply<T>{static_cast<const T*>(x), gamma, beta, statistics.mean,
                             statistics.rstd, static_cast<const T*>(residual), static_cast<T*>(y),
                             spec.rows, rows_per_chunk(spec), spec.channels, spec.activation});
  });
}

void batch_norm_backward(Stream& stream, const BatchNormSpec& spec, const void* x, const void* y,
                         const void* dy, const float* gamma, const float* mean, const float* rstd,
                         void* dx, void* dresidual, float* dgamma, float* dbeta, float* partials) {
  const std::int64_t chunks = chunk_count(spec);
  float* beta_partial = partials + chunks * spec.channels;
  visit_float(spec.compute, [&]<class T>(T) {
    const BatchNormGradient<T> in{static_cast<const T*>(x),
                                  static_cast<const T*>(y),
                                  static_cast<const T*>(dy),
                                  mean,
                                  rstd,
                                  spec.rows,
                                  rows_per_chunk(spec),
                                  spec.channels,
                                  spec.activation};
    if (dgamma != nullptr) {
      league(stream, "batch_norm_backward_chunk", chunks, chunk_shape(spec),
             BatchNormBackwardChunk<T>{in, partials, beta_partial});
      league(
          stream, "batch_norm_parameter_gradient", spec.channels,
          {kChunkTeam, kReduceLanes * sizeof(float)},
          GroupNormParameterGradient{partials, beta_partial, dgamma, dbeta, chunks, spec.channels});
    }
    if (dx == nullptr && dresidual == nullptr) return;
    league(stream, "batch_norm_backward", chunks, chunk_shape(spec),
           BatchNormBackward<T>{in, gamma, dgamma, dbeta, static_cast<T*>(dx),
                                static_cast<T*>(dresidual)});
  });
}

}  // namespace wellspring::ops
