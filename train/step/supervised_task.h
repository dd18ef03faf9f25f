// A network with its heads, parameters and optimizer. Called by the training step and by
// evaluation; host only.
#pragma once

#include "kernels/batch/batch.h"
#include "kernels/ops/metrics.h"
#include "kernels/runtime/step_state.h"
#include "kernels/runtime/stream.h"
#include "sources/mixture.h"
#include "train/config/run_config.h"
#include "train/heads/heads.h"
#include "train/models/model.h"
#include "train/network/network.h"
#include "train/optimizer/optimizer.h"
#include "train/step/run_context.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace wellspring {

class SupervisedTask {
 public:
  struct Input {
    SampleLayout layout;
    std::vector<HeadSpec> heads;  ///< in the order of the outputs
    /// Layer whose values follow the heads' outputs, see Tape::append_features; unset: none.
    std::optional<std::string> features = {};
    /// A step runs the last layer with the loss, if it can; see output_layer().
    bool loss_in_output_layer = false;

    /// Input of a run. `mixture`: its training sources. Errors (config): see make_heads.
    static Input of(const RunConfig& config, const Mixture& mixture);
  };
  /// Plans all memory, for the rows of context.pass_share(). Error (config) if the model does not fit the
  /// input.
  SupervisedTask(const RunConfig& config, RunContext& context, DType compute, Input input);

  /// Selects the network of a step. Returns the number of its phase; a new phase means that the
  /// step must be recorded again.
  std::size_t select_phase(std::uint64_t step);
  /// First step that another network trains; UINT64_MAX: none.
  std::uint64_t next_phase() const {
    return phase_ + 1 < phases_.size() ? phases_[phase_ + 1] : UINT64_MAX;
  }
  /// Rows of a pass through the network.
  std::int64_t rows() const { return rows_; }
  /// Enqueues the network on pass.batch; outside training also the averages of heads.
  void forward(const Pass& pass);
  /// [batch, outputs of all heads and features] f32, after forward().
  const float* outputs() const { return network().outputs(); }
  std::int32_t outputs_per_sample() const { return first_feature() + features_; }
  /// Index of the first feature among the outputs of a sample, and the shape of all features.
  std::int32_t first_feature() const {
    return input_.heads.back().begin + input_.heads.back().outputs();
  }
  const TensorShape& feature_shape() const { return feature_shape_; }
  /// Buffer for the gradient of the losses: [batch, outputs] in the compute type.
  void* output_gradient() const { return network().output_gradient(); }
  /// The last layer, if a step runs it with the loss; see Network::output_layer.
  std::optional<ops::OutputLayer> output_layer() const { return network().output_layer(); }
  /// Enqueues the backward pass: the gradient of every parameter that the step trains. `buckets` and
  /// `waiting`: see Network::backward.
  void backward(const Pass& pass, GradientBuckets* buckets = nullptr,
                ops::PartTotals* waiting = nullptr);
  /// Enqueues the totals that wait, clipping, the learning rate, the end of the step, and the update of
  /// all trained parameters and their average.
  void optimize(Stream& stream, const ops::ScheduleSpec& schedule, const ops::CollectMetrics& end,
                ops::PartTotals* waiting = nullptr);

  ParameterArena& parameters() { return networks_.back()->parameters(); }
  const ParameterArena& parameters() const { return network().parameters(); }
  const Network& network() const { return *networks_[phase_]; }
  const std::vector<HeadSpec>& heads() const { return input_.heads; }
  const SampleLayout& layout() const { return input_.layout; }
  DType compute() const { return network().compute(); }

 private:
  Input input_;
  std::int64_t rows_;
  ops::OptimizerSpec optimizer_;
  float clip_, ema_;
  TensorShape feature_shape_;
  std::int32_t features_ = 0;  ///< number of features per sample
  /// True if a head predicts values of x in this batch. Held-out samples have no masked patches.
  bool hides(const BatchView& batch) const;
  /// `batch` without these values.
  BatchView visible(BatchView batch) const;

  std::uint64_t hidden_ = 0;                        ///< mask of the predicted features of items
  std::int32_t patch_ = 0;                          ///< side of predicted patches, pixels; 0: none
  Planned<std::byte> visible_;                      ///< x without the predicted values
  std::vector<std::uint64_t> phases_;               ///< see ParameterArena::phases
  std::vector<std::unique_ptr<Network>> networks_;  ///< by phase
  std::size_t phase_ = 0;
  Planned<float> norm_partials_;
};

}  // namespace wellspring
