// Connects this process with the other ranks of its run. Called by the command line; host only.
#pragma once

#include "kernels/batch/communicator.h"
#include "train/ranks/launch.h"

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

namespace wellspring {

/// A communicator whose ranks are processes.
class ConnectedRanks : public Communicator {
 public:
  /// See Ring::abandon.
  virtual void abandon(std::string_view reason) noexcept = 0;
};

/// Waits until all ranks have joined. `program`: version and commit, identical on all ranks. On
/// CPUs, everything travels over TCP; on GPUs, NCCL sums the gradients and TCP carries the rest.
/// Errors: see Ring and NcclCommunicator.
std::unique_ptr<ConnectedRanks> open_ranks(const Launch& launch, Device device,
                                           const std::string& program,
                                           std::chrono::milliseconds timeout);

}  // namespace wellspring
