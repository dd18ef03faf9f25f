// Sums gradients over the ranks, in buckets. The backward pass enqueues each bucket on a branch as
// soon as its gradients are complete, so that one bucket's sum overlaps the computation of the
// next. Called by train/network/network.cpp and the training step; host only.
//
// Each gradient has its own memory. Only the backward passes of the nodes that share its parameter
// write there, and the bucket is enqueued after all of these nodes. So nothing else writes to a
// bucket until the step joins the branch and the optimizer reads it.
//
// Afterwards, all ranks have the same bytes (communicator.h). With two ranks, one sum of all
// gradients gives the same bytes, since each value needs one addition. With more ranks, buckets may
// change the order of additions, so the results of both agree only up to rounding.
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
  std::int64_t passes = 1;  ///< backward passes of a step; only the last one is summed
  StreamBranch::Order order = StreamBranch::Order::parallel;
  /// Bytes of f32 sums per bucket: `first_bytes` for the first one, so that sums begin early, and
  /// `bytes` for the others. The defaults are kDefaultFirstBucketBytes and kDefaultBucketBytesCap
  /// of PyTorch's DistributedDataParallel (torch/csrc/distributed/c10d/reducer.hpp).
  std::int64_t first_bytes = std::int64_t{1} << 20, bytes = std::int64_t{25} << 20;
};

class GradientBuckets {
 public:
  /// Node of a parameter that the step does not train; see begin().
  static constexpr std::size_t kUntrained = std::numeric_limits<std::size_t>::max();

  /// Call after arena.plan(). `arena` and `ranks` must outlive this object.
  GradientBuckets(const ParameterArena& arena, Communicator& ranks, const Stream& stream,
                  MemoryPlan& memory, const BucketSpec& spec);

  /// Ranges of the gradients in the order in which they are summed, the same on all ranks: matrices
  /// from the last to the first, then vectors. A bucket ends with the tensor that fills it.
  std::span<const GradientRange> buckets() const { return buckets_; }

  /// Begins a backward pass. `nodes`: for each tensor, the node whose backward pass completes its
  /// gradient; the nodes run in descending order.
  void begin(std::span<const std::size_t> nodes);
  /// After the backward pass of `node`, enqueues the totals on `main`, since complete buckets may
  /// need them, then the sums of all complete buckets. An incomplete bucket delays those after it.
  void reduce(Stream& main, ops::PartTotals& totals, std::size_t node);
  /// Makes later work on `main` wait for all sums.
  void join(Stream& main) { branch_.join(main); }

 private:
  const ParameterArena& arena_;
  Communicator& ranks_;
  std::int64_t passes_;
  StreamBranch branch_;
  std::vector<GradientRange> buckets_;
  std::vector<std::size_t> nodes_;  ///< by bucket; the node that completes it
  std::size_t next_ = 0;
  Planned<float> wide_;  ///< f32 sums of a bucket in bf16; shared, because buckets run in order
};

}  // namespace wellspring
