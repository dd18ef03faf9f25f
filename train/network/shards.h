// Division of a batch into shards on the CPU: one thread takes a shard through the network. Called
// by train/network; host only.
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

/// True if each output row depends on the same input row only.
bool is_row_wise(const Operation& operation);

/// The shards of a batch: a function of the network and the batch, never of the number of threads,
/// since the gradient's rounding depends on them. At most 32, so that other threads take over the
/// work of a delayed one. Each shard has at least
/// - 16 rows, so that its matrix products are efficient;
/// - 2^22 multiplications in the forward pass, about 0.2 ms, so that kernel launches cost little;
/// - 64 multiplications per parameter, since each shard sums its own gradient.
std::vector<Rows> make_shards(std::span<const Node> nodes, std::int64_t batch);
/// `shards` shards, or `batch` if that is smaller: every shard has a row.
std::vector<Rows> make_shards(std::int64_t batch, std::int64_t shards);

/// The given rows of every column.
BatchView rows_of(BatchView batch, Rows rows);

}  // namespace wellspring
