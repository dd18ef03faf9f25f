// Marks on the stream of a run, which time it without slowing it: how long steps wait for their rows,
// and the same steps by two clocks. Called by metrics_windows.h; host only.
#pragma once

#include "kernels/runtime/stream.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace wellspring {

/// The waits of at most every seventh launch. The distance is odd, so that samples do not follow a
/// period of the reading threads. On a GPU, a sample records three timing events.
class WaitMarks {
 public:
  /// Most launches that are marked between two calls of clear(): no memory is allocated later.
  static constexpr std::size_t kMost = 16;
  static constexpr std::uint64_t kClosest = 7;

  /// `launches`: most launches between two calls of clear(), over which the marks are spread.
  WaitMarks(Device device, std::uint64_t launches);

  /// Call for each launch, in this order: before it waits for its rows, when they are ready at this
  /// point of the stream, and after it. A launch that begins twice counts once. `launch`: its number.
  void begin(Stream& stream, std::uint64_t launch);
  void ready(Stream& stream) { mark(stream, &Marks::ready); }
  void end(Stream& stream);

  /// Share of the time of the marked launches in which they waited; nullopt without marks. They must
  /// be complete.
  std::optional<double> share() const;
  void clear() { count_ = 0; }

 private:
  struct Marks {
    explicit Marks(Device device) : begin(device, true), ready(device, true), end(device, true) {}
    Event begin, ready, end;
  };
  void mark(Stream& stream, Event Marks::*event);

  std::uint64_t every_;
  std::vector<std::unique_ptr<Marks>> marks_;
  std::size_t count_ = 0;  ///< complete samples
  bool open_ = false;      ///< the current launch is marked
};

/// Seconds of the same steps by the host's clock and by marks on the stream.
class TwoClocks {
 public:
  explicit TwoClocks(Device device) : begin_(device, true), end_(device, true) {}

  /// Starts both clocks; nothing is enqueued on the stream. Without an end(), the time since the last
  /// begin() does not count.
  void begin(Stream& stream);
  /// Waits for the stream and stops both clocks, if they run.
  void end(Stream& stream);
  /// Rate by the host's clock over the rate by the marks; 1 before the first end().
  double ratio() const { return by_host_ > 0 ? by_marks_ / by_host_ : 1; }

 private:
  Event begin_, end_;
  std::chrono::steady_clock::time_point began_;
  bool running_ = false;
  double by_host_ = 0, by_marks_ = 0;
};

}  // namespace wellspring
