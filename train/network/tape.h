// A network as a recorded list of operations, one line per operation. Everything else follows from
// the list: the backward pass, memory, parameter names, the description of the network, and fused
// operations. Called by models; host only.
//
//     Tensor x = tape.conv(tape.input(), "conv1", {.channels = 64, .kernel = 7, .stride = 2});
//     x = tape.relu(tape.batch_norm(x, "bn1"));
//     x = tape.max_pool(x, {.window = 3, .stride = 2, .padding = 1});
//     ...
//     tape.head(tape.global_mean(x), "fc");
//
// Several operations may read a tensor; their gradients are summed. Nothing runs while a tape is
// recorded: Network (train/network/network.h) plans and runs it.
#pragma once

#include "kernels/batch/batch.h"
#include "train/network/parameters.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace wellspring {

/// Shape of a tensor per sample, channels fastest: an image, a vector of `channels` values, or a
/// row (height 1) of `width` items or tokens with `channels` features each.
struct TensorShape {
  int height = 1, width = 1, channels = 1;
  static constexpr TensorShape of(const SampleShape& shape) {
    return {shape.height, shape.width, shape.channels};
  }
  constexpr std::int64_t positions() const { return std::int64_t{height} * width; }
  constexpr std::int64_t elements() const { return positions() * channels; }
  friend bool operator==(const TensorShape&, const TensorShape&) = default;
};

/// Operand or result of an operation: a value of the tape, viewed with a given shape.
struct Tensor {
  int value = -1;
  TensorShape shape;
};

/// A learned tensor that is not the weight of a layer, such as class tokens, positions or channel
/// factors. It is stored in f32 and has no weight decay unless a rule gives it one.
struct Parameter {
  std::string name;                 ///< its full name in files: "cls_token"
  std::vector<std::int64_t> shape;  ///< in files, where leading 1s are customary
  Init initial = Init::zeros;
};

/// Square convolution with one group and dilation 1. A normalisation after it makes the bias
/// redundant.
struct ConvOptions {
  int channels = 1;
  int kernel = 3;
  int stride = 1;
  std::optional<int> padding = {};  ///< on each side; default kernel / 2
  bool bias = true;
  Init weight = Init::he_normal;  ///< initialisation; the default suits a ReLU that follows
  std::string weights_of = {};    ///< name of a convolution whose parameters this one shares
};
/// Convolves each channel with its own kernel. The stride is 1, so the output has the size of the
/// input.
struct DepthwiseOptions {
  int kernel = 7;  ///< 3, 5 or 7
  bool bias = true;
  Init weight = Init::he_normal;
};
/// y = x w^T + b over the channels of every position.
struct DenseOptions {
  int width = 1;
  bool bias = true;
  Init weight = Init::lecun_normal;  ///< initialisation; use he_normal before a ReLU
  std::string weights_of = {};       ///< name of a dense layer whose parameters this one shares
};
struct PoolOptions {
  int window = 2;
  int stride = 2;
  int padding = 0;  ///< on each side; never taken as the maximum
};
struct GroupNormOptions {
  int groups = 1;
  float epsilon = 1e-5f;  ///< Wu & He 2018
};
struct BatchNormOptions {
  float momentum =
      0.1f;  ///< weight of the newest batch in the running statistics; PyTorch's default
  float epsilon = 1e-5f;     ///< PyTorch's default; Ioffe & Szegedy 2015 give no value
  Init weight = Init::ones;  ///< initialisation; with zeros, a residual branch starts at 0
};
struct LayerNormOptions {
  float epsilon = 1e-6f;  ///< as in timm's vision transformers
};
struct AttentionOptions {
  int heads = 1;
};
struct DropPathOptions {
  float rate = 0.1f;  ///< [0, 1): probability that a sample skips the branch; Huang et al. 2016
};
struct DropoutOptions {
  float rate = 0.5f;  ///< [0, 1): probability that a value becomes 0; Srivastava et al. 2014
};

/// An output that the heads of a run read.
struct OutputSpec {
  std::string name;
  int width = 1;                 ///< values of all its heads, per vector
  bool dense = false;            ///< one vector per pixel of the image or item of the set
  std::vector<int> hidden = {};  ///< widths of the hidden layers before the output layer
  int patches = 0;               ///< number of patches with one vector each; 0: no patches
};
/// The usual outputs: one vector per sample, per pixel, per item, and per patch.
inline constexpr const char *kSampleOutput = "sample", *kPixelOutput = "pixels",
                            *kItemOutput = "items", *kPatchOutput = "patches";

