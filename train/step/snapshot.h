// Copies of a run's state in host memory, to compare two ways of executing a step and to restore
// the state. Called by StepRunner and checkpoints; host only.
#pragma once

#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/stream.h"

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring {

/// The bytes of state blocks (MemoryPlan::state) at one point in time. All calls must pass the same
/// `blocks`.
class Snapshot {
 public:
  /// Both wait for the stream.
  void save(Stream& stream, const std::vector<StateBlock>& blocks);
  void restore(Stream& stream, const std::vector<StateBlock>& blocks) const;
  /// "group/name, byte N" of the first byte that differs; "" if all are equal.
  std::string difference(const Snapshot& other, const std::vector<StateBlock>& blocks) const;
  /// One copy per block.
  const std::vector<std::vector<std::uint8_t>>& copies() const { return copies_; }

 private:
  std::vector<std::vector<std::uint8_t>> copies_;
};

/// The bytes of those `blocks` that a checkpoint stores, concatenated. Waits for the stream.
std::vector<std::uint8_t> stored_bytes(Stream& stream, std::vector<StateBlock> blocks);

}  // namespace wellspring
