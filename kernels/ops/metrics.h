// Loss and accuracy of a batch by source, in a fixed order: one team for the whole batch. Called by
// kernels/ops/metrics.cpp; host and device.
#pragma once

#include "kernels/emission/batch.h"
#include "kernels/macros.h"
#include "kernels/ops/team_loop.h"
#include "kernels/ops/training.h"
#include "kernels/step_state.h"
#include "kernels/team.h"

#include <cstddef>
#include <cstdint>

namespace wellspring::ops {

/// Loss, hits and samples of each source.
struct SourceSums {
  float loss[kMaxSources];
  std::uint32_t correct[kMaxSources];
  std::uint32_t count[kMaxSources];
};

/// Row b belongs to lane b % 64, whose rows are added in order; then the lanes are. Part of every
/// metric's bits.
inline constexpr int kMetricLanes = 64;
inline constexpr std::size_t kMetricScratch = kMetricLanes * sizeof(SourceSums);

/// lanes[0] = the sums over rows [0, batch).
template <class Team>
WS_HD void sum_by_source(Team& team, SourceSums* lanes, std::int64_t batch, const Slot* slots,
                         const float* loss, const std::uint8_t* correct) {
  for (int l = team.rank(); l < kMetricLanes; l += team.size()) {
    SourceSums& lane = lanes[l];
    for (int s = 0; s < kMaxSources; ++s) {
      lane.loss[s] = 0;
      lane.correct[s] = 0;
      lane.count[s] = 0;
    }
    for (std::int64_t row = l; row < batch; row += kMetricLanes) {
      const std::uint32_t s = slots[row].source;
      lane.loss[s] += loss[row];
      lane.correct[s] += correct[row];
      lane.count[s] += 1;
    }
  }
  team.sync();
  for (int s = team.rank(); s < kMaxSources; s += team.size()) {
    for (int l = 1; l < kMetricLanes; ++l) {
      lanes[0].loss[s] += lanes[l].loss[s];
      lanes[0].correct[s] += lanes[l].correct[s];
      lanes[0].count[s] += lanes[l].count[s];
    }
  }
  team.sync();
}

struct CollectMetrics {
  std::int64_t batch;
  const Slot* slots;
  const float* loss;
  const std::uint8_t* correct;
  StepState* state;
  StepMetrics* ring;
  std::uint32_t ring_size;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t) const {
    SourceSums* lanes = team.template scratch<SourceSums>(kMetricLanes);
    sum_by_source(team, lanes, batch, slots, loss, correct);
    if (team.rank() != 0) return;
    const SourceSums& sums = lanes[0];
    float total = 0;
    for (int s = 0; s < kMaxSources; ++s) total += sums.loss[s];
    state->loss = total / static_cast<float>(batch);
    if (!is_finite(state->loss) && state->nonfinite == 0) {
      state->nonfinite = static_cast<std::uint32_t>(state->step) + 1;
    }
    StepMetrics& line = ring[state->step % ring_size];
    line.step = state->step;
    line.loss = state->loss;
    line.gradient_norm = state->gradient_norm;
    line.learning_rate = state->learning_rate;
    line.nonfinite = state->nonfinite;
    for (int s = 0; s < kMaxSources; ++s) {
      line.source_loss[s] = sums.loss[s];
      line.source_correct[s] = sums.correct[s];
      line.source_count[s] = sums.count[s];
    }
  }
};

struct AccumulateEvaluation {
  std::int64_t valid;
  const Slot* slots;
  const float* loss;
  const std::uint8_t* correct;
  StepMetrics* total;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t) const {
    SourceSums* lanes = team.template scratch<SourceSums>(kMetricLanes);
    sum_by_source(team, lanes, valid, slots, loss, correct);
    for (int s = team.rank(); s < kMaxSources; s += team.size()) {
      total->source_loss[s] += lanes[0].loss[s];
      total->source_correct[s] += lanes[0].correct[s];
      total->source_count[s] += lanes[0].count[s];
    }
  }
};

}  // namespace wellspring::ops
