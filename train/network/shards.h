// How the CPU divides a batch: a thread takes each shard through the network by itself. Host only.
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

/// Whether an operation makes each row from the same row alone.
bool row_by_row(const Operation& operation);

/// The shards of a batch: a function of the network and the batch, never of the threads, since the
/// gradient's rounding depends on it. As many as 32, so that a thread that is held up leaves its
/// work to others, as long as each
/// - has 16 rows, so that its matrix products are some;
/// - takes 2^22 multiplications forward, some 0.2 ms, against which starting its kernels is little;
/// - takes 64 of them for each parameter, of whose gradient each shard has its own sum.
std::vector<Rows> divide(std::span<const Node> nodes, std::int64_t batch);
/// So many shards, whatever the work, but none empty.
std::vector<Rows> divide(std::int64_t batch, std::int64_t shards);

/// Those rows of every column.
BatchView rows_of(BatchView batch, Rows rows);

}  // namespace wellspring
