#include "train/network/fusion.h"

#include <optional>
#include <utility>

namespace wellspring {
namespace {

class Peephole {
 public:
  explicit Peephole(std::vector<Node> nodes) : nodes_(std::move(nodes)) {}

  std::vector<Node> run(PoolWith pool) {
    apply(&Peephole::fuse_into_producer);
    if (pool == PoolWith::norm) apply(&Peephole::fuse_pool_into_norm);
    apply(&Peephole::fuse_pool_into_convolution);
    return std::move(nodes_);
  }

 private:
  /// Applies a rule until it fits no node.
  void apply(bool (Peephole::*rule)(std::size_t)) {
    for (std::size_t i = 0; i < nodes_.size();) {
      if ((this->*rule)(i)) {
        i = 0;  // the fused node may fuse with an earlier one
      } else {
        ++i;
      }
    }
  }

  /// Index of the node that writes `input`, if `reader` is its only reader and reads it in its
  /// original shape.
  std::optional<std::size_t> producer(const Tensor& input, std::size_t reader) const {
    std::size_t readers = 0;
    for (const Node& node : nodes_)
      for (const Tensor& read : node.inputs) readers += read.value == input.value ? 1 : 0;
    if (readers != 1) return std::nullopt;
    for (std::size_t i = 0; i < reader; ++i)
      if (nodes_[i].output.value == input.value)
        return nodes_[i].output.shape == input.shape ? std::optional(i) : std::nullopt;
    return std::nullopt;
  }

  /// Merges node `reader` into node `made`, which moves to the reader's position.
  void absorb(std::size_t made, std::size_t reader) {
    Node node = std::move(nodes_[made]);
    node.output = nodes_[reader].output;
    nodes_[reader] = std::move(node);
    nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(made));
  }

  bool fuse_into_producer(std::size_t i) {
    const Operation& operation = nodes_[i].operation;
    if (std::holds_alternative<Relu>(operation)) return fuse_relu(i);
    if (std::holds_alternative<Add>(operation)) return fuse_add(i);
    if (std::holds_alternative<GlobalMean>(operation)) return fuse_mean(i);
    return false;
  }

  bool fuse_relu(std::size_t i) {
    const auto made = producer(nodes_[i].inputs[0], i);
    if (!made) return false;
    const bool takes = std::visit(
        [](auto& operation) {
          if constexpr (requires { operation.relu; }) {
            if (operation.relu) return false;
            if constexpr (requires { operation.mean; })
              if (operation.mean) return false;
            operation.relu = true;
            return true;
          } else {
            return false;
          }
        },
        nodes_[*made].operation);
    if (takes) absorb(*made, i);
    return takes;
  }

  /// If both inputs are normalisations, fuses the addition into the later one, so that the output
  /// of the earlier one is ready.
  bool fuse_add(std::size_t i) {
    std::optional<std::size_t> chosen;
    std::size_t operand = 0;
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      const auto made = producer(nodes_[i].inputs[side], i);
      if (!made || !takes_residual(nodes_[*made]) || (chosen && *made < *chosen)) continue;
      chosen = made;
      operand = side;
    }
    if (!chosen) return false;
    nodes_[*chosen].inputs.push_back(nodes_[i].inputs[1 - operand]);
    absorb(*chosen, i);
    return true;
  }

  static bool takes_residual(const Node& node) {
    if (node.inputs.size() != 1) return false;
    if (const auto* norm = std::get_if<GroupNorm>(&node.operation))
      return !norm->relu && !norm->mean;
    if (const auto* norm = std::get_if<BatchNorm>(&node.operation)) return !norm->relu;
    return false;
  }

  bool fuse_mean(std::size_t i) {
    const Tensor& input = nodes_[i].inputs[0];
    if (input.shape.positions() == 1) {
      for (Node& node : nodes_)
        for (Tensor& read : node.inputs)
          if (read.value == nodes_[i].output.value) read.value = input.value;
      nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    }
    const auto made = producer(input, i);
    if (!made) return false;
    auto* norm = std::get_if<GroupNorm>(&nodes_[*made].operation);
    if (norm == nullptr || norm->mean) return false;
    norm->mean = true;
    absorb(*made, i);
    return true;
  }

  static bool halves(const Node& node) {
    const auto* pool = std::get_if<MaxPool>(&node.operation);
    if (pool == nullptr) return false;
    const TensorShape& image = node.inputs[0].shape;
    return pool->window == 2 && pool->stride == 2 && pool->padding == 0 && image.height % 2 == 0 &&
           image.width % 2 == 0;
  }

  /// The normalisation's backward pass uses a single array for its input and its input gradient, so
  /// a mean cannot be fused into it as well.
  bool fuse_pool_into_norm(std::size_t i) {
    auto* norm = std::get_if<GroupNorm>(&nodes_[i].operation);
    if (norm == nullptr || norm->pool || norm->mean) return false;
    const auto made = producer(nodes_[i].inputs[0], i);
    if (!made || !halves(nodes_[*made])) return false;
    norm->pool = true;
    norm->pool_relu = std::get<MaxPool>(nodes_[*made].operation).relu;
    if (const auto before = producer(nodes_[*made].inputs[0], *made)) {
      if (auto* convolution = std::get_if<Convolution>(&nodes_[*before].operation))
        norm->pool_relu |= std::exchange(convolution->relu, false);
    }
    nodes_[i].inputs[0] = nodes_[*made].inputs[0];
    nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(*made));
    return true;
  }

  bool fuse_pool_into_convolution(std::size_t i) {
    if (!halves(nodes_[i])) return false;
    const auto& pool = std::get<MaxPool>(nodes_[i].operation);
    const auto made = producer(nodes_[i].inputs[0], i);
    if (!made) return false;
    auto* convolution = std::get_if<Convolution>(&nodes_[*made].operation);
    if (convolution == nullptr || convolution->pool) return false;
    convolution->pool = true;
    convolution->relu = convolution->relu || pool.relu;
    absorb(*made, i);
    return true;
  }

  std::vector<Node> nodes_;
};

}  // namespace

std::vector<Node> fuse(std::vector<Node> nodes, PoolWith pool) {
  return Peephole(std::move(nodes)).run(pool);
}

}  // namespace wellspring
