#include "kernels/ops/metrics.h"

#include "kernels/runtime/launch.h"

namespace wellspring::ops {
namespace {

constexpr TeamShape kMetricTeam{kMetricBound.threads, kMetricScratch};

}  // namespace

void collect_metrics(Stream& stream, const Measures& measures, const Slot* slots,
                     const SetOverflow* overflow, StepState* state, const MetricsRing& ring) {
  league(stream, "collect_metrics", 1, kMetricTeam,
         CollectMetrics{measures, slots, overflow, state, ring});
}

void accumulate_evaluation(Stream& stream, const Measures& measures, std::int64_t valid,
                           const Slot* slots, double* sums) {
  league(stream, "accumulate_evaluation", 1, kMetricTeam,
         AccumulateEvaluation{measures, valid, slots, sums});
}

}  // namespace wellspring::ops
