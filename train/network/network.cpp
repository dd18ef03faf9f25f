#include "train/network/network.h"

#include "core/counted.h"
#include "core/error.h"
#include "train/network/fusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

namespace wellspring {
namespace {

std::size_t index(int i) {
  return static_cast<std::size_t>(i);
}

std::string label_of(const Node& node) {
  return node.name.empty() ? fmt::format("value {}", node.output.value) : node.name;
}

bool is_output(const Node& node) {
  const auto* dense = std::get_if<Dense>(&node.operation);
  return dense != nullptr && dense->head;
}

}  // namespace

Network::Network(const Tape& tape, const NetworkSpec& spec, const Stream& stream,
                 MemoryPlan& memory)
    : spec_(spec) {
  const auto values = index(tape.values());
  activation_.assign(values, kNone);
  gradient_.assign(values, kNone);
  learns_.assign(values, false);
  learns_[0] = spec.input_gradient;
  for (Node& node : fuse(tape.nodes())) steps_.push_back({std::move(node), {}, {}, {}, {}, {}});
  output_ = steps_.back().node.output.value;
  plan_forward(stream);
  plan_backward();
  reserve(memory);
}

// ---------------------------------------------------------------------------------------------
// Planning. Moments are numbered: step i runs forwards at i, the loss follows, and step i runs
// backwards at backward_time(i).

std::size_t Network::bytes_of(const TensorShape& shape, DType type) const {
  return static_cast<std::size_t>(spec_.batch * shape.elements()) * size_of(type);
}

int Network::store(std::string name, std::size_t bytes, int time) {
  stored_.push_back({std::move(name), {bytes, time, time}, 0});
  return static_cast<int>(stored_.size()) - 1;
}

void Network::use(int stored, int time) {
  if (stored == kNone) return;
  Lifetime& life = stored_[index(stored)].life;
  life.first = std::min(life.first, time);
  life.last = std::max(life.last, time);
}

void Network::plan_forward(const Stream& stream) {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    const int now = forward_time(i), then = backward_time(i);
    std::vector<bool> wanted;
    for (const Tensor& input : step.node.inputs) wanted.push_back(learns_[index(input.value)]);
    LayerPlanner planner(step.node, arena_, stream, spec_.batch, spec_.compute, spec_.seed, wanted);
    step.layer = make_layer(planner);
    step.parameters = planner.parameters();
    const bool has_weights =
        std::any_of(step.parameters.begin(), step.parameters.end(),
                    [this](ParameterId id) { return arena_.tensor(id).trained(); });
    step.backward = has_weights || std::find(wanted.begin(), wanted.end(), true) != wanted.end();
    learns_[index(step.node.output.value)] = step.backward;
    workspace_bytes_ = std::max(workspace_bytes_, planner.workspace_bytes());

    const DType type = is_output(step.node) ? DType::f32 : spec_.compute;
    const int output = store(label_of(step.node), bytes_of(step.node.output.shape, type), now);
    activation_[index(step.node.output.value)] = output;
    for (std::size_t k = 0; k < step.node.inputs.size(); ++k) {
      const int input = activation_[index(step.node.inputs[k].value)];
      use(input, now);
      if (step.backward && planner.keeps_input(k)) use(input, then);
    }
    if (step.backward && planner.keeps_output()) use(output, then);
    for (const std::size_t bytes : planner.saved()) {
      step.saved.push_back(store(label_of(step.node) + " for backward", bytes, now));
      if (step.backward) use(step.saved.back(), then);
    }
  }
  use(activation_[index(output_)], end_time());
}

void Network::plan_backward() {
  gradient_[index(output_)] =
      store("gradient of the outputs", bytes_of(steps_.back().node.output.shape, spec_.compute),
            loss_time());
  std::map<int, bool> parameter_written;
  for (std::size_t i = steps_.size(); i-- > 0;) {
    Step& step = steps_[i];
    if (!step.backward) continue;
    const int now = backward_time(i);
    const std::string name = label_of(step.node);
    const int arriving = gradient_[index(step.node.output.value)];
    if (arriving == kNone) throw std::logic_error(name + ": no gradient arrives");
    use(arriving, now);
    for (const Tensor& input : step.node.inputs) {
      Target target;
      if (learns_[index(input.value)]) {
        int& gradient = gradient_[index(input.value)];
        target.written =
            store("gradient before " + name, bytes_of(input.shape, spec_.compute), now);
        // Of several readers, the last in the list is the first to write.
        if (gradient == kNone) {
          gradient = target.written;
        } else {
          target.added_to = gradient;
          use(gradient, now);
        }
      }
      step.input_gradients.push_back(target);
    }
    for (const ParameterId id : step.parameters) {
      Target target;
      const ParameterTensor& tensor = arena_.tensor(id);
      if (tensor.trained() && !parameter_written.emplace(id.index, true).second) {
        const DType type = tensor.layout == TensorLayout::vector ? DType::f32 : spec_.compute;
        target.written = store("gradient of " + tensor.name + " again",
                               static_cast<std::size_t>(tensor.elements()) * size_of(type), now);
      }
      step.parameter_gradients.push_back(target);
    }
  }
  if (spec_.input_gradient) use(gradient_[0], end_time());
}

