#include "train/optimizer/optimizer.h"

#include "kernels/runtime/launch.h"

namespace wellspring::ops {
namespace {

template <class T, class Rule>
void launch(Stream& stream, const Rule& rule, const ParameterView& p, float* first, float* second,
            const StepState* state, const float* ratios = nullptr) {
  league(stream, "optimizer_step", chunks(p.matrices + p.vectors), {kChunkTeam},
         OptimizerStep<T, Rule>{rule, p.matrices, p.vectors, p.ranges, p.range_count, p.master,
                                first, second, static_cast<T*>(p.working),
                                static_cast<const T*>(p.matrix_gradient), p.vector_gradient, state,
                                ratios});
}

template <class T, class Rule>
void launch_with_norms(Stream& stream, const Rule& rule, const ParameterView& p, float* first,
                       float* second, const StepState* state) {
  WS_EXPECT(p.tensor_norms != nullptr);
  auto* const partials = reinterpret_cast<TensorNorms*>(p.tensor_norms);
  float* const ratios = p.tensor_norms + p.range_count * kTensorParts * 2;
  league(stream, "tensor_squares", p.range_count * kTensorParts,
         {kReduceLanes, kReduceLanes * sizeof(TensorNorms)},
         TensorSquares<T, Rule>{rule, p.matrices, p.ranges, p.master, first, second,
                                static_cast<const T*>(p.matrix_gradient), p.vector_gradient, state,
                                partials});
  map(stream, "trust_ratios", p.range_count, TrustRatios<Rule>{rule, p.ranges, partials, ratios});
  launch<T>(stream, rule, p, first, second, state, ratios);
}

}  // namespace

void optimizer_step(Stream& stream, const OptimizerSpec& spec, const ParameterView& parameters,
                    float* first, float* second, const StepState* state) {
  if (spec.state_arrays() < 1) first = nullptr;
  WS_EXPECT(spec.state_arrays() < 1 || first != nullptr);
  WS_EXPECT(spec.state_arrays() < 2 || second != nullptr);
  WS_EXPECT(parameters.matrices % kPack == 0);
  WS_EXPECT((parameters.compute == DType::f32) == (parameters.working == parameters.master));
  const AdamWRule adam{spec.beta1, spec.beta2, spec.epsilon};
  const SgdRule sgd{spec.momentum, spec.nesterov};
  visit_float(parameters.compute, [&]<class T>(T) {
    switch (spec.kind) {
      case OptimizerKind::sgd:
        return launch<T>(stream, sgd, parameters, first, nullptr, state);
      case OptimizerKind::adamw:
        return launch<T>(stream, adam, parameters, first, second, state);
      case OptimizerKind::lion:
        return launch<T>(stream, LionRule{spec.beta1, spec.beta2}, parameters, first, nullptr,
                         state);
      case OptimizerKind::lamb:
        return launch_with_norms<T>(stream, LambRule{adam}, parameters, first, second, state);
      case OptimizerKind::lars:
        return launch_with_norms<T>(stream, LarsRule{sgd, spec.trust_coefficient, spec.epsilon},
                                    parameters, first, nullptr, state);
    }
  });
}

}  // namespace wellspring::ops
