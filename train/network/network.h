// A network that runs: a recorded list with its parameters, memory and planned operations. Used by
// the learner; host only.
//
// On a GPU every operation is launched for the whole batch. On the CPU a thread takes one shard of
// the batch after another through all operations up to the next in which rows meet (a batch norm),
// and its activations stay in its cache; only convolutions of many weights are shared by all
// threads. Shards and the order of their sums depend on network and batch alone, so all bits are
// the same for any number of threads.
#pragma once

#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/shard_runner.h"
#include "train/network/layer.h"
#include "train/network/liveness.h"
#include "train/network/parameters.h"
#include "train/network/pass.h"
#include "train/network/shards.h"
#include "train/network/tape.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace wellspring {

struct NetworkSpec {
  std::int64_t batch = 1;
  DType compute = DType::f32;
  std::uint64_t seed = 0;       ///< of the run; keys dropout
  bool input_gradient = false;  ///< ask for the gradient of the samples, too
  std::int64_t shards = 0;      ///< on the CPU; 0: as divide() says
  /// `shards` of a CPU that is to take the whole batch at once, with all threads, as a GPU does.
  static constexpr std::int64_t kWholeBatch = -1;
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
  static constexpr int kNone = -1;
  using Place = ShardRunner::Place;
  /// All rows at once, as opposed to one of the shards.
  static constexpr Place kWhole{static_cast<std::size_t>(-1), 0};
  static constexpr bool whole(Place place) { return place.shard == kWhole.shard; }

  /// A tensor in memory: an activation, a gradient, what a layer saves, or scratch of one step.
  struct Stored {
    std::string name;
    std::vector<std::size_t> bytes;  ///< by shard, or one for all rows
    Lifetime life;
    std::size_t block = 0;
    /// It lives within one stage: each thread has room for that of one shard.
    bool apart = false;
  };
  /// A gradient that a layer writes: where, and, if something is there already, what to add it to.
  struct Target {
    int written = kNone;  ///< stored index; kNone: not wanted, or in the arena
    int added_to = kNone;
  };
  struct PlannedNode {
    Node node;
    std::size_t stage = 0;
    std::vector<std::unique_ptr<Layer>> layers;  ///< by shard, or one for all rows
    std::vector<ParameterId> parameters;
    std::vector<int> saved;
    std::vector<Target> input_gradients;
    std::vector<Target> parameter_gradients;  ///< added_to is unused: it is the arena
    /// In shards: where each parameter's gradient begins among those of one shard and stage.
    std::vector<std::size_t> shard_gradients;
    bool backward = false;  ///< something in or before it learns
  };
  /// The gradient of a parameter from those of all shards.
  struct ShardSum {
    ParameterId parameter;
    std::vector<std::size_t> begins;  ///< as PlannedNode::shard_gradients
    bool kept = false;                ///< something is in the arena already
  };
  /// Steps [first, end) that run without a halt.
  struct Emitter {
    std::size_t first = 0, end = 0;
    bool sharded = false;
    std::size_t gradient_bytes = 0;  ///< of one shard, until they are added up
    std::vector<ShardSum> sums = {};
  };

  // Planning.
  bool goes_in_shards(const Node& node) const;
  void plan_stages();
  void plan_forward(const Stream& stream);
  void plan_layers(std::size_t step, const Stream& stream, const std::vector<bool>& wanted);
  void plan_backward();
  void plan_parameter_gradients(std::size_t step, std::vector<bool>& written);
  void reserve(MemoryPlan& memory);
  void reserve_blocks(MemoryPlan& memory, bool apart);
  int store(std::string name, std::vector<std::size_t> bytes, int time);
  void use(int stored, int time);
  /// Of all rows, by shard.
  std::vector<std::size_t> bytes_of(const TensorShape& shape, DType type) const;
  int forward_time(std::size_t step) const { return static_cast<int>(step); }
  int loss_time() const { return static_cast<int>(steps_.size()); }
  int backward_time(std::size_t step) const {
    return 2 * static_cast<int>(steps_.size()) - static_cast<int>(step);
  }
  int end_time() const { return 2 * static_cast<int>(steps_.size()) + 1; }
  /// The moments that have no order among shards: those of a stage, or the one alone.
  struct Window {
    int first = 0, last = 0;
    bool sharded = false;
    friend bool operator==(const Window&, const Window&) = default;
  };
  Window window(int time) const;
  const Emitter& stage_of(const PlannedNode& step) const { return stages_[step.stage]; }

  // Running.
  void* data(int stored, Place place) const;
  void* shard_gradient(const Emitter& stage, std::size_t shard, std::size_t begin) const;
  LayerRun run_of(const PlannedNode& step, Place place, const Pass& pass) const;
  void forward(const PlannedNode& step, Place place, const Pass& pass) const;
  void backward(const PlannedNode& step, Place place, const Pass& pass) const;
  void accumulate(const PlannedNode& step, Place place, const Pass& pass) const;
  bool learns(const Emitter& stage) const;
  void add_shards(const Emitter& stage, const Pass& pass) const;
  /// Calls body(place, its rows of `pass`) for each, side by side.
  void in_shards(const char* name, const Pass& pass,
                 const std::function<void(Place, const Pass&)>& body);
  std::int64_t rows(Place place) const {
    return whole(place) ? spec_.batch : shards_[place.shard].count;
  }

  NetworkSpec spec_;
  ParameterArena arena_;
  std::optional<ShardRunner> runner_;  ///< on the CPU
  std::vector<Rows> shards_;           ///< the whole batch where there is no runner
  std::size_t threads_ = 1;            ///< that there is memory for
  std::vector<PlannedNode> steps_;
  std::vector<Emitter> stages_;
  std::vector<int> activation_;  ///< by value: stored index, kNone for the input
  std::vector<int> gradient_;    ///< by value
  std::vector<bool> learns_;     ///< by value: its gradient is needed
  std::vector<Stored> stored_;
  std::vector<Planned<std::byte>> blocks_;         ///< of all rows
  std::vector<Planned<std::byte>> thread_blocks_;  ///< as many parts as threads
  std::size_t workspace_bytes_ = 0, shard_workspace_bytes_ = 0;
  Planned<std::byte> workspace_, shard_gradients_;
  int output_ = 0;  ///< value
};

}  // namespace wellspring