void Network::reserve(MemoryPlan& memory) {
  std::vector<Lifetime> lives;
  for (const Stored& stored : stored_) lives.push_back(stored.life);
  const BlockAssignment assignment = assign_blocks(lives);
  for (std::size_t block = 0; block < assignment.block_bytes.size(); ++block)
    blocks_.push_back(memory.reserve<std::byte>("activations", fmt::format("block {}", block),
                                                assignment.block_bytes[block]));
  for (std::size_t i = 0; i < stored_.size(); ++i) stored_[i].block = assignment.block_of[i];
  if (workspace_bytes_ > 0)
    workspace_ = memory.reserve<std::byte>("workspace", "of one operation", workspace_bytes_);
}

std::string Network::memory_summary() const {
  constexpr double kMiB = 1 << 20;
  std::size_t apart = 0, together = 0;
  for (const Stored& stored : stored_) apart += stored.life.bytes;
  for (const Planned<std::byte>& block : blocks_) together += block.bytes();
  return fmt::format("{} of {:.1f} MiB in {} of {:.1f} MiB", counted(stored_.size(), "tensor"),
                     static_cast<double>(apart) / kMiB, counted(blocks_.size(), "block"),
                     static_cast<double>(together) / kMiB);
}

// ---------------------------------------------------------------------------------------------
// Running

void* Network::data(int stored) const {
  return stored == kNone ? nullptr : blocks_[stored_[index(stored)].block].data();
}

LayerRun Network::run_of(const Step& step, const Pass& pass) const {
  LayerRun run{pass, arena_, step.parameters, {}, nullptr, {}, {}, nullptr, {}, {}};
  for (const Tensor& input : step.node.inputs)
    run.input.push_back(input.value == 0 ? pass.batch.x : data(activation_[index(input.value)]));
  run.output = data(activation_[index(step.node.output.value)]);
  for (const int saved : step.saved) run.saved.push_back(data(saved));
  run.workspace = {workspace_.data(), workspace_.bytes()};
  return run;
}

void Network::forward(const Pass& pass) {
  for (const Step& step : steps_) step.layer->forward(run_of(step, pass));
}

void Network::backward(const Pass& pass) {
  for (std::size_t i = steps_.size(); i-- > 0;) {
    const Step& step = steps_[i];
    if (!step.backward) continue;
    LayerRun run = run_of(step, pass);
    run.output_gradient = data(gradient_[index(step.node.output.value)]);
    for (const Target& target : step.input_gradients)
      run.input_gradient.push_back(data(target.written));
    for (std::size_t k = 0; k < step.parameters.size(); ++k) {
      const int apart = step.parameter_gradients[k].written;
      run.parameter_gradient.push_back(apart == kNone ? arena_.gradient(step.parameters[k])
                                                      : data(apart));
    }
    step.layer->backward(run);
    accumulate(step, pass);
  }
}

void Network::accumulate(const Step& step, const Pass& pass) const {
  for (std::size_t k = 0; k < step.input_gradients.size(); ++k) {
    const Target& target = step.input_gradients[k];
    if (target.added_to == kNone) continue;
    ops::add(pass.stream, spec_.compute, spec_.batch * step.node.inputs[k].shape.elements(),
             data(target.written), data(target.added_to), data(target.added_to));
  }
  for (std::size_t k = 0; k < step.parameters.size(); ++k) {
    const int apart = step.parameter_gradients[k].written;
    if (apart == kNone) continue;
    const ParameterTensor& tensor = arena_.tensor(step.parameters[k]);
    void* sum = arena_.gradient(step.parameters[k]);
    ops::add(pass.stream, tensor.layout == TensorLayout::vector ? DType::f32 : spec_.compute,
             tensor.elements(), data(apart), sum, sum);
  }
}

const float* Network::outputs() const {
  return static_cast<const float*>(data(activation_[index(output_)]));
}

void* Network::output_gradient() const {
  return data(gradient_[index(output_)]);
}

const void* Network::input_gradient() const {
  return spec_.input_gradient ? data(gradient_[0]) : nullptr;
}

}  // namespace wellspring
