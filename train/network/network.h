// An executable network: a recorded list of operations with its parameters, memory and plans.
// Called by training and evaluation; host only.
//
// On a GPU, each operation is launched for the whole batch. On the CPU, a thread takes one shard of
// the batch through all operations up to the next one that combines rows (a batch norm), so that
// activations stay in its cache; then it takes the next shard. Convolutions with many weights are
// an exception: all threads work on them together. The shards and the order of their sums depend
// only on the network and the batch, so results are bit-identical for any number of threads, given
// the same type of processor and the same libraries.
#pragma once

#include "kernels/ops/training.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/shard_runner.h"
#include "train/network/gradient_buckets.h"
#include "train/network/layer.h"
#include "train/network/liveness.h"
#include "train/network/parameters.h"
#include "train/network/pass.h"
#include "train/network/shards.h"
#include "train/network/tape.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace wellspring {

struct NetworkSpec {
  std::int64_t batch = 1;
  DType compute = DType::f32;
  std::uint64_t seed = 0;                 ///< seed of the run, which keys dropout
  bool input_gradient = false;            ///< also compute the gradient of the samples
  bool loss_in_output_layer = false;      ///< leave the last layer to the loss, see output_layer()
  std::int64_t shards = 0;                ///< CPU only; 0: chosen by make_shards()
  std::vector<ParameterRule> rules = {};  ///< policies of the parameters
  Communicator* ranks = nullptr;          ///< ranks that share batch statistics; null: none
  /// Activation checkpointing: only values between groups of this many blocks are kept for the
  /// backward pass, which recomputes all others bit for bit. 0: every value it needs is kept.
  std::int64_t recompute_blocks = 0;
  /// Only parameters that this step trains get gradients. Default: a step after all unfreezing.
  std::uint64_t step = std::numeric_limits<std::uint64_t>::max();
  /// Value of `shards`: on a CPU, all threads process the whole batch together, as on a GPU.
  static constexpr std::int64_t kWholeBatch = -1;
};

class Network {
 public:
  /// Registers parameters and reserves memory, except for the arena: the caller, which knows the
  /// optimizer, plans it with parameters().plan(). Errors: as in planning the operations; config if
  /// a rule does not fit (see expect_rules_fit) or recompute_blocks has no effect; std::logic_error
  /// for an invalid list.
  Network(const Tape& tape, const NetworkSpec& spec, const Stream& stream, MemoryPlan& memory)
      : Network(tape, spec, stream, memory, nullptr) {}
  /// The same network at spec.step. It uses the parameters of `whole`, and also its memory where
  /// that is large enough, so only one of the two networks can be in use.
  Network(const Tape& tape, const NetworkSpec& spec, const Stream& stream, MemoryPlan& memory,
          const Network* whole);

  /// Enqueues the forward pass of pass.batch; x is [batch, shape] in the compute type.
  void forward(const Pass& pass);
  /// [batch, outputs] f32, valid until the next forward().
  float* outputs() const;
  /// The last layer, if the caller must run it together with the loss after forward(), which leaves
  /// it out when training. Unset if spec.loss_in_output_layer is not set, if
  /// ops::output_layer_loss does not accept the layer, or if the network runs in shards.
  std::optional<ops::OutputLayer> output_layer() const;
  /// Buffer for the gradient of the loss, to be filled after forward(): [batch, outputs] in the
  /// compute type. The backward pass overwrites it.
  void* output_gradient() const;
  /// Enqueues the backward pass of the same batch, which writes the gradient of every trained
  /// parameter. It ends at the first operation with trained parameters. `buckets`: also enqueues
  /// the sums of the gradients over the ranks; the caller joins these sums. `waiting` (only without
  /// buckets): gets the last totals of gradients, which the caller adds before anything reads a
  /// gradient or runs the network again.
  void backward(const Pass& pass, GradientBuckets* buckets = nullptr,
                ops::PartTotals* waiting = nullptr);
  /// Gradient of x after backward(); only with NetworkSpec::input_gradient.
  const void* input_gradient() const;

  ParameterArena& parameters() { return *arena_; }
  const ParameterArena& parameters() const { return *arena_; }
  DType compute() const { return spec_.compute; }
  /// Memory of a step's tensors without and with reuse, and the number of recomputed operations;
  /// for the summary of a run.
  std::string memory_summary() const;

