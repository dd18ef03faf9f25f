#include "kernels/ops/group_norm.h"

#include "core/error.h"
#include "core/text/plural.h"
#include "kernels/runtime/launch.h"

#include <fmt/format.h>

namespace wellspring::ops {
namespace {

void check(const GroupNormSpec& spec) {
  if (spec.groups >= 1 && spec.channels >= 1 && spec.channels % spec.groups == 0) return;
  fail(ErrorKind::config, {fmt::format("group norm: {} in {}", counted(spec.channels, "channel"),
                                       counted(spec.groups, "group")),
                           "every group must have the same number of channels",
                           "choose a number of groups that divides the channels"});
}

TeamShape team_shape(std::size_t floats) {
  return {kChunkTeam, floats * sizeof(float)};
}

}  // namespace

void group_norm_forward(Stream& stream, const GroupNormSpec& spec, const void* x,
                        const float* gamma, const float* beta, const void* residual, void* y,
                        float* mean, float* rstd) {
  check(spec);
  visit_float(spec.compute, [&]<class T>(T) {
    league(stream, "group_norm_forward", spec.batch,
           team_shape(group_norm_forward_scratch(spec.channels)),
           GroupNormForward<T>{static_cast<const T*>(x), gamma, beta,
                               spec.residual ? static_cast<const T*>(residual) : nullptr,
                               static_cast<T*>(y), mean, rstd, spec.height * spec.width,
                               spec.channels, spec.groups, spec.epsilon, spec.activation});
  });
}

std::size_t group_norm_partials(const GroupNormSpec& spec) {
  return 2 * static_cast<std::size_t>(spec.batch) * static_cast<std::size_t>(spec.channels);
}

void group_norm_backward(Stream& stream, const GroupNormSpec& spec, const void* x, const void* y,
                         const void* dy, const float* gamma, const float* mean, const float* rstd,
                         void* dx, void* dresidual, float* dgamma, float* dbeta, float* partials) {
  check(spec);
  float* beta_partial = partials + spec.batch * spec.channels;
  visit_float(spec.compute, [&]<class T>(T) {
    league(stream, "group_norm_backward", spec.batch,
           team_shape(group_norm_backward_scratch(spec.channels)),
           GroupNormBackward<T>{
               static_cast<const T*>(x), static_cast<const T*>(y), static_cast<const T*>(dy), gamma,
               mean, rstd, static_cast<T*>(dx), static_cast<T*>(dresidual), partials, beta_partial,
               spec.height * spec.width, spec.channels, spec.groups, spec.activation});
  });
  if (dgamma == nullptr) return;
  league(
      stream, "group_norm_parameter_gradient", spec.channels, team_shape(kReduceLanes),
      GroupNormParameterGradient{partials, beta_partial, dgamma, dbeta, spec.batch, spec.channels});
}

}  // namespace wellspring::ops
