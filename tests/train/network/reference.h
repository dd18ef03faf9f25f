// The oracle of networks: evaluates a recorded list in double precision with Eigen, one operation
// after the other, without fusions. Called by the tests of networks; host only.
#pragma once

#include "kernels/batch/batch.h"
#include "train/network/pass.h"
#include "train/network/tape.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace wellspring::test {

using Doubles = std::vector<double>;

/// Input of a pass, on the host.
struct ReferenceInput {
  std::int64_t batch = 1;
  Doubles x;
  std::vector<std::int32_t> count;
  Doubles globals;
  std::vector<Slot> slots;
  std::uint64_t step = 0, seed = 0;
  PassMode mode = PassMode::train;
  std::map<std::string, Doubles> tensors;   ///< parameters and buffers by name, in memory order
  std::set<std::string> frozen_norms = {};  ///< batch norms that always use running statistics
};

/// The outputs [batch, outputs]. In training mode, also writes the updated running statistics of
/// `input.tensors` to `moved`, if given.
Doubles reference_outputs(const Tape& tape, const ReferenceInput& input,
                          std::map<std::string, Doubles>* moved = nullptr);

}  // namespace wellspring::test