 private:
  static constexpr int kNone = -1;
  using Place = ShardRunner::Place;
  /// All rows instead of one shard.
  static constexpr Place kWhole{static_cast<std::size_t>(-1), 0};
  static constexpr bool whole(Place place) { return place.shard == kWhole.shard; }

  /// A tensor in memory: an activation, a gradient, or the saved values or scratch memory of a
  /// layer.
  struct StoredTensor {
    std::string name;
    std::vector<std::size_t> bytes;  ///< by shard, or one for all rows
    Lifetime life;
    std::size_t block = 0;
    /// True if it lives within one stage; then each thread has its own copy, as large as a shard.
    bool per_thread = false;
  };
  /// The place where a layer writes a gradient, and the gradient to which that is then added.
  struct Target {
    int written = kNone;  ///< stored index; kNone: not needed, or in the arena
    int added_to = kNone;
  };
  /// If any parameter of a node is trained, all of them get gradients; the gradients of the frozen
  /// ones are not used.
  struct PlannedNode {
    Node node;
    std::size_t stage = 0;
    std::vector<std::unique_ptr<Layer>> layers;  ///< by shard, or one for all rows
    std::vector<ParameterId> parameters;
    std::vector<int> saved;
    std::vector<Target> input_gradients;
    bool adds_gradients = false;  ///< true if the layer can add a second output gradient
    int gradient_again = kNone;   ///< stored index of that gradient; the layer adds it
    std::vector<Target> parameter_gradients;  ///< added to the arena if trained; added_to is unused
    /// In shards: byte offset of each parameter's gradient within a shard's gradients of a stage.
    std::vector<std::size_t> shard_gradients;
    bool learns = false;    ///< true if it has a trained parameter
    bool backward = false;  ///< true if this or an earlier operation learns
    /// Input, output and values saved by forward(): true if the backward pass reads them even if
    /// the operation is recomputed.
    std::vector<bool> keeps_input;
    bool keeps_output = false, keeps_saved = false;
    bool recomputed = false;            ///< true if it runs again before its backward pass
    std::vector<int> recomputed_saved;  ///< as `saved`, in the backward pass
    std::size_t workspace_bytes = 0;
    bool sums_parts = false;    ///< true if the totals of its backward pass can be launched later
    bool sums_later = false;    ///< true if these totals are launched at the end of the pass
    int own_workspace = kNone;  ///< workspace of its backward pass, if it must last until then
  };
  /// Sum of a parameter's gradient over all shards.
  struct ShardSum {
    ParameterId parameter;
    std::vector<std::size_t> begins;  ///< as PlannedNode::shard_gradients
    bool kept = false;                ///< true: add to the arena's value instead of overwriting it
  };
  /// A segment of nodes [first, end). A segment that is recomputed is recomputed completely before
  /// its backward pass begins.
  struct Segment {
    std::size_t first = 0, end = 0;
    bool recomputed = false;
  };
  enum class Work : std::uint8_t { forward, recompute, backward };
  struct Task {
    std::size_t node;
    Work work;
  };
  /// Consecutive tasks of one stage, and the times of the first and the last task.
  struct TaskGroup {
    std::size_t stage;
    std::vector<Task> tasks;
    int first, last;
    bool adds_shards = false;  ///< true: the gradients of the stage are complete afterwards
  };
  /// Nodes [first, end) that run without a barrier between threads.
  struct Stage {
    std::size_t first = 0, end = 0;
    bool sharded = false;
    std::size_t gradient_bytes = 0;  ///< parameter gradients of one shard
    std::vector<ShardSum> sums = {};
  };