struct HeadOptions {
  std::string output = kSampleOutput;
  Init weight = Init::lecun_normal;
};

/// Recorded operations. Only train/network/fusion.h sets the members after "fused".
struct Convolution : ConvOptions {
  int margin() const { return padding.value_or(kernel / 2); }
  // fused
  bool pool = false;  ///< 2x2 max pooling after the convolution
  bool relu = false;  ///< after the pooling
};
struct Dense : DenseOptions {
  std::string output = {};  ///< name of the output that it writes, in f32; "": no output
  // fused
  bool relu = false;
};
struct DepthwiseConvolution : DepthwiseOptions {};
struct GroupNorm : GroupNormOptions {
  // fused; a second input is the residual, added before the ReLU
  bool relu = false;
  bool pool = false, pool_relu = false;  ///< 2x2 max pooling of the input
  bool mean = false;                     ///< the output is the mean over the pixels, after the ReLU
};
struct BatchNorm : BatchNormOptions {
  // fused, as GroupNorm
  bool relu = false;
};
struct MaxPool : PoolOptions {
  // fused
  bool relu = false;
};
struct LayerNorm : LayerNormOptions {};
struct Upsample {};
struct Relu {};
struct Gelu {};
struct Silu {};
struct Add {};
/// Multi-head self-attention; the channels of its input are queries, keys and values.
struct Attention : AttentionOptions {
  int head_width = 1;
  bool masked = false;  ///< tokens are the items of a set; absent items are not keys
};
struct AddParameter {
  Parameter values;
};
struct ScaleChannels {
  Parameter factors;
};
struct PrependTokens {
  Parameter tokens;
};
struct SelectTokens {
  int first = 0;
};
struct DropPath : DropPathOptions {};
struct Concatenate {};
/// The values of a, then the values of b: outputs in f32.
struct JoinOutputs {};
/// The same values as an output in f32.
struct AsOutput {};
struct GlobalMean {};
struct Dropout : DropoutOptions {};
/// Pooling over the existing items of a set.
struct ItemPool {
  bool mean = true;  ///< false: sum
};
/// The global columns of the set: one vector per sample.
struct Globals {};

using Operation =
    std::variant<Convolution, DepthwiseConvolution, Dense, GroupNorm, BatchNorm, LayerNorm, MaxPool,
                 Relu, Gelu, Silu, Add, Concatenate, JoinOutputs, AsOutput, Upsample, GlobalMean,
                 Dropout, DropPath, Attention, AddParameter, ScaleChannels, PrependTokens,
                 SelectTokens, ItemPool, Globals>;

struct Node {
  Operation operation;
  std::string name;  ///< prefix of its parameters: "name.weight"; "" without parameters
  std::vector<Tensor> inputs;
  Tensor output;
  int block = 0;  ///< see Tape::begin_block
};

class Tape {
 public:
  /// `model`: name of the network in messages. All operations throw Error (config) for shapes that
  /// do not fit, and std::logic_error for misuse that no configuration can cause.
  Tape(std::string model, const SampleLayout& input, std::vector<OutputSpec> outputs);
  /// The same with one output per sample.
  Tape(std::string model, const SampleLayout& input, int width)
      : Tape(std::move(model), input, {OutputSpec{kSampleOutput, width}}) {}

  const std::string& model() const { return model_; }
  /// Error (config) unless the samples have this kind; `why`: "it pools over the items of sets".
  void require(SampleKind kind, const char* why) const;
  /// The samples of the batch.
  Tensor input() const { return {0, TensorShape::of(input_.shape())}; }
  /// The global columns of the set, [globals]. Error (config) if the samples have none.
  Tensor globals();
  bool has_globals() const { return input_.globals > 0; }

  /// Begins the next block: a part of the network between input and output whose parameters have
  /// the same learning rate under layer-wise decay. The operations before the first call are block
  /// 0, and the output layers are the last block.
  void begin_block() { ++block_; }

