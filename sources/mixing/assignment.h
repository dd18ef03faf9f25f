// Assigns a source and a sample to each row of a step's global batch; a rank evaluates only the
// rows of its share. Called by the recorded step on the device and, with identical results, by
// reading threads on the host. Host and device.
#pragma once

#include "kernels/batch/batch.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/step_state.h"
#include "sources/mixing/order.h"
#include "sources/mixing/permutation.h"

#include <cstdint>

namespace wellspring {

/// View v of the source's n-th sample has the ordinal n + v * kViewOrdinals. So every view has its
/// own augmentation and dropout, and view 0 equals the sample of a run with one view. No source
/// yields this many samples in a run.
inline constexpr std::uint64_t kViewOrdinals = std::uint64_t{1} << 48;
/// Maximum number of views per sample.
inline constexpr std::uint32_t kMostViews = 8;

/// The number of samples that the source yielded before this slot's sample.
WS_INLINE constexpr std::uint64_t sample_number(const Slot& slot) {
  return slot.ordinal % kViewOrdinals;
}

/// The views of a sample are in adjacent rows of the batch, in order.
struct SlotAssignment {
  /// [steps + 1][sources]: samples drawn from each source before a step, on all ranks. Null for a
  /// single source, from which step * samples() samples have been drawn.
  const std::int64_t* before = nullptr;
  std::uint64_t steps = 0;  ///< length of the run; later steps repeat the shares of the last step
  Share share = Share::whole(1);
  std::uint32_t sources = 1;
  std::uint32_t views = 1;  ///< rows per sample; divides the share's first row and row count
  std::uint64_t seed = 0;   ///< key of the order of rows within a batch
  SampleOrder order[kMaxSources];

  /// Samples per global batch.
  WS_HD std::int64_t samples() const { return share.global_batch / views; }

  /// Number of samples drawn from `source` before `step`.
  WS_HD std::int64_t given(std::uint64_t step, std::uint32_t source) const {
    if (before == nullptr) return static_cast<std::int64_t>(step) * samples();
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
    // different samples. A single source without repeats needs none: its order is already a
    // permutation.
    const std::int64_t global_row = share.first_row + row;
    const std::int64_t place = global_row / views, view = global_row % views;
    std::int64_t rank = place;
    if (sources > 1 || order[0].repeats > 1) {
      const Permutation places(static_cast<std::uint64_t>(samples()), seed, step,
                               PermutationUse::batch);
      rank = static_cast<std::int64_t>(places(static_cast<std::uint64_t>(place)));
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
    result.ordinal += static_cast<std::uint64_t>(view) * kViewOrdinals;
    return result;
  }
};

/// The first node of a step's data: fills the slots of step state->step.
struct AssignSlots {
  SlotAssignment assignment;
  const StepState* state;
  Slot* slots;
  WS_HD void operator()(std::int64_t row) const { slots[row] = assignment.slot(state->step, row); }
};

/// Slots of one source in plain order, for evaluation. Rows at `count` and above repeat the first
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
