#include "train/optimizer/gradient_clipping.h"

#include "kernels/runtime/launch.h"

namespace wellspring::ops {
namespace {

constexpr TeamShape kReduceTeam{kReduceLanes, kReduceLanes * sizeof(float)};

}  // namespace

std::size_t gradient_norm_partials() {
  return static_cast<std::size_t>(kNormParts);
}

void gradient_norm(Stream& stream, const ParameterView& parameters, float clip, float* partials,
                   StepState* state) {
  visit_float(parameters.compute, [&]<class T>(T) {
    league(stream, "gradient_squares", kNormParts, kReduceTeam,
           GradientSquares<T>{static_cast<const T*>(parameters.matrix_gradient),
                              parameters.vector_gradient, parameters.matrices, parameters.vectors,
                              partials});
  });
  league(stream, "gradient_scale", 1, kReduceTeam, GradientScale{partials, clip, state});
}

}  // namespace wellspring::ops