  // Planning.
  bool goes_in_shards(const Node& node) const;
  void plan_stages();
  void plan_segments(const std::string& model);
  void plan_forward(const Stream& stream, bool again);
  void plan_layers(std::size_t node, const Stream& stream, const std::vector<bool>& wanted,
                   bool again);
  void plan_recomputation();
  void find_recomputed(const Segment& segment, const std::vector<std::size_t>& last_reader);
  void plan_backward();
  void plan_second_gradient(std::size_t node);
  void plan_tasks();
  void add_task(std::vector<TaskGroup>& groups, Task task, int time) const;
  void plan_parameter_gradients(std::size_t node, std::vector<bool>& written);
  void plan_totals(std::size_t node);
  void plan_output_layer();
  static void add_to_sum(Stage& stage, ParameterId id, std::size_t begin, bool first);
  void reserve(MemoryPlan& memory, const Network* whole);
  void reserve_blocks(MemoryPlan& memory, bool per_thread, const Network* whole);
  /// True if the step trains the tensor.
  bool trains(const ParameterTensor& tensor) const { return tensor.trained_at(spec_.step); }
  int store(std::string name, std::vector<std::size_t> bytes, int time);
  void use(int stored, int time);
  /// Bytes of a tensor in each shard.
  std::vector<std::size_t> bytes_of(const TensorShape& shape, DType type) const;
  int forward_time(std::size_t node) const { return static_cast<int>(node); }
  int loss_time() const { return static_cast<int>(nodes_.size()); }
  int recompute_time(std::size_t node) const;
  int backward_time(std::size_t node) const;
  int end_time() const { return 3 * static_cast<int>(nodes_.size()) + 1; }
  /// Times that are not ordered among shards: all times of a group of tasks, or a single one.
  struct Window {
    int first = 0, last = 0;
    bool sharded = false;
    friend bool operator==(const Window&, const Window&) = default;
  };
  Window window(int time) const;
  const Stage& stage_of(const PlannedNode& planned) const { return stages_[planned.stage]; }

  // Running.
  void* data(int stored, Place place) const;
  void* shard_gradient(const Stage& stage, std::size_t shard, std::size_t begin) const;
  LayerRun run_of(const PlannedNode& planned, Work work, Place place, const Pass& pass) const;
  void run(const std::vector<TaskGroup>& groups, const char* name, const Pass& pass,
           ops::PartTotals& later, GradientBuckets* buckets);
  void run(const Task& task, Place place, const Pass& pass, ops::PartTotals& later) const;
  void backward(const PlannedNode& planned, Place place, const Pass& pass,
                ops::PartTotals& later) const;
  void accumulate(const PlannedNode& planned, Place place, const Pass& pass) const;
  /// True if the node is the output layer and the loss runs it.
  bool is_left_out(const PlannedNode& planned, const Pass& pass) const {
    return loss_runs_output_ && pass.mode == PassMode::train && &planned == &nodes_.back();
  }
  void sum_output_layer(const Pass& pass, ops::PartTotals& later) const;
  void add_shards(const Stage& stage, const Pass& pass) const;
  /// Calls body(place, rows of `pass`) for every shard, in parallel.
  void in_shards(const char* name, const Pass& pass,
                 const std::function<void(Place, const Pass&)>& body);
  std::int64_t rows(Place place) const {
    return whole(place) ? spec_.batch : shards_[place.shard].count;
  }

  NetworkSpec spec_;
  std::shared_ptr<ParameterArena> arena_;
  std::optional<ShardRunner> runner_;  ///< CPU only
  std::vector<Rows> shards_;           ///< the whole batch without a runner
  std::size_t threads_ = 1;            ///< number of threads that have memory
  std::vector<PlannedNode> nodes_;
  std::vector<Stage> stages_;
  std::vector<Segment> segments_;
  std::vector<std::size_t> segment_of_;  ///< by node
  std::vector<TaskGroup> forward_, backward_;
  std::vector<int> activation_;       ///< by value: stored index, kNone for the input
  std::vector<int> recomputed_;       ///< the same in the backward pass
  std::vector<int> gradient_;         ///< by value
  std::vector<bool> needs_gradient_;  ///< by value: true if its gradient is needed
  std::vector<StoredTensor> stored_;
  std::vector<Planned<std::byte>> blocks_;         ///< for all rows
  std::vector<Planned<std::byte>> thread_blocks_;  ///< one part per thread
  std::size_t workspace_bytes_ = 0, shard_workspace_bytes_ = 0;
  Planned<std::byte> workspace_, shard_gradients_;
  int output_ = 0;  ///< index of the output's value
  bool loss_runs_output_ = false;
  int weight_parts_ = kNone, bias_parts_ = kNone;  ///< stored indices, of the output layer
  std::vector<std::size_t> gradient_nodes_;        ///< by tensor, see GradientBuckets::begin
};

}  // namespace wellspring
