// One rank's part of its node: its GPU, or its share of the processors and of the memory. Called by
// the command line; host only.
#pragma once

#include "kernels/batch/communicator.h"
#include "train/config/run_config.h"
#include "train/ranks/launch.h"

#include <vector>

namespace wellspring {

/// Fills in what the configuration leaves open: `device: auto` and `device: cuda` become the GPU
/// with the rank's number on its node; `memory: 0` becomes the rank's equal share. Sets `node`, whose
/// ranks share caches. Device error: fewer GPUs than ranks on the node. Config error: one GPU is
/// named for several ranks.
void take_part_of_node(RunConfig& config, const Launch& launch);

/// `threads: 0` becomes the rank's share of the processors that it may use (OMP_NUM_THREADS counts
/// per rank). All ranks call it.
void take_processors(RunConfig& config, const Launch& launch, Communicator& ranks);

/// The number of threads of a rank that may use the processors `own`. `node`: the processors that
/// each rank of its node may use, including this one. Ranks share the processors that several of
/// them may use; processors that a launcher has bound to a single rank are all its own.
int share_of_processors(const std::vector<int>& own, const std::vector<std::vector<int>>& node);

}  // namespace wellspring
