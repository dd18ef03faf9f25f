// A recorded list on a device and its oracle: one forward and one backward pass, compared by value.
// Called by the tests of networks; host only.
#pragma once

#include "tests/train/network/reference.h"
#include "train/network/network.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace wellspring::test {

class NetworkBench {
 public:
  /// Random samples, parameters and statistics of order one, from a fixed seed.
  /// `shards`, `rules`, `recompute_blocks`: as in NetworkSpec. With rules, there is no gradient of
  /// the samples.
  NetworkBench(Stream& stream, const Tape& tape, std::int64_t batch, DType compute = DType::f32,
               std::int64_t shards = 0, std::vector<ParameterRule> rules = {},
               std::int64_t recompute_blocks = 0);

  /// Outputs of the current samples and parameters; f32.
  Doubles outputs(PassMode mode);
  /// Gradients of dot(outputs, direction()) by name of a trained tensor; "x" is that of the
  /// samples. Requires outputs(PassMode::train) first. `buckets`: also enqueues their sums.
  std::map<std::string, Doubles> gradients(GradientBuckets* buckets = nullptr);
  const Doubles& direction() const { return direction_; }
  /// Parameters and buffers on the device, by name.
  std::map<std::string, Doubles> tensors();
  /// Outputs, gradients, and all tensors after a training pass.
  std::map<std::string, Doubles> trained();
  /// Input of the oracle for the same pass.
  ReferenceInput reference(PassMode mode) const;
  Network& network() { return *network_; }
  /// Overwrites the samples.
  void set_input(const std::vector<float>& x);
  const Tape& tape() const { return tape_; }
  MemoryPlan& memory() { return memory_; }

 private:
  Pass pass(PassMode mode) const;
  Doubles read(const void* data, std::size_t n, DType type);
  void write(void* data, const Doubles& values, DType type);

  Stream& stream_;
  Tape tape_;
  MemoryPlan memory_;
  std::unique_ptr<Network> network_;
  BatchView batch_;
  ReferenceInput input_;
  Doubles direction_;
  Planned<std::byte> x_;
  Planned<std::int32_t> count_;
  Planned<float> globals_;
  Planned<Slot> slots_;
  Planned<StepState> state_;
};

}  // namespace wellspring::test
