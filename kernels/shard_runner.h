// Lists of work that run side by side on the CPU: each on one thread from beginning to end, so that
// no thread waits for another between two kernels, and one that its core keeps waiting takes fewer
// lists. Used by networks; host only.
#pragma once

#include "kernels/stream.h"

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace wellspring {

class ShardRunner {
 public:
  /// A stream of one thread: what runs in a list is planned for it, so its results do not depend on
  /// how many threads there are.
  const Stream& stream() const { return alone_; }

  /// Calls record(s, stream()) for s in [0, shards) at once, and enqueues what they enqueued as one
  /// node of `to`. Lists that touch the same memory are a race. Errors of the work: of the first
  /// that was seen; the other lists are finished. std::logic_error for copies to or from the host.
  void enqueue(Stream& to, std::string_view name, std::int64_t shards,
               const std::function<void(std::int64_t, Stream&)>& record);

 private:
  Stream alone_{Device::cpu(), 1};
};

/// A sum of arrays of `n` values: out = the parts added in their order, after out itself where it
/// is `kept`.
struct PartialSums {
  std::vector<const float*> parts;
  float* out = nullptr;
  std::int64_t n = 0;
  bool kept = false;
};
/// Enqueues them as one node; `out`s do not overlap. CPU only.
void add_partial_sums(Stream& stream, std::string_view name, std::vector<PartialSums> sums);

}  // namespace wellspring
