// The outputs of a network, and its last layer where the loss runs it.
#include "kernels/ops/part_totals.h"
#include "train/network/network.h"

#include <algorithm>

namespace wellspring {

/// The loss runs at loss_time(). The layer's input must last until then; its input gradient and the
/// parts of its parameters' gradients begin to exist at that time.
void Network::plan_output_layer() {
  const PlannedNode& last = nodes_.back();
  const auto* dense = std::get_if<Dense>(&last.node.operation);
  const TensorShape& in = last.node.inputs[0].shape;
  if (dense == nullptr || last.node.inputs[0].value == 0 || in.positions() != 1 ||
      !dense->weights_of.empty() || !dense->bias)
    return;
  const bool shared = std::any_of(nodes_.begin(), nodes_.end(), [&](const PlannedNode& other) {
    const auto* layer = std::get_if<Dense>(&other.node.operation);
    return layer != nullptr && layer->weights_of == last.node.name;
  });
  if (shared || !ops::output_layer_fits(
                    {.rows = spec_.batch,
                     .in = in.channels,
                     .out = dense->width,
                     .activation = dense->relu ? ops::Activation::relu : ops::Activation::none,
                     .compute = spec_.compute}))
    return;
  loss_runs_output_ = true;
  use(activation_[static_cast<std::size_t>(last.node.inputs[0].value)], loss_time());
  if (last.backward) use(last.input_gradients[0].written, loss_time());
  if (!last.learns) return;
  const auto outputs = static_cast<std::size_t>(spec_.batch * dense->width);
  weight_parts_ =
      store("parts of the output layer's gradient",
            {outputs * static_cast<std::size_t>(in.channels) * sizeof(float)}, loss_time());
  bias_parts_ = store("parts of the output layer's bias", {outputs * sizeof(float)}, loss_time());
  use(weight_parts_, end_time());
  use(bias_parts_, end_time());
}

std::optional<ops::OutputLayer> Network::output_layer() const {
  if (!loss_runs_output_) return std::nullopt;
  const PlannedNode& last = nodes_.back();
  const Tensor& in = last.node.inputs[0];
  const int x = activation_[static_cast<std::size_t>(in.value)];
  return ops::OutputLayer{
      .in = in.shape.channels,
      .x = data(x, kWhole),
      .w = arena_->weight(last.parameters[0]),
      .bias = arena_->value(last.parameters[1]),
      .outputs = outputs(),
      .dx = last.backward ? data(last.input_gradients[0].written, kWhole) : nullptr,
      .weight_parts = static_cast<float*>(data(weight_parts_, kWhole)),
      .bias_parts = static_cast<float*>(data(bias_parts_, kWhole))};
}

/// Adds the parts of the trained parameters' gradients.
void Network::sum_output_layer(const Pass& pass, ops::PartTotals& later) const {
  const PlannedNode& last = nodes_.back();
  const auto& dense = std::get<Dense>(last.node.operation);
  const int parts[] = {weight_parts_, bias_parts_};
  const std::int32_t columns[] = {dense.width * last.node.inputs[0].shape.channels, dense.width};
  for (std::size_t k = 0; k < 2; ++k) {
    const ParameterTensor& tensor = arena_->tensor(last.parameters[k]);
    if (!last.learns || !trains(tensor)) continue;
    later.add(pass.stream, {.parts = static_cast<const float*>(data(parts[k], kWhole)),
                            .sums = arena_->gradient(last.parameters[k]),
                            .count = static_cast<std::int32_t>(spec_.batch),
                            .columns = columns[k],
                            .type = k == 0 ? spec_.compute : DType::f32});
  }
  accumulate(last, kWhole, pass);
}

float* Network::outputs() const {
  return static_cast<float*>(data(activation_[static_cast<std::size_t>(output_)], kWhole));
}

void* Network::output_gradient() const {
  return data(gradient_[static_cast<std::size_t>(output_)], kWhole);
}

const void* Network::input_gradient() const {
  return spec_.input_gradient ? data(gradient_[0], kWhole) : nullptr;
}

}  // namespace wellspring
