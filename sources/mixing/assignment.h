// Assigns a source and a sample to each row of a step's global batch; a rank evaluates only the
// rows of its share. Called by the recorded step on the device and, with equal results, by reading
// threads on the host. Host and device.
#pragma once

#include "kernels/batch/batch.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/step_state.h"
#include "sources/mixing/order.h"
#include "sources/mixing/permutation.h"

#include <cstdint>

namespace wellspring {

struct SlotAssignment {
  /// [steps + 1][sources]: samples drawn from each source before a step, on all ranks. Null for a
  /// single source, from which step * global batch samples have been drawn.
  const std::int64_t* before = nullptr;
  std::uint64_t steps = 0;  ///< length of the run; later steps repeat the shares of the last step
  Share share = Share::whole(1);
  std::uint32_t sources = 1;
  std::uint64_t seed = 0;  ///< key of the order of rows within a batch
  SampleOrder order[kMaxSources];

  /// Number of samples drawn from `source` before `step`.
  WS_HD std::int64_t given(std::uint64_t step, std::uint32_t source) const {
    if (before == nullptr) return static_cast<std::int64_t>(step) * share.global_batch;
    if (step <= steps) return before[step * sources + source];
    const std::int64_t total = before[steps * sources + source];
    const std::int64_t last = total - before[(steps - 1) * sources + source];
    return total + static_cast<std::int64_t>(step - steps) * last;
  }

  /// The slot in row `row` of this rank's share of the batch of `step`.
  WS_HD Slot slot(std::uint64_t step, std::int64_t row) const {
    Slot result;
    result.row = static_cast<std::uint32_t>(row);
    // Sources take consecutive positions in the batch, and copies of a sample take consecutive
    // ordinals. A permutation per step spreads both over the rows, so mixup and cutmix pair
    // different samples. A single source without repeats needs none: its order already is one.
    const std::int64_t global_row = share.first_row + row;
    std::int64_t rank = global_row;
    if (sources > 1 || order[0].repeats > 1) {
      const Permutation rows(static_cast<std::uint64_t>(share.global_batch), seed, step,
                             PermutationUse::batch);
      rank = static_cast<std::int64_t>(rows(static_cast<std::uint64_t>(global_row)));
    }
    for (;; ++result.source) {
      const std::int64_t first = given(step, result.source);
      const std::int64_t count = given(step + 1, result.source) - first;
      if (rank < count || result.source + 1 == sources) {
        result.ordinal = static_cast<std::uint64_t>(first + rank);
        break;
      }
      rank -= count;
    }
    result.sample = order[result.source].sample(result.ordinal);
    return result;
  }
};

/// The first node that makes a step's data: fills the slots of step state->step.
struct AssignSlots {
  SlotAssignment assignment;
  const StepState* state;
  Slot* slots;
  WS_HD void operator()(std::int64_t row) const { slots[row] = assignment.slot(state->step, row); }
};

/// Slots of one source in plain order, for evaluation. From row `count` on, rows repeat the first
/// sample, so that all rows of a partial last batch are valid.
struct RangeSlots {
  std::uint64_t first_sample;
  std::uint32_t source;
  std::int64_t count;
  Slot* slots;
  WS_HD void operator()(std::int64_t row) const {
    const std::uint64_t sample = first_sample + static_cast<std::uint64_t>(row < count ? row : 0);
    slots[row] = {sample, sample, source, static_cast<std::uint32_t>(row)};
  }
};

}  // namespace wellspring
