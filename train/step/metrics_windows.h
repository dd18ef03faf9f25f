// The metrics of a run on their way out: every few steps the lines that the device wrote travel to
// the host beside the steps that follow, and become a report. Host only.
#pragma once

#include "kernels/ops/training.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/stream.h"
#include "sources/mixture.h"
#include "train/heads/head_losses.h"
#include "train/metrics/observer.h"

#include <array>
#include <cstdint>
#include <functional>
#include <span>

namespace wellspring {

/// Steps [first, last) and what they reported.
struct WindowLines {
  std::uint64_t first = 0, last = 0;
  std::span<const ops::StepMetrics> ring;
  std::span<const double> ring_sums;
  double seconds = 0;  ///< from before step `timed_from` until after the last
  std::uint64_t timed_from = 0;
  bool clean = true;  ///< nothing but these steps took time, and all of them were timed
  const ops::StepMetrics& line(std::uint64_t step) const { return ring[step % ring.size()]; }
  /// Sums of a step's measures, as MeasureLayout has them.
  std::span<const double> sums(std::uint64_t step) const {
    const std::size_t n = ring_sums.size() / ring.size();
    return ring_sums.subspan(step % ring.size() * n, n);
  }
};

/// What a window's lines say: means over the window, of all samples and by source. `batch` samples
/// a step, `steps` in the whole run.
StepReport summarise_window(const WindowLines& window, const Mixture& mixture,
                            const HeadLosses& losses, std::int64_t batch, std::uint64_t steps);

/// The ring of metrics in device memory: lines of two windows.
struct PlannedRing {
  Planned<ops::StepMetrics> lines;
  Planned<double> sums;
  ops::MetricsRing view() const {
    return {lines.data(), sums.data(), static_cast<std::uint32_t>(lines.size())};
  }
};

/// Two windows in turn: one collects steps while the lines of the other travel.
class MetricsWindows {
 public:
  using Sink = std::function<void(const WindowLines&)>;

  /// Plans the host's copies of `ring`. `sink` is given every window once, in order, as soon as its
  /// lines have arrived.
  MetricsWindows(Device device, int threads, MemoryPlan& memory, const PlannedRing& ring,
                 Sink sink);

  /// The next window begins with step `first`, of which those before `now` are done already.
  void open(Stream& stream, std::uint64_t first, std::uint64_t now);
  /// The clock of the open window begins anew at step `now`, after something else took time.
  void interrupt(Stream& stream, std::uint64_t now);
  /// Ends the open window before step `now`, and opens the next.
  void close(Stream& stream, std::uint64_t now);
  /// Waits for what is under way and gives it out.
  void flush(Stream& stream);

 private:
  struct Window {
    explicit Window(Device device) : begin(device, true), end(device, true), copied(device) {}
    std::uint64_t first = 0, last = 0, timed_from = 0;
    bool clean = true;
    bool pending = false;  ///< ended, not given out yet
    Event begin, end, copied;
    PlannedRing copy;
  };
  Window& open_one() { return windows_[open_]; }
  Window& other_one() { return windows_[1 - open_]; }
  void give_out(Window& window);

  Stream copy_stream_;
  PlannedRing ring_;
  Sink sink_;
  std::array<Window, 2> windows_;
  std::size_t open_ = 0;
};

}  // namespace wellspring
