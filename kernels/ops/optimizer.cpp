#include "kernels/ops/optimizer.h"

#include "kernels/runtime/launch.h"

namespace wellspring::ops {
namespace {

constexpr TeamShape kReduceTeam{kReduceLanes, kReduceLanes * sizeof(float)};

template <class T, class Rule>
void launch(Stream& stream, const Rule& rule, const ParameterView& p, const StepState* state) {
  T* working = static_cast<T*>(p.working);
  if (p.working == p.master) working = nullptr;
  league(
      stream, "optimizer_step", chunks(p.matrices + p.vectors),
      {kChunkTeam, optimizer_scratch<Rule>()},
      OptimizerStep<T, Rule>{rule, p.matrices, p.vectors, p.master, working,
                             static_cast<const T*>(p.matrix_gradient), p.vector_gradient, state});
}

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

void optimizer_step(Stream& stream, const OptimizerSpec& spec, const ParameterView& parameters,
                    float* first, float* second, const StepState* state) {
  WS_EXPECT(spec.state_arrays() < 1 || first != nullptr);
  WS_EXPECT(spec.state_arrays() < 2 || second != nullptr);
  visit_float(parameters.compute, [&]<class T>(T) {
    if (spec.kind == OptimizerKind::sgd) {
      float* velocity = spec.momentum != 0 ? first : nullptr;
      launch<T>(stream, SgdRule{spec.momentum, spec.weight_decay, spec.nesterov, velocity},
                parameters, state);
    } else {
      launch<T>(stream,
                AdamWRule{spec.beta1, spec.beta2, spec.epsilon, spec.weight_decay, first, second},
                parameters, state);
    }
  });
}

}  // namespace wellspring::ops
