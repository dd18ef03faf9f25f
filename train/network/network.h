// A network that runs: a recorded list with its parameters, memory and planned operations. Used by
// the learner; host only.
#pragma once

#include "kernels/memory_plan.h"
#include "train/network/layer.h"
#include "train/network/liveness.h"
#include "train/network/pass.h"
#include "train/network/tape.h"
#include "train/parameters.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace wellspring {

struct NetworkSpec {
  std::int64_t batch = 1;
  DType compute = DType::f32;
  std::uint64_t seed = 0;       ///< of the run; keys dropout
  bool input_gradient = false;  ///< ask for the gradient of the samples, too
};

class Network {
 public:
  /// Registers parameters and reserves memory. The arena's own memory is planned by whoever knows
  /// the optimizer: parameters().plan(). Errors: of the operations; std::logic_error for a list
  /// that is no network.
  Network(const Tape& tape, const NetworkSpec& spec, const Stream& stream, MemoryPlan& memory);

  /// Enqueues the forward pass of pass.batch: x [batch, shape] in the compute type.
  void forward(const Pass& pass);
  /// [batch, outputs] f32, from forward() to the next one.
  const float* outputs() const;
  /// Where the loss writes its gradient after forward(): [batch, outputs] in the compute type. The
  /// backward pass uses it up.
  void* output_gradient() const;
  /// Enqueues the backward pass of the same batch; writes every parameter's gradient.
  void backward(const Pass& pass);
  /// After backward(): the gradient of x, where NetworkSpec asks for it.
  const void* input_gradient() const;

  ParameterArena& parameters() { return arena_; }
  const ParameterArena& parameters() const { return arena_; }
  DType compute() const { return spec_.compute; }
  /// How much memory the tensors of a step would take apart, and what they take by handing it on.
  std::string memory_summary() const;

 private:
  /// A tensor in memory: an activation, a gradient, what a layer saves, or scratch of one step.
  struct Stored {
    std::string name;
    Lifetime life;
    std::size_t block = 0;
  };
  static constexpr int kNone = -1;
  /// A gradient that a layer writes: where, and, if something is there already, what to add it to.
  struct Target {
    int written = kNone;  ///< stored index; kNone: not wanted, or in the arena
    int added_to = kNone;
  };
  struct Step {
    Node node;
    std::unique_ptr<Layer> layer;
    std::vector<ParameterId> parameters;
    std::vector<int> saved;
    std::vector<Target> input_gradients;
    std::vector<Target> parameter_gradients;  ///< added_to is unused: it is the arena
    bool backward = false;                    ///< something in or before it learns
  };

  // Planning.
  void plan_forward(const Stream& stream);
  void plan_backward();
  void reserve(MemoryPlan& memory);
  int store(std::string name, std::size_t bytes, int time);
  void use(int stored, int time);
  std::size_t bytes_of(const TensorShape& shape, DType type) const;
  int forward_time(std::size_t step) const { return static_cast<int>(step); }
  int loss_time() const { return static_cast<int>(steps_.size()); }
  int backward_time(std::size_t step) const {
    return 2 * static_cast<int>(steps_.size()) - static_cast<int>(step);
  }
  int end_time() const { return 2 * static_cast<int>(steps_.size()) + 1; }

  // Running.
  void* data(int stored) const;
  LayerRun run_of(const Step& step, const Pass& pass) const;
  void accumulate(const Step& step, const Pass& pass) const;

  NetworkSpec spec_;
  ParameterArena arena_;
  std::vector<Step> steps_;
  std::vector<int> activation_;  ///< by value: stored index, kNone for the input
  std::vector<int> gradient_;    ///< by value
  std::vector<bool> learns_;     ///< by value: its gradient is needed
  std::vector<Stored> stored_;
  std::vector<Planned<std::byte>> blocks_;
  std::size_t workspace_bytes_ = 0;
  Planned<std::byte> workspace_;
  int output_ = 0;  ///< value
};

}  // namespace wellspring
