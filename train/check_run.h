// Whether a run can begin, without its memory and its device: what `wellspring config` checks. Host
// only.
#pragma once

#include "train/config/run_config.h"

namespace wellspring {

/// Makes the parts that a Trainer is made of, on the CPU and as far as their plans. So it opens the
/// data and compares the weights of init.from (unless the run folder has a checkpoint to go on
/// from), but decodes no image and makes no folder. Errors as Trainer's constructor, but for the
/// device, the size of memory, damaged rows and the run folder.
void check_run(const RunConfig& config);

}  // namespace wellspring
