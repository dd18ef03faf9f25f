// Describes the recorded list of operations, and the memory of a planned network, as text.
#include "core/text/plural.h"
#include "train/network/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace wellspring {
namespace {

/// Text for an operation: its kind and constants, and the formula that it computes.
struct Words {
  std::string kind, constants, formula;
};

std::string with_bias(bool bias) {
  return bias ? "bias" : "no bias";
}

/// Origin of a layer's weights: another layer, or random numbers.
std::string weights(const Init& initial, const std::string& owner = "") {
  return owner.empty() ? fmt::format(", initially {}", initial.to_string())
                       : fmt::format(", weights of {}", owner);
}

struct WordsOf {
  Words operator()(const Convolution& c) const {
    return {"conv",
            fmt::format("{0}x{0}, stride {1}, padding {2}, {3}{4}", c.kernel, c.stride, c.margin(),
                        with_bias(c.bias), weights(c.weight, c.weights_of)),
            "y[p, q, k] = sum over r, s, c of x[p stride + r - padding, q stride + s - padding, c] "
            "weight[k, c, r, s] + bias[k]; x is 0 outside the image"};
  }
  Words operator()(const DepthwiseConvolution& c) const {
    return {"depthwise",
            fmt::format("{0}x{0}, stride 1, padding {1}, {2}{3}", c.kernel, c.kernel / 2,
                        with_bias(c.bias), weights(c.weight)),
            "y[p, q, c] = sum over r, s of x[p + r - padding, q + s - padding, c] weight[c, 0, r, "
            "s] + bias[c]; x is 0 outside the image"};
  }
  Words operator()(const Dense& d) const {
    return {d.output.empty() ? "dense" : "head",
            with_bias(d.bias) + weights(d.weight, d.weights_of) +
                (d.output.empty() || d.output == kSampleOutput ? "" : ", output " + d.output),
            "y = weight x + bias, over the channels of each position; a head reads all values of a "
            "sample in the order height, width, channel"};
  }
  Words operator()(const GroupNorm& g) const {
    return {"group_norm", fmt::format("{}, epsilon {:g}", counted(g.groups, "group"), g.epsilon),
            "y = weight (x - mean) / sqrt(variance + epsilon) + bias, with mean and biased "
            "variance over a sample's pixels and the (consecutive) channels of one group"};
  }
  Words operator()(const BatchNorm& b) const {
    return {"batch_norm", fmt::format("momentum {:g}, epsilon {:g}", b.momentum, b.epsilon),
            "y = weight (x - mean) / sqrt(variance + epsilon) + bias, per channel. "
            "Training uses mean and biased variance of the batch, and updates running_mean += "
            "momentum (mean - running_mean), likewise running_var with the unbiased variance. "
            "Evaluation uses the running statistics"};
  }
  Words operator()(const MaxPool& p) const {
    return {"max_pool",
            fmt::format("{0}x{0}, stride {1}, padding {2}", p.window, p.stride, p.padding),
            "the largest value of each window within the image"};
  }
  Words operator()(const LayerNorm& n) const {
    return {"layer_norm", fmt::format("epsilon {:g}", n.epsilon),
            "y = weight (x - mean) / sqrt(variance + epsilon) + bias, with mean and biased "
            "variance over the channels of each position"};
  }
  Words operator()(const Relu&) const { return {"relu", "", "y = max(x, 0)"}; }
  Words operator()(const Gelu&) const { return {"gelu", "", "y = x (1 + erf(x / sqrt(2))) / 2"}; }
  Words operator()(const Silu&) const { return {"silu", "", "y = x / (1 + exp(-x))"}; }
  Words operator()(const Add&) const { return {"add", "", "y = a + b"}; }
  Words operator()(const AddParameter&) const {
    return {"add_values", "", "y = x + the parameter, the same for every sample"};
  }
  Words operator()(const ScaleChannels&) const {
    return {"scale", "", "y[.., c] = x[.., c] parameter[c]"};
  }
  Words operator()(const PrependTokens&) const {
    return {"prepend", "", "the tokens of the parameter, then the tokens of x"};
  }
  Words operator()(const SelectTokens& s) const {
    return {"select", fmt::format("from token {}", s.first), "consecutive tokens of x"};
  }
  Words operator()(const Attention& a) const {
    return {"attention",
            fmt::format("{} of width {}{}", counted(a.heads, "head"), a.head_width,
                        a.masked ? ", masked" : ""),
            "the channels of x are q, k and v, each [head, width]; per head y = softmax(q k^T / "
            "sqrt(width)) v over the tokens of a sample. Masked: items that a set does not have "
            "are not keys, and their y is 0"};
  }
  Words operator()(const DropPath& d) const {
    return {"drop_path", fmt::format("rate {:g}", d.rate),
            "training: all values of a sample are 0 with probability rate, otherwise x / (1 - "
            "rate); evaluation: x"};
  }
  Words operator()(const Concatenate&) const {
    return {"concatenate", "", "the channels of a, then the channels of b"};
  }
  Words operator()(const Upsample&) const {
    return {"upsample", "", "y[p, q] = x[p / 2, q / 2], rounded down"};
  }
  Words operator()(const JoinOutputs&) const {
    return {"join", "", "the outputs a, then the outputs b"};
  }
  Words operator()(const AsOutput&) const { return {"output", "", "y = x, in f32"}; }
  Words operator()(const GlobalMean&) const {
    return {"global_mean", "", "the mean over height and width, per channel"};
  }
  Words operator()(const Dropout& d) const {
    return {"dropout", fmt::format("rate {:g}", d.rate),
            "training: 0 with probability rate, otherwise x / (1 - rate); evaluation: x"};
  }
  Words operator()(const ItemPool& p) const {
    if (p.mean)
      return {"item_mean", "", "the mean over the existing items of a set; 0 for an empty set"};
    return {"item_sum", "", "the sum over the existing items of a set"};
  }
  Words operator()(const Globals&) const {
    return {"globals", "", "the global columns of the sets"};
  }
};

std::string text(const TensorShape& shape) {
  if (shape.positions() == 1) return std::to_string(shape.channels);
  if (shape.height == 1) return fmt::format("{}x{}", shape.width, shape.channels);  // a set
  return fmt::format("{}x{}x{}", shape.height, shape.width, shape.channels);
}

}  // namespace

