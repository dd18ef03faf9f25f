#include "train/network/gradient_buckets.h"

#include "core/expect.h"

#include <algorithm>
#include <functional>

namespace wellspring {
namespace {

std::vector<GradientRange> make_buckets(const ParameterArena& arena, const BucketSpec& spec) {
  std::vector<std::int64_t> begins;
  for (const ParameterTensor& tensor : arena.tensors())
    if (tensor.trained() && tensor.layout != TensorLayout::vector) begins.push_back(tensor.offset);
  std::ranges::sort(begins, std::greater());
  std::vector<GradientRange> buckets;
  std::int64_t end = arena.matrices().end;
  for (const std::int64_t begin : begins) {
    const std::int64_t full = buckets.empty() ? spec.first_bytes : spec.bytes,
                       bytes = (end - begin) * static_cast<std::int64_t>(sizeof(float));
    if (bytes < full && begin > 0) continue;
    buckets.push_back({begin, end});
    end = begin;
  }
  if (arena.vectors().size() > 0) buckets.push_back(arena.vectors());
  return buckets;
}

}  // namespace

GradientBuckets::GradientBuckets(const ParameterArena& arena, Communicator& ranks,
                                 const Stream& stream, MemoryPlan& memory, const BucketSpec& spec)
    : arena_(arena),
      ranks_(ranks),
      passes_(spec.passes),
      branch_(stream, spec.order),
      buckets_(make_buckets(arena, spec)) {
  if (arena.compute() == DType::f32) return;
  std::int64_t largest = 0;
  for (const GradientRange range : buckets_)
    if (range.end <= arena.matrices().end) largest = std::max(largest, range.size());
  wide_ = memory.reserve<float>("gradients", "sums of a bucket", static_cast<std::size_t>(largest));
}

void GradientBuckets::begin(std::span<const std::size_t> nodes) {
  WS_EXPECT(nodes.size() == arena_.tensors().size());
  next_ = 0;
  nodes_.assign(buckets_.size(), kUntrained);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const ParameterTensor& tensor = arena_.tensors()[i];
    if (!tensor.trained()) continue;
    for (std::size_t b = 0; b < buckets_.size(); ++b)
      if (buckets_[b].begin <= tensor.offset && tensor.offset < buckets_[b].end)
        nodes_[b] = std::min(nodes_[b], nodes[i]);
  }
}

void GradientBuckets::reduce(Stream& main, ops::PartTotals& totals, std::size_t node) {
  for (; next_ < buckets_.size() && node <= nodes_[next_]; ++next_) {
    if (nodes_[next_] == kUntrained) continue;  // the gradients are 0 on all ranks
    totals.launch(main);
    Stream& side = branch_.fork(main);
    if (passes_ > 1) arena_.add_gradients(side, buckets_[next_], passes_ - 1, passes_);
    arena_.reduce_gradients(side, buckets_[next_], ranks_, wide_.data());
  }
}

}  // namespace wellspring
