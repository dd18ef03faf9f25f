// Lists of work that run in parallel on the CPU, each on one thread from start to end. No thread
// waits for another between two kernels, and a thread on a busy core runs fewer lists. Called by
// networks; host only.
#pragma once

#include "kernels/runtime/dtype.h"
#include "kernels/runtime/stream.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace wellspring {

class ShardRunner {
 public:
  /// A stream with one thread. A list's work is planned for this stream, so results do not depend
  /// on the number of threads.
  const Stream& stream() const { return alone_; }

  /// A list and the thread that runs it. Temporary data can be in the thread's own memory, which
  /// stays in its core's cache.
  struct Place {
    std::size_t shard = 0;
    std::size_t thread = 0;
  };
  /// Number of lists, and of threads that have their own memory. A stream with fewer threads uses
  /// only those.
  struct Workers {
    std::size_t shards = 1;
    std::size_t threads = 1;
  };

  /// Calls record(place, stream()) for every pair of shard and thread, and enqueues the recorded
  /// work as one node of `to`, which runs each shard once. Lists of different shards must not touch
  /// the same memory, except their thread's own memory. Rethrows the first error of the work after
  /// finishing the other lists. Throws std::logic_error for copies to or from the host.
  void enqueue(Stream& to, std::string_view name, Workers workers,
               const std::function<void(Place, Stream&)>& record);

 private:
  Stream alone_{Device::cpu(), 1};
};

/// A sum of arrays of `n` values: out = previous content of out (if `kept`) plus the parts, added
/// in order, in f32, and rounded once.
struct PartialSums {
  std::vector<const void*> parts;
  void* out = nullptr;
  std::int64_t n = 0;
  bool kept = false;
  DType type = DType::f32;  ///< type of the parts and of out: f32 or bf16
};
/// Enqueues the sums as one node; the `out` arrays must not overlap. CPU only.
void add_partial_sums(Stream& stream, std::string_view name, std::vector<PartialSums> sums);

}  // namespace wellspring
