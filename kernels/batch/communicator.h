// The communicator of one rank: its index, its rows of a batch, and sums over all ranks. SingleRank
// implements it for a single rank. Host only.
#pragma once

#include "kernels/batch/batch.h"
#include "kernels/runtime/dtype.h"
#include "kernels/runtime/stream.h"

#include <cstdint>

namespace wellspring {

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;  ///< [0, size)
  virtual int size() const = 0;

  /// Enqueues the sum over all ranks of `count` elements at `data` (device memory, f32 or bf16);
  /// afterwards every rank holds the sum. The sum may be recorded as a node of the step. Every rank
  /// must enqueue the same calls in the same order. Elements are added in f32, in an order that
  /// depends only on the number of ranks, and rounded once, so all ranks hold identical bytes.
  virtual void all_reduce(Stream& stream, void* data, DType dtype, std::int64_t count) = 0;
};

/// A single rank, which needs no sums and no nodes.
class SingleRank final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void all_reduce(Stream& /*stream*/, void* /*data*/, DType /*dtype*/,
                  std::int64_t /*count*/) override {}
};

/// The rows of a global batch that `rank` of `ranks` makes. Ranks get equal numbers of rows, in
/// order. Throws a config error if the number of ranks does not divide the batch: means and
/// recorded steps need equal sizes.
Share share_of(std::int64_t global_batch, int rank, int ranks);
inline Share share_of(std::int64_t global_batch, const Communicator& ranks) {
  return share_of(global_batch, ranks.rank(), ranks.size());
}

}  // namespace wellspring
