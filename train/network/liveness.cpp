#include "train/network/liveness.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace wellspring {

BlockAssignment assign_blocks(const std::vector<Lifetime>& tensors) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return tensors[a].bytes > tensors[b].bytes;
  });
  BlockAssignment result;
  result.block_of.assign(tensors.size(), 0);
  std::vector<std::vector<std::size_t>> tenants;  // by block
  for (const std::size_t i : order) {
    const Lifetime& tensor = tensors[i];
    if (tensor.bytes == 0) continue;
    const auto is_free = [&](std::size_t block) {
      return std::all_of(tenants[block].begin(), tenants[block].end(), [&](std::size_t other) {
        return tensors[other].last < tensor.first || tensor.last < tensors[other].first;
      });
    };
    // Blocks are in descending order of size, so the last free one is the smallest.
    std::optional<std::size_t> chosen;
    for (std::size_t block = 0; block < tenants.size(); ++block)
      if (is_free(block)) chosen = block;
    if (!chosen) {
      chosen = tenants.size();
      tenants.emplace_back();
      result.block_bytes.push_back(tensor.bytes);
    }
    tenants[*chosen].push_back(i);
    result.block_of[i] = *chosen;
  }
  return result;
}

}  // namespace wellspring
