#include "kernels/ops/layer_norm.h"

#include "core/error.h"
#include "core/text/plural.h"
#include "kernels/ops/part_totals.h"
#include "kernels/runtime/launch.h"

#include <fmt/format.h>

namespace wellspring::ops {
namespace {

void check(const LayerNormSpec& spec) {
  if (spec.channels >= 1 && spec.channels <= kMaxLayerNormChannels) return;
  fail(ErrorKind::config,
       {fmt::format("layer norm: {}", counted(spec.channels, "channel")),
        fmt::format("rows of 1 to {} channels can be normalised", kMaxLayerNormChannels),
        "choose a narrower layer"});
}

/// Chunks for the parameter gradients: 8 packs per team member.
NormShape gradient_shape(const LayerNormSpec& spec) {
  return norm_shape(spec.rows, spec.channels, 1, 16384);
}

TeamShape row_shape(int channels, int sums) {
  return {row_team(channels), row_scratch(channels, sums)};
}

}  // namespace

std::size_t layer_norm_partials(const LayerNormSpec& spec) {
  return static_cast<std::size_t>(2 * gradient_shape(spec).chunks) *
         static_cast<std::size_t>(spec.channels);
}

void layer_norm_forward(Stream& stream, const LayerNormSpec& spec, const void* x,
                        const float* gamma, const float* beta, void* y, float* mean, float* rstd) {
  check(spec);
  visit_float(spec.compute, [&]<class T>(T) {
    league(stream, "layer_norm_forward", spec.rows, row_shape(spec.channels, 1),
           LayerNormForward<T>{static_cast<const T*>(x), gamma, beta, static_cast<T*>(y), mean,
                               rstd, spec.channels, spec.epsilon});
  });
}

void layer_norm_backward(Stream& stream, const LayerNormSpec& spec, const void* x, const void* dy,
                         const float* gamma, const float* mean, const float* rstd, void* dx,
                         float* dgamma, float* dbeta, float* partials, PartTotals* later) {
  check(spec);
  const NormShape shape = gradient_shape(spec);
  const bool divided = shape.chunks > 1;
  float* gamma_parts = divided ? partials : dgamma;
  float* beta_parts = divided ? partials + std::int64_t{shape.chunks} * spec.channels : dbeta;
  visit_float(spec.compute, [&]<class T>(T) {
    const T *values = static_cast<const T*>(x), *arriving = static_cast<const T*>(dy);
    // Before dx is written, because it may replace dy.
    if (dgamma != nullptr) {
      league(
          stream, "layer_norm_parameter_gradient", shape.chunks,
          {channel_team(shape.rows_per_chunk, spec.channels),
           norm_scratch(shape.rows_per_chunk, spec.channels, 2, 0) * sizeof(float)},
          LayerNormGradientSums<T>{values, arriving, mean, rstd, gamma_parts, beta_parts, shape});
    }
    if (dx != nullptr) {
      league(stream, "layer_norm_backward", spec.rows, row_shape(spec.channels, 2),
             LayerNormBackward<T>{values, arriving, gamma, mean, rstd, static_cast<T*>(dx),
                                  spec.channels});
    }
  });
  if (dgamma == nullptr || !divided) return;
  sum_parts(stream, later,
            {{gamma_parts, dgamma, shape.chunks, spec.channels},
             {beta_parts, dbeta, shape.chunks, spec.channels}});
}

}  // namespace wellspring::ops
