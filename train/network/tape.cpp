#include "train/network/tape.h"

#include "core/error.h"
#include "core/text/plural.h"
#include "core/text/text.h"

#include <fmt/format.h>

#include <algorithm>
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
  const char *samples = "images", *fitting = "cnn, resnet18, convnext, vit or mlp";
  if (kind == SampleKind::event) samples = "events", fitting = "mlp";
  if (kind == SampleKind::set) samples = "sets", fitting = "transformer, deepset or mlp";
  fail(ErrorKind::config, {fmt::format("model {}: the samples are {}", model, samples), why,
                           fmt::format("for {}, set model.name to {}", samples, fitting)});
}

}  // namespace

Tape::Tape(std::string model, const SampleLayout& input, std::vector<OutputSpec> outputs)
    : model_(std::move(model)),
      input_(input),
      outputs_(std::move(outputs)),
      written_(outputs_.size()) {}

int Tape::outputs() const {
  std::int64_t sum = 0;
  for (const OutputSpec& output : outputs_)
    sum += output.width * (output.patches > 0 ? output.patches
                           : output.dense     ? TensorShape::of(input_.shape()).positions()
                                              : 1);
  return static_cast<int>(sum);
}

void Tape::refuse(const std::string& what, const std::string& why) const {
  fail(ErrorKind::config, {fmt::format("model {}: {}", model_, what), why,
                           "change the model's parameters or the size of the data"});
}

Tensor Tape::record(Operation operation, const std::string& name, std::vector<Tensor> inputs,
                    TensorShape shape) {
  const Tensor output{values_++, shape};
  nodes_.push_back({std::move(operation), name, std::move(inputs), output, block_});
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
  require(SampleKind::image, "it convolves images");
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

Tensor Tape::depthwise_conv(Tensor x, const std::string& name, DepthwiseOptions options) {
  require(SampleKind::image, "it convolves images");
  return record(DepthwiseConvolution{options}, name, {x}, x.shape);
}

Tensor Tape::dense(Tensor x, const std::string& name, DenseOptions options) {
  Dense operation;
  static_cast<DenseOptions&>(operation) = options;
  return record(operation, name, {x}, {x.shape.height, x.shape.width, options.width});
}

bool Tape::wants(const std::string& name) {
  if (std::ranges::find(offered_, name) == offered_.end()) offered_.push_back(name);
  return std::ranges::find(outputs_, name, &OutputSpec::name) != outputs_.end();
}

Tensor Tape::hidden_layers(Tensor x, const std::string& name, const std::vector<int>& widths) {
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const std::string layer = fmt::format("{}.hidden{}", name, i + 1);
    const DenseOptions options = {.width = widths[i], .bias = false, .weight = Init::he_normal};
    x = relu(batch_norm(dense(x, layer, options), layer + ".norm"));
  }
  return x;
}

void Tape::head(Tensor x, const std::string& name, const HeadOptions& options) {
  if (!wants(options.output)) return;
  const auto k = static_cast<std::size_t>(
      std::ranges::find(outputs_, options.output, &OutputSpec::name) - outputs_.begin());
  const OutputSpec& output = outputs_[k];
  if (output.dense && x.shape.positions() != input().shape.positions())
    fail(ErrorKind::config,
         {fmt::format("model {}: output '{}' has {} instead of one vector per pixel or item",
                      model_, output.name, text(x.shape)),
          "its head learns each pixel or item", "remove `output` from the head"});
  if (output.patches > 0 && x.shape.positions() != output.patches)
    fail(ErrorKind::config,
         {fmt::format("model {}: output '{}' has {}, but mask_patches makes {} patches", model_,
                      output.name, text(x.shape), output.patches),
          "each vector predicts the pixels of one patch",
          "set mask_patches.patch to the number of pixels per vector of the model"});
  if (output.name == kPatchOutput && output.patches == 0)
    fail(ErrorKind::config,
         {fmt::format("model {}: output '{}' has one vector per patch", model_, output.name),
          "only loss masked_patches learns one", "remove `output` from the head"});
  if (!output.dense && (output.name == kPixelOutput || output.name == kItemOutput))
    fail(
        ErrorKind::config,
        {fmt::format("model {}: output '{}' has one vector per pixel or item", model_, output.name),
         "only loss pixel_class or item_regression learns one", "remove `output` from the head"});
  Dense operation;
  operation.width = output.width;
  operation.weight = options.weight;
  operation.output = output.name;
  if (!output.dense && output.patches == 0) x = flatten(x);
  if (!features_) features_ = x;
  x = hidden_layers(x, name, output.hidden);
  written_[k] = record(operation, name, {x}, {x.shape.height, x.shape.width, output.width});
  if (!std::ranges::all_of(written_, &std::optional<Tensor>::has_value)) return;
  Tensor all = flatten(*written_.front());
  for (std::size_t i = 1; i < written_.size(); ++i) {
    const Tensor next = flatten(*written_[i]);
    all = record(JoinOutputs{}, "", {all, next}, {1, 1, all.shape.channels + next.shape.channels});
  }
}

