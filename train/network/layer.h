// A layer executes one operation of a network: it is planned from its node, then enqueued forwards
// and backwards. Every operation needs a layer. Called by train/network; host only.
#pragma once

#include "kernels/batch/communicator.h"
#include "kernels/ops/ops.h"
#include "train/network/parameters.h"
#include "train/network/pass.h"
#include "train/network/tape.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace wellspring {

/// Spec of a convolution node for `batch` rows, without pooling or input gradient.
ops::Conv2dSpec conv2d_spec(const Node& node, std::int64_t batch, DType compute);

/// Collects the requests of a layer during planning. Indices count the layer's own requests, in
/// order.
class LayerPlanner {
 public:
  /// `batch`: rows of the layer. `step`: selects the trained parameters. `again`: true if a layer
  /// of the same node, in another shard or phase, has already registered the node's parameters.
  LayerPlanner(const Node& node, ParameterArena& arena, const Stream& stream, std::int64_t batch,
               DType compute, std::uint64_t seed, std::vector<bool> wanted_gradients,
               std::uint64_t step, bool again, Communicator* ranks = nullptr)
      : node_(node),
        arena_(arena),
        stream_(stream),
        batch_(batch),
        compute_(compute),
        seed_(seed),
        step_(step),
        again_(again),
        ranks_(ranks),
        wanted_(std::move(wanted_gradients)),
        kept_inputs_(node.inputs.size(), false) {}

  const Node& node() const { return node_; }
  const Stream& stream() const { return stream_; }
  std::int64_t batch() const { return batch_; }
  DType compute() const { return compute_; }
  /// The seed of the run, which keys random numbers.
  std::uint64_t seed() const { return seed_; }
  /// The ranks that share the statistics of a batch; null: none.
  Communicator* ranks() const { return ranks_; }
  /// True if the gradient of an input is needed.
  bool input_gradient(std::size_t input) const { return wanted_[input]; }
  /// True if any parameter requested so far is trained. Otherwise the backward pass writes no
  /// parameter gradients.
  bool learns() const;

  /// Requests parameter "<layer>.<name>". `layer` is the node's own name, or the name of another
  /// node whose parameter it shares. Errors as in ParameterArena.
  void matrix(const std::string& layer, const std::string& name, TensorLayout layout,
              std::vector<std::int64_t> shape, Init initial);
  void vector(const std::string& layer, const std::string& name, std::int64_t n, Init initial);
  /// Requests a parameter of the node itself, under its full name.
  void parameter(const Parameter& parameter);
  /// Like vector(), but not trained.
  void buffer(const std::string& layer, const std::string& name, std::int64_t n, Init initial);
  /// Requests memory that is kept from the forward to the backward pass.
  void save(std::size_t bytes) { saved_.push_back(bytes); }
  /// Requests scratch memory for one pass of the layer.
  void workspace(std::size_t bytes) { workspace_ = std::max(workspace_, bytes); }
  /// The backward pass uses workspace.totals, so its workspace must last until their launch.
  void sum_parts() { sums_parts_ = true; }
  /// The backward pass adds a second output gradient, output_gradient_again, if there is one.
  void add_gradients() { adds_gradients_ = true; }
  /// Keeps an input, or the output, for the backward pass.
  void keep_input(std::size_t input) { kept_inputs_[input] = true; }
  void keep_output() { keeps_output_ = true; }
  /// Keeps the saved values even if the layer is recomputed, because recompute() reads them.
  void keep_saved() { keeps_saved_ = true; }

  const std::vector<ParameterId>& parameters() const { return parameters_; }
  const std::vector<std::size_t>& saved() const { return saved_; }
  std::size_t workspace_bytes() const { return workspace_; }
  bool sums_parts() const { return sums_parts_; }
  bool adds_gradients() const { return adds_gradients_; }
  bool keeps_input(std::size_t input) const { return kept_inputs_[input]; }
  bool keeps_output() const { return keeps_output_; }
  bool keeps_saved() const { return keeps_saved_; }

 private:
  ParameterTensor tensor(const std::string& layer, const std::string& name) const;
  void registered(const std::string& layer, const ParameterTensor& asked);

  const Node& node_;
  ParameterArena& arena_;
  const Stream& stream_;
  std::int64_t batch_;
  DType compute_;
  std::uint64_t seed_, step_;
  bool again_;
  Communicator* ranks_;
  std::vector<bool> wanted_;
  std::vector<bool> kept_inputs_;
  bool keeps_output_ = false, keeps_saved_ = false, sums_parts_ = false, adds_gradients_ = false;
  std::size_t workspace_ = 0;
  std::vector<ParameterId> parameters_;
  std::vector<std::size_t> saved_;
};

