// The global gradient norm and its clipping factor. Called by train/step; the functors run on host
// and device.
#pragma once

#include "kernels/ops/team_loop.h"
#include "kernels/random/math.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/reduce.h"
#include "kernels/runtime/step_state.h"
#include "kernels/runtime/stream.h"
#include "train/optimizer/parameter_view.h"

#include <cstddef>
#include <cstdint>

namespace wellspring::ops {

/// Global L2 norm of all gradients, summed in a fixed order. Sets state->gradient_norm and
/// gradient_scale = min(1, clip / norm) (no clipping if `clip` is 0). If the norm is not finite,
/// the scale is 0, the update is skipped and the sticky flag is set. `partials`:
/// gradient_norm_partials() floats.
void gradient_norm(Stream& stream, const ParameterView& parameters, float clip, float* partials,
                   StepState* state);
std::size_t gradient_norm_partials();

/// Number of partial sums of the gradient norm: enough teams to fill a large GPU, and few enough
/// for one team to add in one pass. It affects the rounding of the norm.
inline constexpr std::int64_t kNormParts = 256;

/// First of two passes: sums the squares of one of kNormParts equal ranges, matrices first.
template <class T>
struct GradientSquares {
  const T* matrix_gradient;
  const float* vector_gradient;
  std::int64_t matrices, vectors;
  float* partials;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t part) const {
    float* lanes = team.template scratch<float>(kReduceLanes);
    const float of_matrices = squares(team, lanes, matrix_gradient, matrices, part);
    const float of_vectors = squares(team, lanes, vector_gradient, vectors, part);
    if (team.rank() == 0) partials[part] = of_matrices + of_vectors;
  }

 private:
  template <class Team, class Element>
  WS_HD static float squares(Team& team, float* lanes, const Element* values, std::int64_t n,
                             std::int64_t part) {
    const std::int64_t begin = n * part / kNormParts;
    const std::int64_t end = n * (part + 1) / kNormParts;
    return team_sum<Team, float>(team, lanes, end - begin, [=](std::int64_t i) {
      const float value = static_cast<float>(values[begin + i]);
      return value * value;
    });
  }
};

/// Second pass: computes the norm and the clipping factor.
struct GradientScale {
  const float* partials;
  float clip;
  StepState* state;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t) const {
    float* lanes = team.template scratch<float>(kReduceLanes);
    const float* parts = partials;
    const float sum =
        team_sum<Team, float>(team, lanes, kNormParts, [=](std::int64_t i) { return parts[i]; });
    if (team.rank() != 0) return;
    const float norm = math::sqrt(sum);
    state->gradient_norm = norm;
    if (!is_finite(norm)) {
      state->gradient_scale = 0;
      if (state->nonfinite == 0) state->nonfinite = static_cast<std::uint32_t>(state->step) + 1;
    } else {
      state->gradient_scale = clip > 0 && norm > clip ? clip / norm : 1.0f;
    }
  }
};

}  // namespace wellspring::ops
