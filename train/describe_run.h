// The description of a run before its first step. Called by the trainer; host only.
#pragma once

#include "sources/mixture.h"
#include "train/config/run_config.h"
#include "train/metrics/observer.h"
#include "train/run_folder.h"
#include "train/step/run_context.h"
#include "train/step/supervised_task.h"

namespace wellspring {

/// Fills in `plan`, except for its first step, and appends to its notes. `folder` may be null.
void describe_run(PlanReport& plan, const RunConfig& config, const RunContext& context,
                  const Mixture& mixture, const SupervisedTask& task, const RunFolder* folder);

}  // namespace wellspring
