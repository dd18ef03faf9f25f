// Losses and scores of a batch, summed by source in a fixed order. One team processes the whole
// batch. Called by kernels/ops/metrics.cpp; host and device.
#pragma once

#include "kernels/batch/batch.h"
#include "kernels/ops/team_loop.h"
#include "kernels/ops/training.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/step_state.h"
#include "kernels/runtime/team.h"

#include <cstddef>
#include <cstdint>

namespace wellspring::ops {

/// Row b belongs to lane b % 64. A lane adds its rows in order; then the lanes are added in order.
/// The bits of every metric depend on this number.
inline constexpr int kMetricLanes = 64;
inline constexpr std::size_t kMetricScratch = kMetricLanes * kMaxSources * sizeof(double);

/// Calls add(source, sum) once per source, where `sum` is the sum of value(row) over the
/// source's rows in [0, batch). Called by all members. `lanes`: kMetricLanes * kMaxSources of
/// scratch.
template <class Team, class Value, class Add>
WS_HD void sum_by_source(Team& team, double* lanes, std::int64_t batch, const Slot* slots,
                         std::int32_t sources, Value value, Add add) {
  for (int l = team.rank(); l < kMetricLanes; l += team.size()) {
    double* lane = lanes + l * kMaxSources;
    for (int s = 0; s < sources; ++s) lane[s] = 0;
    for (std::int64_t row = l; row < batch; row += kMetricLanes)
      lane[slots[row].source] += value(row);
  }
  team.sync();
  for (int s = team.rank(); s < sources; s += team.size()) {
    double sum = 0;
    for (int l = 0; l < kMetricLanes; ++l) sum += lanes[l * kMaxSources + s];
    add(s, sum);
  }
  team.sync();
}

/// Sums every measure over rows [0, rows), and counts the rows. Calls `add(index, sum)` once per
/// sum; `index` counts in the order of metric_sums().
template <class Team, class Add>
WS_HD void sum_measures(Team& team, double* lanes, const Measures& measures, std::int64_t rows,
                        const Slot* slots, Add add) {
  const std::int32_t sources = measures.sources;
  for (std::int32_t m = 0; m <= measures.count; ++m) {
    const float* values = measures.values + m * measures.batch;
    const bool counts = m == measures.count;
    sum_by_source(
        team, lanes, rows, slots, sources,
        [=](std::int64_t row) { return counts ? 1.0 : static_cast<double>(values[row]); },
        [=](std::int32_t source, double sum) { add(m * sources + source, sum); });
  }
}

struct CollectMetrics {
  Measures measures;
  const Slot* slots;
  const SetOverflow* overflow;
  StepState* state;
  MetricsRing ring;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t) const {
    double* lanes = team.template scratch<double>(kMetricLanes * kMaxSources);
    const std::uint64_t index = state->step % ring.size;
    double* sums = ring.sums +
                   static_cast<std::int64_t>(index) * metric_sums(measures.count, measures.sources);
    sum_measures(team, lanes, measures, measures.batch, slots,
                 [=](std::int32_t at, double sum) { sums[at] = sum; });
    if (team.rank() != 0) return;
    double total = 0;
    for (std::int32_t i = 0; i < measures.losses * measures.sources; ++i) total += sums[i];
    state->loss = static_cast<float>(total / static_cast<double>(measures.batch));
    if (!is_finite(state->loss) && state->nonfinite == 0) {
      state->nonfinite = static_cast<std::uint32_t>(state->step) + 1;
    }
    StepMetrics& line = ring.lines[index];
    line.step = state->step;
    line.loss = state->loss;
    line.gradient_norm = state->gradient_norm;
    line.learning_rate = state->learning_rate;
    line.nonfinite = state->nonfinite;
    line.overflow = overflow != nullptr ? *overflow : SetOverflow{};
  }
};

struct AccumulateEvaluation {
  Measures measures;
  std::int64_t valid;
  const Slot* slots;
  double* sums;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t) const {
    double* lanes = team.template scratch<double>(kMetricLanes * kMaxSources);
    double* all = sums;
    sum_measures(team, lanes, measures, valid, slots,
                 [=](std::int32_t at, double sum) { all[at] += sum; });
  }
};

}  // namespace wellspring::ops
