#include "kernels/batch/batch_columns.h"
#include "train/network/layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

namespace wellspring {

ParameterTensor LayerPlanner::tensor(const std::string& layer, const std::string& name) const {
  ParameterTensor tensor;
  tensor.name = layer + "." + name;
  if (const auto* dense = std::get_if<Dense>(&node_.operation)) tensor.output = dense->output;
  return tensor;
}

void LayerPlanner::matrix(const std::string& layer, const std::string& name, TensorLayout layout,
                          std::vector<std::int64_t> shape, Init initial) {
  ParameterTensor asked = tensor(layer, name);
  asked.layout = layout;
  asked.shape = std::move(shape);
  asked.initial = initial;
  registered(layer, asked);
}

void LayerPlanner::registered(const std::string& layer, const ParameterTensor& asked) {
  const bool own = layer == node_.name && !again_;
  ParameterTensor placed = asked;
  placed.block = node_.block;
  parameters_.push_back(own ? arena_.add(std::move(placed)) : arena_.find(asked));
}

bool LayerPlanner::learns() const {
  return std::ranges::any_of(
      parameters_, [this](ParameterId id) { return arena_.tensor(id).trained_at(step_); });
}

void LayerPlanner::vector(const std::string& layer, const std::string& name, std::int64_t n,
                          Init initial) {
  matrix(layer, name, TensorLayout::vector, {n}, initial);
}

void LayerPlanner::parameter(const Parameter& parameter) {
  ParameterTensor asked;
  asked.name = parameter.name;
  asked.shape = parameter.shape;
  asked.initial = parameter.initial;
  registered(node_.name, asked);
}

void LayerPlanner::buffer(const std::string& layer, const std::string& name, std::int64_t n,
                          Init initial) {
  ParameterTensor asked = tensor(layer, name);
  asked.layout = TensorLayout::vector;
  asked.shape = {n};
  asked.initial = initial;
  asked.kind = TensorKind::buffer;
  registered(layer, asked);
}

std::unique_ptr<Layer> make_layer(LayerPlanner& planner) {
  const Node& node = planner.node();
  expect_countable(fmt::format("the output of layer '{}'", node.name), node.output.shape.elements(),
                   "use smaller images or fewer channels");
  return std::visit([&](const auto& operation) { return plan_layer(operation, planner); },
                    node.operation);
}

}  // namespace wellspring
