// Copies of a run's state in host memory: to compare two ways of doing a step, and to go back after
// a measurement. Host only.
#pragma once

#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/stream.h"

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring {

/// The bytes of state blocks (MemoryPlan::state) at one moment. `blocks` must be the same list in
/// all calls.
class Snapshot {
 public:
  /// Both wait for the stream.
  void save(Stream& stream, const std::vector<StateBlock>& blocks);
  void restore(Stream& stream, const std::vector<StateBlock>& blocks) const;
  /// "group/name, byte N" of the first byte that differs; "" where all are equal.
  std::string difference(const Snapshot& other, const std::vector<StateBlock>& blocks) const;
  /// A copy a block.
  const std::vector<std::vector<std::uint8_t>>& copies() const { return copies_; }

 private:
  std::vector<std::vector<std::uint8_t>> copies_;
};

/// What a checkpoint holds of `blocks`: those that are stored, one after another. Waits.
std::vector<std::uint8_t> stored_bytes(Stream& stream, std::vector<StateBlock> blocks);

}  // namespace wellspring
