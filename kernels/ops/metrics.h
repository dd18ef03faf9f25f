// Losses and scores of a batch, summed by source in a fixed order. One team processes the whole
// batch. Called by kernels/ops/metrics.cpp and train/optimizer; host and device.
#pragma once

#include "kernels/batch/batch.h"
#include "kernels/ops/team_loop.h"
#include "kernels/ops/training.h"
#include "kernels/runtime/launch_bound.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/step_state.h"
#include "kernels/runtime/team.h"

#include <cstddef>
#include <cstdint>

namespace wellspring::ops {

/// Row b belongs to lane b % 128. A lane adds its rows in order; then the lanes are folded as a
/// tree. The bits of every metric depend on this number.
inline constexpr int kMetricLanes = 128;
/// Sums that a team computes at once.
inline constexpr int kMetricSums = 32;
inline constexpr std::size_t kMetricScratch = kMetricLanes * kMetricSums * sizeof(double);
/// One thread per lane of four sums, enough for a run with one source, one loss and one score.
inline constexpr LaunchBound kMetricBound = {4 * kMetricLanes};

/// For each source, counts its rows in [0, rows) and sums every measure over them. Calls
/// `add(index, sum)` once per sum; `index` counts in the order of metric_sums(). Called by all
/// members. `lanes`: kMetricScratch bytes of scratch.
template <class Team, class Add>
WS_HD void sum_measures(Team& team, double* lanes, const Measures& measures, std::int64_t rows,
                        const Slot* slots, Add add) {
  const int all = static_cast<int>(metric_sums(measures.count, measures.sources));
  for (int first = 0; first < all; first += kMetricSums) {
    const int sums = all - first < kMetricSums ? all - first : kMetricSums;
    for (int i = team.rank(); i < kMetricLanes * sums; i += team.size()) {
      const int measure = (first + i % sums) / measures.sources;
      const auto source = static_cast<std::uint32_t>((first + i % sums) % measures.sources);
      const bool counts = measure == measures.count;
      // The count reads a valid measure and ignores it, so that no load depends on a condition.
      const float* values = measures.values + (counts ? 0 : measure) * measures.batch;
      double sum = 0;
      WS_UNROLL(8)
      for (std::int64_t row = i / sums; row < rows; row += kMetricLanes) {
        const double value = counts ? 1.0 : static_cast<double>(values[row]);
        sum += slots[row].source == source ? value : 0.0;
      }
      lanes[i] = sum;
    }
    for (int half = kMetricLanes / 2; half > 0; half /= 2) {
      team.sync();
      team_for(team, 0, half * sums, [=](std::int64_t i) { lanes[i] += lanes[i + half * sums]; });
    }
    team.sync();
    for (int i = team.rank(); i < sums; i += team.size()) add(first + i, lanes[i]);
    team.sync();
  }
}

/// See collect_metrics.
struct CollectMetrics {
  static constexpr LaunchBound kLaunchBound = kMetricBound;
  Measures measures;
  const Slot* slots = nullptr;
  const SetOverflow* overflow = nullptr;
  StepState* state = nullptr;
  MetricsRing ring;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t) const {
    double* lanes = team.template scratch<double>(kMetricLanes * kMetricSums);
    const StepState now = *state;
    const SetOverflow lost = overflow != nullptr ? *overflow : SetOverflow{};
    const std::uint64_t index = now.step % ring.size;
    double* sums = ring.sums +
                   static_cast<std::int64_t>(index) * metric_sums(measures.count, measures.sources);
    sum_measures(team, lanes, measures, measures.batch, slots,
                 [=](std::int32_t at, double sum) { sums[at] = sum; });
    if (team.rank() != 0) return;
    double total = 0;
    for (std::int32_t i = 0; i < measures.losses * measures.sources; ++i) total += sums[i];
    const auto loss = static_cast<float>(total / static_cast<double>(measures.batch));
    const bool first_failure = !is_finite(loss) && now.nonfinite == 0;
    const std::uint32_t nonfinite =
        first_failure ? static_cast<std::uint32_t>(now.step) + 1 : now.nonfinite;
    ring.lines[index] = {now.step, loss, now.gradient_norm, now.learning_rate, nonfinite, lost};
    state->nonfinite = nonfinite;
    state->step = now.step + 1;
  }
};

struct AccumulateEvaluation {
  static constexpr LaunchBound kLaunchBound = kMetricBound;
  Measures measures;
  std::int64_t valid;
  const Slot* slots;
  double* sums;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t) const {
    double* lanes = team.template scratch<double>(kMetricLanes * kMetricSums);
    double* all = sums;
    sum_measures(team, lanes, measures, valid, slots,
                 [=](std::int32_t at, double sum) { all[at] += sum; });
  }
};

}  // namespace wellspring::ops
