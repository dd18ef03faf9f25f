#include "train/optimizer/gradient_clipping.h"

#include "kernels/runtime/launch.h"

#include <algorithm>

namespace wellspring::ops {

std::size_t gradient_norm_partials() {
  return static_cast<std::size_t>(kNormParts);
}

void gradient_norm(Stream& stream, const ParameterView& parameters, const ScheduleSpec& schedule,
                   float clip, float* partials, StepState* state, const CollectMetrics& end) {
  const std::int64_t all = packs(parameters.matrices) + packs(parameters.vectors);
  const int lanes = reduce_lanes(all / kNormParts + 1);
  visit_float(parameters.compute, [&]<class T>(T) {
    league(stream, "gradient_squares", kNormParts,
           {std::max(lanes, kWarp), static_cast<std::size_t>(lanes) * sizeof(Pack)},
           GradientSquares<T>{static_cast<const T*>(parameters.matrix_gradient),
                              parameters.vector_gradient, parameters.matrices, parameters.vectors,
                              partials});
  });
  league(stream, "gradient_scale", 1,
         {kMetricBound.threads, kMetricScratch + kReduceLanes * sizeof(float)},
         GradientScale{partials, schedule, clip, state, end});
}

void clip_adaptively(Stream& stream, const ParameterView& parameters, float factor) {
  visit_float(parameters.compute, [&]<class T>(T) {
    using Clip = AdaptiveClip<T>;
    league(stream, "clip_adaptively", parameters.units,
           {kReduceLanes, kReduceLanes * sizeof(typename Clip::Squares)},
           Clip{parameters.clip_units, parameters.clip_unit_count, parameters.matrices,
                parameters.master, static_cast<T*>(parameters.matrix_gradient),
                parameters.vector_gradient, factor});
  });
}

}  // namespace wellspring::ops
