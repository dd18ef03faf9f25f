#include "kernels/ops/metrics.h"

#include "kernels/launch.h"

namespace wellspring::ops {
namespace {

/// A thread a lane.
constexpr TeamShape kMetricTeam{kMetricLanes, kMetricScratch};

}  // namespace

void collect_metrics(Stream& stream, std::int64_t batch, const Slot* slots, const float* loss,
                     const std::uint8_t* correct, StepState* state, StepMetrics* ring,
                     std::uint32_t ring_size) {
  league(stream, "collect_metrics", 1, kMetricTeam,
         CollectMetrics{batch, slots, loss, correct, state, ring, ring_size});
}

void accumulate_evaluation(Stream& stream, std::int64_t valid, const Slot* slots, const float* loss,
                           const std::uint8_t* correct, StepMetrics* sums) {
  league(stream, "accumulate_evaluation", 1, kMetricTeam,
         AccumulateEvaluation{valid, slots, loss, correct, sums});
}

}  // namespace wellspring::ops
