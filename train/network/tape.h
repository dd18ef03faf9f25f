// A network as a recorded list of operations. Models write the list, one line an operation, and
// everything else comes from it: the backward pass, memory, parameter names, the text that
// describes the network, and which operations run as one. Host only.
//
//     Tensor x = tape.conv(tape.input(), "conv1", {.channels = 64, .kernel = 7, .stride = 2});
//     x = tape.relu(tape.batch_norm(x, "bn1"));
//     x = tape.max_pool(x, {.window = 3, .stride = 2, .padding = 1});
//     ...
//     tape.head(tape.global_mean(x), "fc");
//
// A tensor may be read by several operations; their gradients are summed. Nothing runs while a
// tape is recorded: train/network/network.h makes a Network of it.
#pragma once

#include "kernels/batch/batch.h"
#include "train/network/parameters.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace wellspring {

/// Shape of one sample's tensor, channels fastest: an image, a vector of `channels` values, or a
/// set of `width` items (height 1) with `channels` features each.
struct TensorShape {
  int height = 1, width = 1, channels = 1;
  static constexpr TensorShape of(const SampleShape& shape) {
    return {shape.height, shape.width, shape.channels};
  }
  constexpr std::int64_t positions() const { return std::int64_t{height} * width; }
  constexpr std::int64_t elements() const { return positions() * channels; }
  friend bool operator==(const TensorShape&, const TensorShape&) = default;
};

/// What an operation reads or writes: a value of the tape and the shape in which it is looked at.
struct Tensor {
  int value = -1;
  TensorShape shape;
};

/// Square convolution with groups and dilation 1, without a bias where a normalisation follows.
struct ConvOptions {
  int channels = 1;
  int kernel = 3;
  int stride = 1;
  std::optional<int> padding = {};  ///< on each side; as it stands, kernel / 2
  bool bias = true;
  std::string weights_of = {};  ///< another convolution, whose parameters this one shares
};
/// y = x w^T + b over the channels of every position.
struct DenseOptions {
  int width = 1;
  bool bias = true;
  std::string weights_of = {};  ///< another dense layer, whose parameters this one shares
};
struct PoolOptions {
  int window = 2;
  int stride = 2;
  int padding = 0;  ///< on each side; never the largest
};
struct GroupNormOptions {
  int groups = 1;
  float epsilon = 1e-5f;  ///< Wu & He 2018
};
struct BatchNormOptions {
  float momentum = 0.1f;     ///< of the newest batch in the running statistics, as PyTorch
  float epsilon = 1e-5f;     ///< as PyTorch; Ioffe & Szegedy 2015 name none
  Init weight = Init::ones;  ///< zeros: a residual branch that begins as nothing
};
struct DropoutOptions {
  float rate = 0.5f;  ///< [0, 1): how many values become 0; Srivastava et al. 2014
};

/// The operations as they are recorded. What stands below "fused" is never recorded: it is set by
/// the peepholes of train/network/fusion.h.
struct Convolution : ConvOptions {
  int margin() const { return padding.value_or(kernel / 2); }
  // fused
  bool pool = false;  ///< then 2x2 max pooling
  bool relu = false;  ///< last
};
struct Dense : DenseOptions {
  bool head = false;  ///< makes the outputs, in f32
  // fused
  bool relu = false;
};
struct GroupNorm : GroupNormOptions {
  // fused; a second input is the residual that is added before the ReLU
  bool relu = false;
};
struct BatchNorm : BatchNormOptions {
  // fused, as GroupNorm
  bool relu = false;
};
struct MaxPool : PoolOptions {
  // fused
  bool relu = false;
};
struct Relu {};
struct Add {};
struct Concatenate {};
struct GlobalMean {};
struct Dropout : DropoutOptions {};
/// Over the items of a set that exist.
struct ItemPool {
  bool mean = true;  ///< else the sum
};
/// The columns beside the items, one vector a sample.
struct Globals {};

using Operation = std::variant<Convolution, Dense, GroupNorm, BatchNorm, MaxPool, Relu, Add,
                               Concatenate, GlobalMean, Dropout, ItemPool, Globals>;

struct Node {
  Operation operation;
  std::string name;  ///< its parameters are "name.weight", ...; "" where it has none
  std::vector<Tensor> inputs;
  Tensor output;
};

class Tape {
 public:
  /// `model` names the network in messages. Errors of all operations (config): shapes that do not
  /// fit. A misuse that no configuration can cause is a std::logic_error.
  Tape(std::string model, const SampleLayout& input, int outputs);

  const std::string& model() const { return model_; }
  /// The samples of the batch.
  Tensor input() const { return {0, TensorShape::of(input_.shape())}; }
  /// The columns beside the items of a set, [globals]. Error (config) where there are none.
  Tensor globals();
  bool has_globals() const { return input_.globals > 0; }

  Tensor conv(Tensor x, const std::string& name, ConvOptions options);
  Tensor dense(Tensor x, const std::string& name, DenseOptions options);
  /// The dense layer that makes the outputs, all heads side by side: the end of the list.
  void head(Tensor x, const std::string& name);
  Tensor group_norm(Tensor x, const std::string& name, GroupNormOptions options);
  Tensor batch_norm(Tensor x, const std::string& name, BatchNormOptions options = {});
  Tensor relu(Tensor x);
  Tensor add(Tensor a, Tensor b);
  /// The channels of `a`, then those of `b`.
  Tensor concatenate(Tensor a, Tensor b);
  Tensor max_pool(Tensor x, PoolOptions options = {});
  /// Mean over height and width.
  Tensor global_mean(Tensor x);
  /// Training sets values to 0 and divides the others by 1 - rate; evaluation changes nothing.
  /// `name` keys its random numbers.
  Tensor dropout(Tensor x, const std::string& name, DropoutOptions options);
  /// Over the items that exist, BatchView::count of them; 0 where there are none. Error (config):
  /// the samples are no sets.
  Tensor item_mean(Tensor x);
  Tensor item_sum(Tensor x);
  /// The same values as one vector a sample.
  static Tensor flatten(Tensor x) {
    return {x.value, {1, 1, static_cast<int>(x.shape.elements())}};
  }

  const SampleLayout& layout() const { return input_; }
  int outputs() const { return outputs_; }
  /// How many values there are, the input included.
  int values() const { return values_; }
  /// In the order in which they were recorded, which is one in which they can run. Error
  /// (std::logic_error) where the list has no head or a value that nothing reads.
  const std::vector<Node>& nodes() const;

 private:
  Tensor item_pool(Tensor x, bool mean);
  Tensor record(Operation operation, const std::string& name, std::vector<Tensor> inputs,
                TensorShape shape);
  [[noreturn]] void refuse(const std::string& what, const std::string& why) const;

  std::string model_;
  SampleLayout input_;
  int outputs_;
  int values_ = 1;
  std::optional<Tensor> globals_;
  std::vector<Node> nodes_;
};

/// The list as text: a line an operation with its inputs, shape and constants, then what each kind
/// of operation computes. Somebody can rebuild the forward pass from it and the parameters.
std::string describe(const Tape& tape);

}  // namespace wellspring