TensorShape Tape::append_features(const std::string& layer) {
  const Tensor found = features_of(layer), all = nodes().back().output;
  Tensor values = flatten(found);
  const auto writer =
      std::ranges::find(nodes_, found.value, [](const Node& node) { return node.output.value; });
  const auto* dense = writer == nodes_.end() ? nullptr : std::get_if<Dense>(&writer->operation);
  if (dense == nullptr || dense->output.empty())
    values = record(AsOutput{}, "", {values}, values.shape);
  record(JoinOutputs{}, "", {all, values}, {1, 1, all.shape.channels + values.shape.channels});
  return found.shape;
}

Tensor Tape::features_of(const std::string& layer) const {
  if (layer.empty()) return features_.value();
  const auto named = std::ranges::find(nodes_, layer, &Node::name);
  if (named != nodes_.end()) return named->output;
  const auto last = std::ranges::find_if(nodes_.rbegin(), nodes_.rend(), [&](const Node& node) {
    return node.name.starts_with(layer + ".");
  });
  if (last == nodes_.rend()) {
    std::vector<std::string> names;
    for (const Node& node : nodes_)
      if (!node.name.empty()) names.push_back(node.name);
    fail(ErrorKind::config,
         {fmt::format("model {}: it has no layer '{}'", model_, printable(layer)),
          fmt::format("`wellspring describe {}` lists its layers", model_),
          name_advice(layer, names)});
  }
  // An activation and a residual that directly follow belong to this part, as does a pooling before
  // its activation.
  const auto activates = [](const Node& node) {
    return std::holds_alternative<Relu>(node.operation) ||
           std::holds_alternative<Gelu>(node.operation) ||
           std::holds_alternative<Silu>(node.operation);
  };
  Tensor output = last->output;
  for (auto next = last.base(); next != nodes_.end(); ++next) {
    const bool pools = std::holds_alternative<MaxPool>(next->operation) &&
                       std::next(next) != nodes_.end() && activates(*std::next(next));
    if (!(activates(*next) || pools || std::holds_alternative<Add>(next->operation)) ||
        std::ranges::find(next->inputs, output.value, &Tensor::value) == next->inputs.end())
      break;
    output = next->output;
  }
  return output;
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

Tensor Tape::layer_norm(Tensor x, const std::string& name, LayerNormOptions options) {
  return record(LayerNorm{options}, name, {x}, x.shape);
}

Tensor Tape::relu(Tensor x) {
  return record(Relu{}, "", {x}, x.shape);
}

Tensor Tape::gelu(Tensor x) {
  return record(Gelu{}, "", {x}, x.shape);
}

Tensor Tape::silu(Tensor x) {
  return record(Silu{}, "", {x}, x.shape);
}

Tensor Tape::add(Tensor a, Tensor b) {
  if (!(a.shape == b.shape))
    refuse(fmt::format("cannot add {} and {}", text(a.shape), text(b.shape)),
           "both must have the same shape");
  return record(Add{}, "", {a, b}, a.shape);
}

void Tape::expect_elements(const Parameter& parameter, std::int64_t wanted) const {
  std::int64_t elements = 1;
  for (const std::int64_t extent : parameter.shape) elements *= extent;
  if (elements != wanted)
    throw std::logic_error(fmt::format("model {}: parameter '{}' has {} elements instead of {}",
                                       model_, parameter.name, elements, wanted));
}

Tensor Tape::add(Tensor x, const Parameter& values) {
  expect_elements(values, x.shape.elements());
  return record(AddParameter{values}, values.name, {x}, x.shape);
}

Tensor Tape::scale(Tensor x, const Parameter& factors) {
  expect_elements(factors, x.shape.channels);
  return record(ScaleChannels{factors}, factors.name, {x}, x.shape);
}

Tensor Tape::prepend(const Parameter& tokens, Tensor x) {
  expect_tokens(x);
  const auto extra = static_cast<int>(tokens.shape[tokens.shape.size() - 2]);
  expect_elements(tokens, std::int64_t{extra} * x.shape.channels);
  return record(PrependTokens{tokens}, tokens.name, {x},
                {1, x.shape.width + extra, x.shape.channels});
}

Tensor Tape::select(Tensor x, int first, int count) {
  expect_tokens(x);
  if (first < 0 || count < 1 || first + count > x.shape.width)
    throw std::logic_error(fmt::format("model {}: tokens [{}, {}) of {}", model_, first,
                                       first + count, x.shape.width));
  return record(SelectTokens{first}, "", {x}, {1, count, x.shape.channels});
}

Tensor Tape::attention(Tensor x, AttentionOptions options) {
  expect_tokens(x);
  const int width = x.shape.channels / 3;
  if (x.shape.channels % 3 != 0 || options.heads < 1 || width % options.heads != 0)
    refuse(fmt::format("attention: {} for queries, keys and values in {}",
                       counted(x.shape.channels, "channel"), counted(options.heads, "head")),
           "all heads must have the same width");
  Attention operation{options};
  operation.head_width = width / options.heads;
  operation.masked = input_.kind == SampleKind::set && x.shape.width == input_.items;
  return record(operation, "", {x}, {1, x.shape.width, width});
}

Tensor Tape::drop_path(Tensor x, const std::string& name, DropPathOptions options) {
  return record(DropPath{options}, name, {x}, x.shape);
}

void Tape::expect_tokens(Tensor x) const {
  if (x.shape.height != 1)
    throw std::logic_error(fmt::format("model {}: {} instead of tokens", model_, text(x.shape)));
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

Tensor Tape::upsample(Tensor x) {
  return record(Upsample{}, "", {x}, {2 * x.shape.height, 2 * x.shape.width, x.shape.channels});
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

void Tape::require(SampleKind kind, const char* why) const {
  if (input_.kind != kind) refuse_kind(model_, input_.kind, why);
}

Tensor Tape::item_pool(Tensor x, bool mean) {
  require(SampleKind::set, "it pools over the items of sets");
  return record(ItemPool{mean}, "", {x}, {1, 1, x.shape.channels});
}

const std::vector<Node>& Tape::nodes() const {
  for (std::size_t k = 0; k < outputs_.size(); ++k)
    if (!written_[k])
      fail(ErrorKind::config,
           {fmt::format("model {}: it has no output '{}'", model_, outputs_[k].name),
            fmt::format("its outputs are: {}", join(offered_)),
            outputs_[k].name == kPixelOutput
                ? "choose a model with an output per pixel, such as unet, or remove the head with "
                  "loss: pixel_class"
            : outputs_[k].name == kItemOutput
                ? "choose model transformer, or remove the head with loss: item_regression"
            : outputs_[k].name == kPatchOutput
                ? "choose a model with an output per patch, such as vit, or remove the head with "
                  "loss: masked_patches"
                : name_advice(outputs_[k].name, offered_)});
  std::vector<bool> read(static_cast<std::size_t>(values_), false);
  for (const Node& node : nodes_)
    for (const Tensor& input : node.inputs) read.at(static_cast<std::size_t>(input.value)) = true;
  for (int value = 0; value + 1 < values_; ++value)
    if (!read[static_cast<std::size_t>(value)])
      throw std::logic_error(fmt::format("model {}: nothing reads value {}", model_, value));
  return nodes_;
}

}  // namespace wellspring
