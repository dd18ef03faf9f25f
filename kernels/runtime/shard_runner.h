// Lists of work that run side by side on the CPU: each on one thread from beginning to end, so that
// no thread waits for another between two kernels, and one that its core keeps waiting takes fewer
// lists. Used by networks; host only.
#pragma once

#include "kernels/runtime/stream.h"

#include <cstddef>
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

  /// Which list, and by which of the threads that run it: what lists do not hand on can lie in
  /// memory of the thread, and stay in its cache.
  struct Place {
    std::size_t shard = 0;
    std::size_t thread = 0;
  };
  /// How many lists there are, and for how many threads there is memory; a stream that has fewer
  /// uses its own.
  struct Workers {
    std::size_t shards = 1;
    std::size_t threads = 1;
  };

  /// Calls record(place, stream()) for every shard and thread at once, and enqueues what they
  /// enqueued as one node of `to`, which runs each shard once. Lists of different shards that touch
  /// the same memory, other than that of one thread, are a race. Errors of the work: of the first
  /// that was seen; the other lists are finished. std::logic_error for copies to or from the host.
  void enqueue(Stream& to, std::string_view name, Workers crew,
               const std::function<void(Place, Stream&)>& record);

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