std::string describe(const Tape& tape) {
  std::string lines = fmt::format("  {:>3}  {:<12}{:<26}{:<12}{:<12}\n", 0, "input", "", "",
                                  text(tape.input().shape));
  std::vector<std::pair<std::string, std::string>> formulas;
  for (const Node& node : tape.nodes()) {
    const Words words = std::visit(WordsOf{}, node.operation);
    std::string from;
    for (const Tensor& input : node.inputs)
      from += fmt::format("{}{}", from.empty() ? "of " : ", ", input.value);
    lines += fmt::format("  {:>3}  {:<12}{:<26}{:<12}{:<12}{}", node.output.value, words.kind,
                         node.name, from, text(node.output.shape), words.constants);
    while (lines.back() == ' ') lines.pop_back();
    lines += '\n';
    const std::pair<std::string, std::string> formula{words.kind, words.formula};
    if (std::find(formulas.begin(), formulas.end(), formula) == formulas.end())
      formulas.push_back(formula);
  }
  lines +=
      "\noperations (height x width x channels in memory; \"name.weight\" etc. in the model "
      "file)\n";
  for (const auto& [kind, formula] : formulas) lines += fmt::format("  {}: {}\n", kind, formula);
  return lines;
}

std::string Network::memory_summary() const {
  constexpr double kMiB = 1 << 20;
  std::size_t separate = 0, reused = 0;
  for (const StoredTensor& stored : stored_)
    separate += std::accumulate(stored.bytes.begin(), stored.bytes.end(), std::size_t{0});
  for (const auto* blocks : {&blocks_, &thread_blocks_})
    for (const Planned<std::byte>& block : *blocks) reused += block.bytes();
  std::string text = fmt::format(
      "{} of {:.1f} MiB in {} of {:.1f} MiB", counted(stored_.size(), "tensor"),
      static_cast<double>(separate) / kMiB,
      counted(blocks_.size() + thread_blocks_.size(), "block"), static_cast<double>(reused) / kMiB);
  if (spec_.recompute_blocks > 0)
    text += fmt::format("; {} of {} recomputed",
                        std::ranges::count_if(nodes_, &PlannedNode::recomputed),
                        counted(nodes_.size(), "operation"));
  return text;
}

}  // namespace wellspring
