#include "train/network/tape.h"

#include "core/error.h"
#include "core/text/plural.h"

#include <fmt/format.h>

#include <stdexcept>

namespace wellspring {
namespace {

std::string text(const TensorShape& shape) {
  if (shape.positions() == 1) return counted(shape.channels, "value");
  if (shape.height == 1)
    return counted(shape.width, "item") + " of " + counted(shape.channels, "feature");
  return fmt::format("an image of {}x{}x{}", shape.height, shape.width, shape.channels);
}

/// Number of windows along one side; 0 if none fits.
int windows(int side, int window, int stride, int padding) {
  const int room = side + 2 * padding - window;
  return room < 0 ? 0 : room / stride + 1;
}

/// Refuses samples that the network does not accept, and names the models that do.
[[noreturn]] void refuse_kind(const std::string& model, SampleKind kind, const char* why) {
  const char *samples = "images", *fitting = "cnn, resnet18 or mlp";
  if (kind == SampleKind::event) samples = "events", fitting = "mlp";
  if (kind == SampleKind::set) samples = "sets", fitting = "deepset or mlp";
  fail(ErrorKind::config, {fmt::format("model {}: the samples are {}", model, samples), why,
                           fmt::format("for {}, set model.name to {}", samples, fitting)});
}

}  // namespace

Tape::Tape(std::string model, const SampleLayout& input, int outputs)
    : model_(std::move(model)), input_(input), outputs_(outputs) {}

void Tape::refuse(const std::string& what, const std::string& why) const {
  fail(ErrorKind::config, {fmt::format("model {}: {}", model_, what), why,
                           "change the model's parameters or the size of the data"});
}

Tensor Tape::record(Operation operation, const std::string& name, std::vector<Tensor> inputs,
                    TensorShape shape) {
  const Tensor output{values_++, shape};
  nodes_.push_back({std::move(operation), name, std::move(inputs), output});
  return output;
}

Tensor Tape::globals() {
  if (!has_globals())
    refuse("the samples have no global columns",
           "this network reads values that describe whole sets");
  if (!globals_) globals_ = record(Globals{}, "", {}, {1, 1, input_.globals});
  return *globals_;
}

Tensor Tape::conv(Tensor x, const std::string& name, ConvOptions options) {
  if (input_.kind != SampleKind::image) refuse_kind(model_, input_.kind, "it convolves images");
  Convolution operation;
  static_cast<ConvOptions&>(operation) = options;
  const auto side = [&](int in) {
    return windows(in, options.kernel, options.stride, operation.margin());
  };
  const TensorShape shape{side(x.shape.height), side(x.shape.width), options.channels};
  if (shape.positions() == 0)
    refuse(fmt::format("convolution '{}' does not fit {}", name, text(x.shape)),
           fmt::format("its kernel is {0}x{0}", options.kernel));
  return record(operation, name, {x}, shape);
}

Tensor Tape::dense(Tensor x, const std::string& name, DenseOptions options) {
  Dense operation;
  static_cast<DenseOptions&>(operation) = options;
  return record(operation, name, {x}, {x.shape.height, x.shape.width, options.width});
}

void Tape::head(Tensor x, const std::string& name) {
  Dense operation;
  operation.width = outputs_;
  operation.head = true;
  record(operation, name, {flatten(x)}, {1, 1, outputs_});
}

Tensor Tape::group_norm(Tensor x, const std::string& name, GroupNormOptions options) {
  if (options.groups < 1 || x.shape.channels % options.groups != 0)
    refuse(fmt::format("group norm '{}': {} in {}", name, counted(x.shape.channels, "channel"),
                       counted(options.groups, "group")),
           "all groups must have the same number of channels");
  GroupNorm operation;
  static_cast<GroupNormOptions&>(operation) = options;
  return record(operation, name, {x}, x.shape);
}

Tensor Tape::batch_norm(Tensor x, const std::string& name, BatchNormOptions options) {
  BatchNorm operation;
  static_cast<BatchNormOptions&>(operation) = options;
  return record(operation, name, {x}, x.shape);
}

Tensor Tape::relu(Tensor x) {
  return record(Relu{}, "", {x}, x.shape);
}

Tensor Tape::add(Tensor a, Tensor b) {
  if (!(a.shape == b.shape))
    refuse(fmt::format("cannot add {} and {}", text(a.shape), text(b.shape)),
           "both must have the same shape");
  return record(Add{}, "", {a, b}, a.shape);
}

Tensor Tape::concatenate(Tensor a, Tensor b) {
  if (a.shape.height != b.shape.height || a.shape.width != b.shape.width)
    refuse(fmt::format("cannot concatenate {} and {}", text(a.shape), text(b.shape)),
           "both must have the same height and width");
  return record(Concatenate{}, "", {a, b},
                {a.shape.height, a.shape.width, a.shape.channels + b.shape.channels});
}

Tensor Tape::max_pool(Tensor x, PoolOptions options) {
  const auto side = [&](int in) {
    return windows(in, options.window, options.stride, options.padding);
  };
  const TensorShape shape{side(x.shape.height), side(x.shape.width), x.shape.channels};
  if (shape.positions() == 0)
    refuse(fmt::format("max pooling does not fit {}", text(x.shape)),
           fmt::format("its window is {0}x{0}", options.window));
  MaxPool operation;
  static_cast<PoolOptions&>(operation) = options;
  return record(operation, "", {x}, shape);
}

Tensor Tape::global_mean(Tensor x) {
  return record(GlobalMean{}, "", {x}, {1, 1, x.shape.channels});
}

Tensor Tape::dropout(Tensor x, const std::string& name, DropoutOptions options) {
  Dropout operation;
  static_cast<DropoutOptions&>(operation) = options;
  return record(operation, name, {x}, x.shape);
}

Tensor Tape::item_mean(Tensor x) {
  return item_pool(x, true);
}

Tensor Tape::item_sum(Tensor x) {
  return item_pool(x, false);
}

Tensor Tape::item_pool(Tensor x, bool mean) {
  if (input_.kind != SampleKind::set)
    refuse_kind(model_, input_.kind, "it pools over the items of sets");
  return record(ItemPool{mean}, "", {x}, {1, 1, x.shape.channels});
}

const std::vector<Node>& Tape::nodes() const {
  const auto* last = nodes_.empty() ? nullptr : std::get_if<Dense>(&nodes_.back().operation);
  if (last == nullptr || !last->head)
    throw std::logic_error("model " + model_ + ": the list does not end with a head");
  std::vector<bool> read(static_cast<std::size_t>(values_), false);
  for (const Node& node : nodes_)
    for (const Tensor& input : node.inputs) read.at(static_cast<std::size_t>(input.value)) = true;
  for (int value = 0; value + 1 < values_; ++value)
    if (!read[static_cast<std::size_t>(value)])
      throw std::logic_error(fmt::format("model {}: nothing reads value {}", model_, value));
  return nodes_;
}

}  // namespace wellspring
