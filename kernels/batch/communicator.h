// The ranks that train together, as the step of one of them sees them: who it is, which rows are
// its own, and sums over all. One rank alone is SingleRank; others implement the same interface on
// what connects them. Host only.
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

  /// Enqueues the sum over all ranks of `count` elements at `data`, in device memory, f32 or bf16,
  /// which then holds the sum on every rank. A node of the step: it may be recorded, and every rank
  /// enqueues the same calls in the same order. Elements are added in f32 in an order that depends
  /// on the number of ranks alone, and rounded once, so that all ranks hold equal bytes.
  virtual void all_reduce(Stream& stream, void* data, DType dtype, std::int64_t count) = 0;
};

/// A run of one rank: nothing to add, and no node.
class SingleRank final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void all_reduce(Stream& /*stream*/, void* /*data*/, DType /*dtype*/,
                  std::int64_t /*count*/) override {}
};

/// The rows of a global batch that `rank` of `ranks` makes: as many as the others, in the order of
/// ranks. Error (config) where the ranks do not divide the batch: means and recorded steps are of
/// one size on all.
Share share_of(std::int64_t global_batch, int rank, int ranks);
inline Share share_of(std::int64_t global_batch, const Communicator& ranks) {
  return share_of(global_batch, ranks.rank(), ranks.size());
}

}  // namespace wellspring
