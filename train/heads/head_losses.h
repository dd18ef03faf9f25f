// The losses and scores of all heads of a network on one batch. Called by the supervised task and
// the evaluation; host only.
#pragma once

#include "kernels/batch/batch.h"
#include "kernels/ops/training.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/stream.h"
#include "train/heads/heads.h"

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring {

/// True if a GPU step computes the network's last layer together with the loss: if the only head
/// is a classifier with a softmax and `mixed` is false.
inline bool fuses_output_layer(const std::vector<HeadSpec>& heads, bool mixed) {
  return heads.size() == 1 && heads[0].loss == LossKind::class_label && !heads[0].is_binary() &&
         !mixed;
}

class HeadLosses {
 public:
  /// train: as configured. mixed: like train, but classifiers learn the class probabilities that
  /// mixing writes to `target`; see sources/mixing/mixup_pass.h. evaluate: no smoothing; all
  /// weights (samples, labels, heads) are 1; self-supervised losses are left out, because they need
  /// masks or several views of a sample.
  enum class Mode : std::uint8_t { train, mixed, evaluate };

  /// Plans the losses for this rank's rows of a batch. `sources`: number of sources in the batch;
  /// `feeds`: the data that each head learns from; `gradient`: type of the output gradient. `heads`
  /// must outlive this object. Errors (config): a self-supervised loss for a batch shared by ranks.
  HeadLosses(const std::vector<HeadSpec>& heads, std::vector<HeadSources> feeds,
             std::int32_t sources, const Share& share, DType gradient, Mode mode,
             MemoryPlan& memory, const std::string& group);
  /// Uploads the target columns. Call after commit.
  void load(Stream& stream);

  /// Enqueues the losses of batch.size rows; the first row has index `first` in measures(). Fills
  /// measures() and the output gradient [batch.size, outputs]. `layer`: the network's last layer,
  /// if it runs together with the loss (see fuses_output_layer).
  void enqueue(Stream& stream, const BatchView& batch, const Slot* slots, const float* outputs,
               void* gradient, std::int64_t first = 0,
               const ops::OutputLayer* layer = nullptr) const;

  /// Losses and scores of each row, valid after enqueue().
  ops::Measures measures() const;
  const MeasureLayout& layout() const { return layout_; }
  /// Reports the results of each head on the samples of a source. `sums`: sums of measures().
  std::vector<HeadReport> report(const double* sums, int source) const;

 private:
  struct Regression {
    Planned<std::int32_t> column;
    Planned<float> shift, scale, level;
  };
  void enqueue_head(Stream& stream, std::size_t head, const BatchView& batch,
                    const ops::LossInput& in, void* gradient, std::int64_t first,
                    const ops::OutputLayer* layer) const;

  bool is_left_out(const HeadSpec& head) const {
    return mode_ == Mode::evaluate && head.is_self_supervised();
  }
  void plan_embedding(std::size_t head, MemoryPlan& memory, const std::string& group);

  const std::vector<HeadSpec>& heads_;
  std::vector<HeadSources> feeds_;
  MeasureLayout layout_;
  Share share_;
  std::int32_t width_ = 0;
  DType gradient_;
  Mode mode_;
  Planned<float> measures_;
  std::vector<Regression> regressions_;     ///< by head; empty for other losses
  std::vector<Planned<float>> embeddings_;  ///< by head: workspace of a self-supervised loss
};

}  // namespace wellspring
