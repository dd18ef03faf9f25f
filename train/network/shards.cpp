#include "train/network/shards.h"

#include "kernels/batch/batch_columns.h"

#include <algorithm>

namespace wellspring {
namespace {

struct Cost {
  std::int64_t multiplications = 0;  ///< per row, in the forward pass
  std::int64_t parameters = 0;
};

Cost cost_of(const Node& node) {
  const TensorShape& in = node.inputs.empty() ? node.output.shape : node.inputs[0].shape;
  const TensorShape& out = node.output.shape;
  if (const auto* conv = std::get_if<Convolution>(&node.operation)) {
    const std::int64_t weights =
        std::int64_t{conv->kernel} * conv->kernel * in.channels * conv->channels;
    return {out.positions() * (conv->pool ? 4 : 1) * weights, weights};
  }
  if (const auto* dense = std::get_if<Dense>(&node.operation)) {
    const std::int64_t weights = std::int64_t{in.channels} * dense->width;
    return {in.positions() * weights, weights};
  }
  if (const auto* conv = std::get_if<DepthwiseConvolution>(&node.operation)) {
    const std::int64_t weights = std::int64_t{conv->kernel} * conv->kernel * in.channels;
    return {out.positions() * weights, weights};
  }
  if (std::holds_alternative<Attention>(node.operation))
    return {2 * out.positions() * out.elements(), 0};
  return {out.elements(), 0};
}

}  // namespace

bool is_row_wise(const Operation& operation) {
  return !std::holds_alternative<BatchNorm>(operation);
}

std::vector<Rows> make_shards(std::span<const Node> nodes, std::int64_t batch) {
  constexpr std::int64_t kMostShards = 32, kFewestRows = 16,
                         kFewestMultiplications = std::int64_t{1} << 22,
                         kMultiplicationsPerParameter = 64;
  Cost cost;
  for (const Node& node : nodes) {
    const Cost own = cost_of(node);
    cost.multiplications += own.multiplications;
    cost.parameters += own.parameters;
  }
  const std::int64_t work = batch * cost.multiplications;
  const std::int64_t most_for_gradients =
      work / (kMultiplicationsPerParameter * std::max<std::int64_t>(1, cost.parameters));
  return make_shards(batch, std::min({kMostShards, batch / kFewestRows,
                                      work / kFewestMultiplications, most_for_gradients}));
}

std::vector<Rows> make_shards(std::int64_t batch, std::int64_t shards) {
  shards = std::clamp<std::int64_t>(shards, 1, std::max<std::int64_t>(1, batch));
  std::vector<Rows> result;
  for (std::int64_t s = 0; s < shards; ++s) {
    const std::int64_t first = batch * s / shards;
    result.push_back({first, batch * (s + 1) / shards - first});
  }
  return result;
}

BatchView rows_of(BatchView batch, Rows rows) {
  auto columns = columns_of(batch);
  for (BatchColumn& column : columns)
    if (column.data != nullptr)
      column.data = static_cast<std::byte*>(column.data) +
                    static_cast<std::size_t>(rows.first) * column.row_bytes();
  batch.size = rows.count;
  return with_columns(batch, columns);
}

}  // namespace wellspring
