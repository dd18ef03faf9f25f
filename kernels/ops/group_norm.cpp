#include "kernels/ops/group_norm.h"

#include "core/error.h"
#include "core/text/plural.h"
#include "kernels/ops/part_totals.h"
#include "kernels/runtime/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace wellspring::ops {

TeamShape norm_team(const NormShape& shape) {
  return {channel_team(shape.rows_per_chunk, shape.channels), norm_scratch(shape) * sizeof(float)};
}

template <class T>
void norm_backward(Stream& stream, std::int64_t samples, NormBackward<T> backward) {
  const NormShape& shape = backward.in.shape;
  if (stream.device().is_cpu() || !team_adds_parts(backward.parts, shape.channels)) {
    const auto total = [&](const float* parts, float* sums) {
      return PartTotal{parts, sums, backward.parts, shape.channels, static_cast<int>(samples)};
    };
    sum_parts(stream, nullptr,
              {total(backward.gamma_parts, backward.gamma_sums),
               total(backward.beta_parts, backward.beta_sums)});
    backward.gamma_parts = std::exchange(backward.gamma_sums, nullptr);
    backward.beta_parts = backward.beta_sums;
    backward.parts = 1;
  }
  NormShape both = shape;
  both.rows_per_chunk = std::max(shape.rows_per_chunk, backward.parts);
  league(stream, "norm_backward", samples * shape.chunks, norm_team(both), backward);
}
template void norm_backward(Stream&, std::int64_t, NormBackward<float>);
template void norm_backward(Stream&, std::int64_t, NormBackward<bf16>);

namespace {

void check(const GroupNormSpec& spec) {
  if (spec.groups >= 1 && spec.channels >= 1 && spec.channels % spec.groups == 0) return;
  fail(ErrorKind::config, {fmt::format("group norm: {} in {}", counted(spec.channels, "channel"),
                                       counted(spec.groups, "group")),
                           "every group must have the same number of channels",
                           "choose a number of groups that divides the channels"});
}

/// Chunks have 8 packs per team member. A sample of at most kFusedValues is one chunk.
NormShape shape_of(const GroupNormSpec& spec) {
  const std::int64_t rows = std::int64_t{spec.height} * spec.width, all = rows * spec.channels;
  return norm_shape(rows, spec.channels, spec.groups, all <= kFusedValues ? all : 16384);
}

PoolSpec pool_of(const GroupNormSpec& spec, const PoolBeforeNorm& pool) {
  return {.batch = spec.batch,
          .height = 2 * spec.height,
          .width = 2 * spec.width,
          .channels = spec.channels,
          .activation = pool.activation,
          .compute = spec.compute};
}
/// All rows of one sample per team.
ImageRows sample_rows(const GroupNormSpec& spec) {
  return {spec.batch * spec.height, spec.height, spec.width, spec.channels, spec.height};
}
/// The pooling reads many packs per member, so it gets a full team.
TeamShape pool_norm_team(const NormShape& shape) {
  return {kChunkTeam, norm_scratch(shape) * sizeof(float)};
}

}  // namespace

std::size_t group_norm_partials(const GroupNormSpec& spec) {
  const NormShape shape = shape_of(spec);
  const std::int64_t sums = shape.chunks > 1 ? shape.chunks + 1 : 1;
  return static_cast<std::size_t>(2 * spec.batch * sums * spec.channels);
}

