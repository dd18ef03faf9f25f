#include "train/optimizer/weight_averaging.h"

#include "kernels/runtime/launch.h"

namespace wellspring::ops {

void average_weights(Stream& stream, std::int64_t n, float decay, const float* weights,
                     float* average, const StepState* state) {
  league(stream, "average_weights", chunks(n), {kChunkTeam},
         AverageWeights{decay, weights, average, state, n});
}

void swap_arrays(Stream& stream, std::int64_t n, float* a, float* b) {
  map(stream, "swap_arrays", n, SwapArrays{a, b});
}

}  // namespace wellspring::ops
