// Sums of gradients over the ranks, in buckets. The backward pass enqueues each on a branch as soon as
// its gradients are complete, so that the sum of one bucket overlaps the computation of the next.
// Called by train/network/network.cpp and the training step; host only.
//
// The gradients have memory of their own, which only the backward pass of the nodes that share a
// parameter writes; a bucket is enqueued after all of these nodes. So nothing else writes a bucket until
// the step joins the branch and the optimizer reads it.
//
// All ranks have the same bytes afterwards (communicator.h). For two ranks these are also the bytes of
// one sum of all gradients, since each value needs one addition. For more ranks, buckets may change
// the order of additions, so the values agree only within the rounding of sums in any order.
#pragma once

#include "kernels/batch/communicator.h"
#include "kernels/ops/part_totals.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/stream_branch.h"
#include "train/network/parameters.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace wellspring {

struct BucketSpec {
  std::int64_t passes = 1;  ///< backward passes of a step; only the last one has a sum
  StreamBranch::Order order = StreamBranch::Order::parallel;
  /// Bytes of f32 sums that fill the first bucket, so that the sums begin early, and each later one.
  /// The defaults are kDefaultFirstBucketBytes and kDefaultBucketBytesCap of PyTorch's
  /// DistributedDataParallel (torch/csrc/distributed/c10d/reducer.hpp).
  std::int64_t first_bytes = std::int64_t{1} << 20, bytes = std::int64_t{25} << 20;
};

class GradientBuckets {
 public:
  /// Node of a parameter that the step does not train; see begin().
  static constexpr std::size_t kUntrained = std::numeric_limits<std::size_t>::max();

  /// Call after arena.plan(). `arena` and `ranks` must outlive this object.
  GradientBuckets(const ParameterArena& arena, Communicator& ranks, const Stream& stream,
                  MemoryPlan& memory, const BucketSpec& spec);

  /// Ranges of the gradients in the order of their sums, which is the same on all ranks: the matrices
  /// from the last to the first, then the vectors. A bucket ends with the tensor that fills it.
  std::span<const GradientRange> buckets() const { return buckets_; }

  /// Begins a backward pass. `nodes`: by tensor, the node whose backward pass completes its gradient;
  /// the nodes run in descending order.
  void begin(std::span<const std::size_t> nodes);
  /// Enqueues the sums of all buckets that are complete after the backward pass of `node`, and before
  /// them on `main` the totals, which may belong to them. A bucket that waits delays the ones after it.
  void reduce(Stream& main, ops::PartTotals& totals, std::size_t node);
  /// Later work of `main` waits for all sums.
  void join(Stream& main) { branch_.join(main); }

 private:
  const ParameterArena& arena_;
  Communicator& ranks_;
  std::int64_t passes_;
  StreamBranch branch_;
  std::vector<GradientRange> buckets_;
  std::vector<std::size_t> nodes_;  ///< by bucket, as for tensors
  std::size_t next_ = 0;
  Planned<float> wide_;  ///< f32 sums of a bucket in bf16; shared, because buckets run in order
};

}  // namespace wellspring