void group_norm_forward(Stream& stream, const GroupNormSpec& spec, const void* x,
                        const float* gamma, const float* beta, const void* residual, void* y,
                        float* mean, float* rstd, float* partials, void* average,
                        const PoolBeforeNorm* pool) {
  check(spec);
  const NormShape shape = shape_of(spec);
  const std::int64_t chunks = spec.batch * shape.chunks;
  const PoolSpec pooling = pool != nullptr ? pool_of(spec, *pool) : PoolSpec{};
  visit_float(spec.compute, [&]<class T>(T) {
    const T *from = static_cast<const T*>(x),
            *added = spec.residual ? static_cast<const T*>(residual) : nullptr;
    if (shape.chunks == 1) {
      const GroupNormForward<T> norm{
          from, gamma, beta,         added,           static_cast<T*>(y),      mean,
          rstd, shape, spec.epsilon, spec.activation, static_cast<T*>(average)};
      if (pool == nullptr) {
        league(stream, "group_norm_forward", spec.batch, norm_team(shape), norm);
      } else {
        league(
            stream, "pool_norm_forward", spec.batch, pool_norm_team(shape),
            PoolNormForward<T>{{static_cast<const T*>(pool->x), const_cast<T*>(from), pool->winner,
                                sample_rows(spec), pooling.height, pooling.width, pool->activation},
                               norm});
      }
      return;
    }
    if (pool != nullptr)
      max_pool_forward(stream, pooling, pool->x, const_cast<void*>(x), pool->winner);
    float* squares = partials + chunks * spec.channels;
    league(stream, "group_norm_chunk", chunks, norm_team(shape),
           NormMoments<T>{from, partials, squares, shape});
    league(stream, "group_norm_total", spec.batch,
           {channel_team(shape.chunks, spec.channels),
            norm_scratch(shape.chunks, spec.channels, 1, 4) * sizeof(float)},
           GroupNormTotal{partials, squares, gamma, mean, rstd, shape, spec.epsilon});
    league(stream, "group_norm_apply", chunks, norm_team(shape),
           NormApply<T>{from, gamma, beta, mean, rstd, added, static_cast<T*>(y), shape,
                        spec.activation});
    if (average != nullptr) {
      const PoolSpec all = {.batch = spec.batch,
                            .height = spec.height,
                            .width = spec.width,
                            .channels = spec.channels,
                            .compute = spec.compute};
      global_mean_forward(stream, all, y, average);
    }
  });
}

void group_norm_backward(Stream& stream, const GroupNormSpec& spec, const void* x, const void* y,
                         const OutputGradient& dy, const float* gamma, const float* mean,
                         const float* rstd, void* dx, void* dresidual, float* dgamma, float* dbeta,
                         float* partials, PartTotals* later, const PoolBeforeNorm* pool) {
  check(spec);
  const NormShape shape = shape_of(spec);
  const std::int64_t chunks = spec.batch * shape.chunks, size = spec.batch * spec.channels;
  float *gamma_sums = partials, *beta_sums = partials + size;
  const auto samples = static_cast<int>(spec.batch);
  const PoolSpec pooling = pool != nullptr ? pool_of(spec, *pool) : PoolSpec{};
  visit_float(spec.compute, [&]<class T>(T) {
    T* const to = static_cast<T*>(dx);
    const auto in =
        NormGradient<T>::of(x, y, dy, mean, rstd, shape, spec.activation, dresidual, dx);
    if (shape.chunks == 1) {
      const GroupNormBackward<T> norm{in, gamma, to, gamma_sums, beta_sums};
      if (pool == nullptr) {
        league(stream, "group_norm_backward", spec.batch, norm_team(shape), norm);
      } else {
        league(stream, "pool_norm_backward", spec.batch, pool_norm_team(shape),
               PoolNormBackward<T>{norm,
                                   {to, pool->winner, static_cast<T*>(pool->dx), sample_rows(spec),
                                    pooling.height, pooling.width}});
      }
      return;
    }
    float *gamma_parts = beta_sums + size, *beta_parts = gamma_parts + chunks * spec.channels;
    league(stream, "group_norm_backward_chunk", chunks, norm_team(shape),
           NormGradientSums<T>{in, gamma_parts, beta_parts});
    norm_backward(stream, spec.batch,
                  NormBackward<T>{in, gamma, gamma_parts, beta_parts, shape.chunks, gamma_sums,
                                  beta_sums, to});
    if (pool != nullptr) max_pool_backward(stream, pooling, dx, pool->winner, pool->dx);
  });
  if (dgamma == nullptr) return;
  sum_parts(
      stream, later,
      {{gamma_sums, dgamma, samples, spec.channels}, {beta_sums, dbeta, samples, spec.channels}});
}

}  // namespace wellspring::ops
