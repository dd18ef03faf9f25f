// One rank's part of a run. Handed to everything in train/ that plans memory or enqueues work; host
// only.
#pragma once

#include "kernels/batch/communicator.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/stream.h"
#include "train/config/run_config.h"

#include <cstdint>
#include <string>

namespace wellspring {

/// Must outlive everything that plans memory in it.
struct RunContext {
  /// `batch`: rows of all ranks together; `threads`: see Stream. Error (config): see share_of.
  RunContext(Communicator& own, std::int64_t batch, Device device, int threads,
             std::int64_t unit = 1)
      : ranks(own), share(share_of(batch, own, unit)), stream(device, threads), memory(device) {}
  /// The device, threads and batch of a run.
  RunContext(Communicator& own, const RunConfig& config)
      : RunContext(own, config.train.batch, Device::parse(config.device),
                   static_cast<int>(config.threads), config.rank_rows_unit()) {
    passes = config.train.accumulate;
  }

  /// This rank's rows of one pass through the network: `share` divided by `passes`, which divides
  /// it exactly. Error (config): it does not.
  Share pass_share() const;

  Device device() const { return stream.device(); }
  /// True for rank 0, which writes the run's files and makes its decisions.
  bool is_first() const { return ranks.rank() == 0; }
  /// Rank 0's value, on all ranks.
  bool of_first(bool value);
  std::string of_first(std::string text);

  Communicator& ranks;
  Share share;              ///< this rank's rows of train.batch
  std::int64_t passes = 1;  ///< train.accumulate
  Stream stream;
  MemoryPlan memory;
};

}  // namespace wellspring