/// Memory of one run of a layer. Pointers refer to device memory; activations and their gradients
/// have the compute type unless the layer says otherwise.
struct LayerRun {
  const Pass& pass;
  const ParameterArena& arena;
  std::span<const ParameterId> parameters;
  std::vector<const void*> input;
  void* output = nullptr;
  std::vector<void*> saved;
  ops::Workspace workspace;

  // Backward only:
  void* output_gradient = nullptr;        ///< may be overwritten
  void* output_gradient_again = nullptr;  ///< may be null; only if the layer adds gradients
  std::vector<void*> input_gradient;      ///< overwritten; null if not needed
  /// By parameter; overwritten. All are null if all parameters are frozen.
  std::vector<void*> parameter_gradient;

  Stream& stream() const { return pass.stream; }
  const void* weight(std::size_t k) const { return arena.weight(parameters[k]); }
  const float* value(std::size_t k) const { return arena.value(parameters[k]); }
  float* buffer(std::size_t k) const { return arena.buffer(parameters[k]); }
  void* weight_gradient(std::size_t k) const { return parameter_gradient[k]; }
  float* value_gradient(std::size_t k) const { return static_cast<float*>(parameter_gradient[k]); }
};

class Layer {
 public:
  virtual ~Layer() = default;
  virtual void forward(const LayerRun& run) = 0;
  /// Writes the output and saved values of the last training pass again, and nothing else.
  virtual void recompute(const LayerRun& run) { forward(run); }
  virtual void backward(const LayerRun& run) = 0;
};

/// Makes the layer of the planner's node. Errors: as in planning its operation, and of
/// expect_countable() (kernels/batch/batch_columns.h) for its output.
std::unique_ptr<Layer> make_layer(LayerPlanner& planner);

// One per operation, in train/network/layers/.
std::unique_ptr<Layer> plan_layer(const Convolution& operation, LayerPlanner& planner);
std::unique_ptr<Layer> plan_layer(const DepthwiseConvolution& operation, LayerPlanner& planner);
std::unique_ptr<Layer> plan_layer(const Dense& operation, LayerPlanner& planner);
std::unique_ptr<Layer> plan_layer(const GroupNorm& operation, LayerPlanner& planner);
std::unique_ptr<Layer> plan_layer(const BatchNorm& operation, LayerPlanner& planner);
std::unique_ptr<Layer> plan_layer(const LayerNorm& operation, LayerPlanner& planner);
std::unique_ptr<Layer> plan_layer(const MaxPool& operation, LayerPlanner& planner);
std::unique_ptr<Layer> plan_layer(const Upsample& operation, LayerPlanner& planner);
std::unique_ptr<Layer> plan_layer(const Relu& operation, LayerPlanner& planner);
std::unique_ptr<Layer> plan_layer(const Gelu& operation, LayerPlanner& planner);
std::unique_ptr<Layer> plan_layer(const Silu& operation, LayerPlanner& planner);
std::unique_ptr<Layer> plan_layer(const Add& operation, LayerPlanner& planner);
std::unique_ptr<Layer> plan_layer(const Concatenate& operation, LayerPlanner& planner);
std::unique_ptr<Layer> plan_layer(const JoinOutputs& operation, LayerPlanner& planner);
std::unique_ptr<Layer> plan_layer(const AsOutput& operation, LayerPlanner& planner);
std::unique_ptr<Layer> plan_layer(const GlobalMean& operation, LayerPlanner& planner);
std::unique_ptr<Layer> plan_layer(const Dropout& operation, LayerPlanner& planner);
std::unique_ptr<Layer> plan_layer(const DropPath& operation, LayerPlanner& planner);
std::unique_ptr<Layer> plan_layer(const Attention& operation, LayerPlanner& planner);
std::unique_ptr<Layer> plan_layer(const AddParameter& operation, LayerPlanner& planner);
std::unique_ptr<Layer> plan_layer(const ScaleChannels& operation, LayerPlanner& planner);
std::unique_ptr<Layer> plan_layer(const PrependTokens& operation, LayerPlanner& planner);
std::unique_ptr<Layer> plan_layer(const SelectTokens& operation, LayerPlanner& planner);
std::unique_ptr<Layer> plan_layer(const ItemPool& operation, LayerPlanner& planner);
std::unique_ptr<Layer> plan_layer(const Globals& operation, LayerPlanner& planner);

}  // namespace wellspring
