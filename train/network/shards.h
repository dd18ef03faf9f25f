// Divides a batch into shards. One CPU thread takes each shard through the network. Called by
// train/network; host only.
#pragma once

#include "kernels/batch/batch.h"
#include "train/network/tape.h"

#include <cstdint>
#include <span>
#include <vector>

namespace wellspring {

/// Rows [first, first + count) of a batch.
struct Rows {
  std::int64_t first = 0, count = 0;
};

/// True if each output row depends only on the same input row.
bool is_row_wise(const Operation& operation);

/// Divides a batch into shards. The shards depend on the network and the batch, never on the number
/// of threads, since they affect the rounding of the gradient. There are at most 32, enough for
/// other threads to take over the work of a delayed one. Each shard has at least 16 rows, so that
/// its matrix products are efficient; at least 2^22 multiplications in the forward pass, about 0.2
/// ms, so that kernel launches cost little; and at least 64 multiplications per parameter, because
/// each shard sums its own gradient.
std::vector<Rows> make_shards(std::span<const Node> nodes, std::int64_t batch);
/// Divides a batch into `shards` shards, or fewer if there are fewer rows: every shard has at least
/// one.
std::vector<Rows> make_shards(std::int64_t batch, std::int64_t shards);

/// The view of the given rows, in every column.
BatchView rows_of(BatchView batch, Rows rows);

}  // namespace wellspring
