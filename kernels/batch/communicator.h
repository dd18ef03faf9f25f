// The communicator of one rank: its index, its rows of a batch, and the operations of all ranks.
// Host only.
//
// All ranks make the same calls in the same order. A transport promises what NCCL and MPI can keep:
//
// - After a sum, all ranks hold the same bytes, and the same inputs on the same ranks give the same
//   bytes again. The transport chooses the order of additions; different numbers of ranks agree
//   within the rounding errors of a sum in any order. Sums that need no rounding are exact.
// - If a rank throws, the code that started it ends the group (MPI_Abort, ncclCommAbort, RankGroup
//   in the tests). Calls of the other ranks then fail instead of waiting.
#pragma once

#include "kernels/batch/batch.h"
#include "kernels/runtime/stream.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace wellspring {

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;  ///< [0, size)
  virtual int size() const = 0;

  /// Enqueues the sum over all ranks of `count` values in device memory, computed in f32. The sum
  /// may be recorded as a node of the step.
  virtual void all_reduce(Stream& stream, float* values, std::int64_t count) = 0;
  /// Replaces `values` in host memory with their sums over all ranks, in f64. Blocks.
  virtual void all_reduce(std::span<double> values) = 0;
  /// Copies rank 0's `bytes` in host memory to all ranks. Blocks.
  virtual void broadcast(std::span<std::byte> bytes) = 0;
  /// Blocks until all ranks have called it.
  virtual void barrier() = 0;
};

/// The only rank of a run in one process. It has no state and needs no nodes.
Communicator& single_rank();

/// The rows of a global batch that rank number `rank` (of `ranks`) makes. Ranks get equal numbers
/// of rows, in rank order. Throws a config error if the number of ranks does not divide the batch
/// (means and recorded steps need equal sizes), or if there are several ranks and the number of
/// rows per rank is not a multiple of `unit`.
Share share_of(std::int64_t global_batch, int rank, int ranks, std::int64_t unit = 1);
inline Share share_of(std::int64_t global_batch, const Communicator& ranks, std::int64_t unit = 1) {
  return share_of(global_batch, ranks.rank(), ranks.size(), unit);
}

/// Replaces numbers with their sums over all ranks, in f64. `visit(f)` calls f(number) for each
/// number, in the same order on every rank.
template <class Visit>
void sum_over_ranks(Communicator& ranks, Visit visit) {
  if (ranks.size() == 1) return;
  std::vector<double> sums;
  visit([&](auto& number) { sums.push_back(static_cast<double>(number)); });
  ranks.all_reduce(sums);
  auto next = sums.cbegin();
  visit([&](auto& number) {
    number = static_cast<std::remove_reference_t<decltype(number)>>(*next++);
  });
}

}  // namespace wellspring
