// Multi-head attention.
#include "kernels/ops/attention.h"

#include "train/network/layer.h"

#include <cstdint>
#include <memory>
#include <stdexcept>

namespace wellspring {
namespace {

class AttentionLayer : public Layer {
 public:
  AttentionLayer(const Attention& operation, LayerPlanner& planner) : masked_(operation.masked) {
    attention_ = ops::Attention::plan({.batch = planner.batch(),
                                       .tokens = planner.node().inputs[0].shape.width,
                                       .heads = operation.heads,
                                       .head_width = operation.head_width,
                                       .masked = operation.masked,
                                       .compute = planner.compute()},
                                      planner.stream());
    planner.workspace(attention_->workspace_bytes());
    planner.save(attention_->saved_bytes());
    planner.keep_input(0);
    planner.keep_output();
  }
  void forward(const LayerRun& run) override {
    attention_->forward(run.stream(), run.input[0], counts(run), run.output, run.saved[0],
                        run.workspace);
  }
  void backward(const LayerRun& run) override {
    attention_->backward(run.stream(), run.input[0], counts(run), run.output, run.output_gradient,
                         run.saved[0], run.input_gradient[0], run.workspace);
  }

 private:
  const std::int32_t* counts(const LayerRun& run) const {
    if (masked_ && run.pass.batch.count == nullptr)
      throw std::logic_error("attention among the items of sets: the batch has no counts");
    return masked_ ? run.pass.batch.count : nullptr;
  }

  bool masked_;
  std::unique_ptr<ops::Attention> attention_;
};

}  // namespace

std::unique_ptr<Layer> plan_layer(const Attention& operation, LayerPlanner& planner) {
  return std::make_unique<AttentionLayer>(operation, planner);
}

}  // namespace wellspring