  Tensor conv(Tensor x, const std::string& name, ConvOptions options);
  Tensor depthwise_conv(Tensor x, const std::string& name, DepthwiseOptions options = {});
  Tensor dense(Tensor x, const std::string& name, DenseOptions options);
  /// True if a head reads the output called `name`. A model that offers several outputs records
  /// only the wanted ones.
  bool wants(const std::string& name);
  /// The dense layer of an output, for all heads that read it. A hidden layer of the output is a
  /// dense layer, a batch norm and a ReLU. The operations end with the last output.
  void head(Tensor x, const std::string& name, const HeadOptions& options = {});
  /// Appends the values of a layer to the outputs, and returns their shape. `layer`: its name; a
  /// prefix of names, such as "layer2" or "blocks.3", for the end of that part, including the
  /// activation and residual that follow; or "" for the input of the first output's layers. Called
  /// after the model has recorded everything. Error (config), with close names: no such layer.
  TensorShape append_features(const std::string& layer);
  Tensor group_norm(Tensor x, const std::string& name, GroupNormOptions options);
  Tensor batch_norm(Tensor x, const std::string& name, BatchNormOptions options = {});
  /// Normalises the channels of every position.
  Tensor layer_norm(Tensor x, const std::string& name, LayerNormOptions options = {});
  Tensor relu(Tensor x);
  Tensor gelu(Tensor x);
  Tensor silu(Tensor x);
  Tensor add(Tensor a, Tensor b);
  /// Adds the same values, as many as a sample has elements, to every sample.
  Tensor add(Tensor x, const Parameter& values);
  /// Multiplies each channel by its factor [channels].
  Tensor scale(Tensor x, const Parameter& factors);
  /// The channels of `a`, then the channels of `b`.
  Tensor concatenate(Tensor a, Tensor b);
  Tensor max_pool(Tensor x, PoolOptions options = {});
  /// Doubles height and width: each value is repeated in 2x2 pixels.
  Tensor upsample(Tensor x);
  /// Mean over height and width.
  Tensor global_mean(Tensor x);
  /// The positions of an image, row by row, as tokens.
  static Tensor tokens(Tensor x) {
    return {x.value, {1, static_cast<int>(x.shape.positions()), x.shape.channels}};
  }
  /// Puts learned tokens [tokens, channels] before the tokens of x.
  Tensor prepend(const Parameter& tokens, Tensor x);
  /// Tokens [first, first + count).
  Tensor select(Tensor x, int first, int count);
  /// Attention among the tokens of a sample: [tokens, 3 * width] -> [tokens, width]. The channels
  /// of x are the queries of all heads, then their keys, then their values. If the tokens are the
  /// items of a set, absent items take no part.
  Tensor attention(Tensor x, AttentionOptions options);
  /// Stochastic depth: training multiplies all values of a sample by 0 or by 1 / (1 - rate);
  /// evaluation changes nothing. `name` keys the random numbers.
  Tensor drop_path(Tensor x, const std::string& name, DropPathOptions options);
  /// Training sets values to 0 at random and divides the others by 1 - rate; evaluation changes
  /// nothing. `name` keys the random numbers.
  Tensor dropout(Tensor x, const std::string& name, DropoutOptions options);
  /// Mean or sum over the existing items (BatchView::count); 0 for an empty set. Error (config) if
  /// the samples are not sets.
  Tensor item_mean(Tensor x);
  Tensor item_sum(Tensor x);
  /// The same values, as one vector per sample.
  static Tensor flatten(Tensor x) {
    return {x.value, {1, 1, static_cast<int>(x.shape.elements())}};
  }

  const SampleLayout& layout() const { return input_; }
  /// Number of values per sample in all outputs, concatenated in the constructor's order.
  int outputs() const;
  /// Number of values, including the input.
  int values() const { return values_; }
  /// The nodes in recording order, which is a valid execution order. Errors: config if the model
  /// does not have an output; std::logic_error if no operation reads a value.
  const std::vector<Node>& nodes() const;

 private:
  Tensor item_pool(Tensor x, bool mean);
  Tensor hidden_layers(Tensor x, const std::string& name, const std::vector<int>& widths);
  Tensor record(Operation operation, const std::string& name, std::vector<Tensor> inputs,
                TensorShape shape);
  Tensor features_of(const std::string& layer) const;
  /// Errors (std::logic_error): a different number of elements; x is not a row of tokens.
  void expect_elements(const Parameter& parameter, std::int64_t wanted) const;
  void expect_tokens(Tensor x) const;
  [[noreturn]] void refuse(const std::string& what, const std::string& why) const;

  std::string model_;
  SampleLayout input_;
  std::vector<OutputSpec> outputs_;
  std::vector<std::optional<Tensor>> written_;  ///< by output
  std::vector<std::string> offered_;            ///< names of the outputs that the model has
  int values_ = 1, block_ = 0;
  std::optional<Tensor> globals_, features_;  ///< features_: input of the first output
  std::vector<Node> nodes_;
};

/// The list as text: one line per operation with inputs, shape and constants, then a definition of
/// each kind of operation. Together with the parameters, the text suffices to rebuild the forward
/// pass.
std::string describe(const Tape& tape);

}  // namespace wellspring
