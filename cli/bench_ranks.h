// `wellspring bench ranks`: the rate of a configuration with 1, 2, 4, ... ranks. Called by `bench`;
// host only.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace wellspring::cli {

struct RankBench {
  std::string config;
  std::vector<std::string> settings;  ///< key=value, override the configuration
  int most = 2;                       ///< ranks
  bool weak = false;                  ///< train.batch is the batch of one rank, not of all
  int turns = 3;                      ///< runs per number of ranks
  std::string json;                   ///< file; empty: none
};

/// Runs the training step with 1, 2, 4, ... and `most` ranks, alternately, and prints a table. Under a
/// launcher (srun, mpirun, torchrun), measures the ranks that it has started, and rank 0 prints.
/// Errors (config): no configuration, graph checks, or ranks that do not divide the batch. Call it
/// before any thread is started.
int bench_ranks(const RankBench& options);

}  // namespace wellspring::cli
