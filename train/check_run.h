// Checks that a run can begin, without allocating its memory or opening its device. Called by
// `wellspring config`; host only.
#pragma once

#include "train/config/run_config.h"

namespace wellspring {

/// Builds a Trainer's parts on the CPU, up to their memory plans: opens the data and compares the
/// weights of init.from (unless the run folder has a checkpoint to resume), but decodes no image
/// and creates no folder. Throws the errors of Trainer's constructor, except those about the
/// device, memory size, damaged rows and the run folder.
void check_run(const RunConfig& config);

}  // namespace wellspring
