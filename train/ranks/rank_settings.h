// One rank's part of its node: its GPU, or its share of the processors and of the memory. Called by
// the command line; host only.
#pragma once

#include "train/config/run_config.h"
#include "train/ranks/launch.h"

namespace wellspring {

/// Fills in what the configuration leaves open: `device: auto` and `device: cuda` become the GPU
/// with the rank's number on its node; `threads: 0` and `memory: 0` become the rank's equal share
/// (OMP_NUM_THREADS counts per rank). Sets `node`, whose ranks share caches. Device error: fewer
/// GPUs than ranks on the node. Config error: one GPU is named for several ranks.
void take_part_of_node(RunConfig& config, const Launch& launch);

}  // namespace wellspring
