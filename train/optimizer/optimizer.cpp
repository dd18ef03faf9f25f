#include "train/optimizer/optimizer.h"

#include "kernels/runtime/launch.h"

namespace wellspring::ops {
namespace {

template <class T, class Rule>
void launch(Stream& stream, const Rule& rule, const ParameterView& p, const StepState* state) {
  T* working = static_cast<T*>(p.working);
  if (p.working == p.master) working = nullptr;
  league(stream, "optimizer_step", chunks(p.matrices + p.vectors),
         {kChunkTeam, optimizer_scratch<Rule>()},
         OptimizerStep<T, Rule>{rule, p.matrices, p.vectors, p.ranges, p.range_count, p.master,
                                working, static_cast<const T*>(p.matrix_gradient),
                                p.vector_gradient, state});
}

}  // namespace

void optimizer_step(Stream& stream, const OptimizerSpec& spec, const ParameterView& parameters,
                    float* first, float* second, const StepState* state) {
  WS_EXPECT(spec.state_arrays() < 1 || first != nullptr);
  WS_EXPECT(spec.state_arrays() < 2 || second != nullptr);
  visit_float(parameters.compute, [&]<class T>(T) {
    if (spec.kind == OptimizerKind::sgd) {
      float* velocity = spec.momentum != 0 ? first : nullptr;
      launch<T>(stream, SgdRule{spec.momentum, spec.nesterov, velocity}, parameters, state);
    } else {
      launch<T>(stream, AdamWRule{spec.beta1, spec.beta2, spec.epsilon, first, second}, parameters,
                state);
    }
  });
}

}  // namespace wellspring::ops
