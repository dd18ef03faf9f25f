#include "train/network/fusion.h"

#include <optional>

namespace wellspring {
namespace {

class Peephole {
 public:
  explicit Peephole(std::vector<Node> nodes) : nodes_(std::move(nodes)) {}

  std::vector<Node> run() {
    for (std::size_t i = 0; i < nodes_.size();) {
      if (fuse_into_producer(i)) {
        i = 0;  // the fused node may fuse with an earlier one
      } else {
        ++i;
      }
    }
    return std::move(nodes_);
  }

 private:
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
    if (std::holds_alternative<MaxPool>(operation)) return fuse_pool(i);
    return false;
  }

  bool fuse_relu(std::size_t i) {
    const auto made = producer(nodes_[i].inputs[0], i);
    if (!made) return false;
    const bool takes = std::visit(
        [](auto& operation) {
          if constexpr (requires { operation.relu; }) {
            if (operation.relu) return false;
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

  /// If both inputs are normalisations, fuses into the later one, so that the output of the other
  /// is ready.
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
    if (const auto* norm = std::get_if<GroupNorm>(&node.operation)) return !norm->relu;
    if (const auto* norm = std::get_if<BatchNorm>(&node.operation)) return !norm->relu;
    return false;
  }

  bool fuse_pool(std::size_t i) {
    const auto& pool = std::get<MaxPool>(nodes_[i].operation);
    const TensorShape& image = nodes_[i].inputs[0].shape;
    if (pool.window != 2 || pool.stride != 2 || pool.padding != 0 || image.height % 2 != 0 ||
        image.width % 2 != 0)
      return false;
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

std::vector<Node> fuse(std::vector<Node> nodes) {
  return Peephole(std::move(nodes)).run();
}

}  // namespace wellspring
