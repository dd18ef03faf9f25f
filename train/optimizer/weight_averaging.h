// Averages a network's weights. Host only; the functors themselves run on host and device.
#pragma once

#include "kernels/ops/team_loop.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/pack.h"
#include "kernels/runtime/step_state.h"
#include "kernels/runtime/stream.h"

#include <cstdint>

namespace wellspring::ops {

/// Moves `average` [n] towards `weights` [n], see AverageWeights. Called after optimizer_step.
void average_weights(Stream& stream, std::int64_t n, float decay, const float* weights,
                     float* average, const StepState* state);
/// Exchanges two arrays of n values.
void swap_arrays(Stream& stream, std::int64_t n, float* a, float* b);

/// average += (1 - keep) (weight - average), with keep = min(decay, (1 + t) / (10 + t)) at step t,
/// like TensorFlow's ExponentialMovingAverage with num_updates. Early in a run, the average covers
/// about the last tenth of the steps and forgets the initial weights. If the optimizer skips an
/// update, the average still moves towards the unchanged weights.
struct AverageWeights {
  float decay;
  const float* weights;
  float* average;
  const StepState* state;
  std::int64_t n;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t chunk) const {
    const float t = static_cast<float>(state->step - 1);  // state->step counts this step
    const float young = (1.0f + t) / (10.0f + t);
    const float keep = young < decay ? young : decay;
    const ChunkRange range(chunk, n);
    team_transform(
        team, range.begin, range.end, average,
        [=](float mean, float weight) { return mean + (1.0f - keep) * (weight - mean); },
        static_cast<const float*>(average), weights);
  }
};

/// Exchanges two arrays.
struct SwapArrays {
  float* a;
  float* b;

  WS_HD void operator()(std::int64_t i) const {
    const float kept = a[i];
    a[i] = b[i];
    b[i] = kept;
  }
};

}  // namespace wellspring::ops
