// Counts in the state that add up over ranks: sums of the metrics ring, and items omitted from sets.
// Each rank counts its own rows; a checkpoint holds what all ranks have counted, so a run can be
// resumed with a different number of ranks. Called by checkpoints; host only.
#pragma once

#include "train/step/run_context.h"
#include "train/step/step.h"

namespace wellspring {

/// Before a checkpoint: rank 0 takes over the counts of all ranks, and the others start at 0.
void collect_parts(RunContext& context, const TrainingStep& step);
/// After all ranks have read the same checkpoint: rank 0 keeps its counts, and the others start at
/// 0.
void keep_parts_of_first(RunContext& context, const TrainingStep& step);

}  // namespace wellspring
