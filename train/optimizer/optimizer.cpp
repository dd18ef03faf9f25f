#include "train/optimizer/optimizer.h"

#include "kernels/runtime/launch.h"

namespace wellspring::ops {
namespace {

template <class T, class Rule>
void launch(Stream& stream, const Rule& rule, const ParameterView& p, float* first, float* second,
            const StepState* state) {
  league(
      stream, "optimizer_step", chunks(p.matrices + p.vectors), {kChunkTeam},
      OptimizerStep<T, Rule>{rule, p.matrices, p.vectors, p.ranges, p.range_count, p.master, first,
                             second, static_cast<T*>(p.working),
                             static_cast<const T*>(p.matrix_gradient), p.vector_gradient, state});
}

}  // namespace

void optimizer_step(Stream& stream, const OptimizerSpec& spec, const ParameterView& parameters,
                    float* first, float* second, const StepState* state) {
  WS_EXPECT(spec.state_arrays() < 1 || first != nullptr);
  WS_EXPECT(spec.state_arrays() < 2 || second != nullptr);
  WS_EXPECT(parameters.matrices % kPack == 0);
  WS_EXPECT((parameters.compute == DType::f32) == (parameters.working == parameters.master));
  visit_float(parameters.compute, [&]<class T>(T) {
    if (spec.kind == OptimizerKind::sgd) {
      launch<T>(stream, SgdRule{spec.momentum, spec.nesterov}, parameters,
                spec.momentum != 0 ? first : nullptr, nullptr, state);
    } else {
      launch<T>(stream, AdamWRule{spec.beta1, spec.beta2, spec.epsilon}, parameters, first, second,
                state);
    }
  });
}

}  // namespace wellspring::ops
