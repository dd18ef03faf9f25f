#include "kernels/ops/bias_activation.h"

#include "kernels/runtime/launch.h"

namespace wellspring::ops {

void bias_activation(Stream& stream, const BiasActivationSpec& spec, const float* bias, void* y) {
  if (bias == nullptr && spec.activation == Activation::none) return;
  visit_float(spec.dtype, [&]<class T>(T) {
    const std::int64_t n = spec.rows * spec.columns;
    league(stream, "bias_activation", chunks(n), {kChunkTeam},
           BiasActivation<T>{static_cast<T*>(y), bias, n, spec.columns, spec.activation});
  });
}

}  // namespace wellspring::ops
