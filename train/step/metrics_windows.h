// Transfers a run's metrics to the host. The lines of each window are copied while later steps run,
// and then become a report. Called by the trainer; host only.
#pragma once

#include "kernels/ops/training.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/stream.h"
#include "sources/mixture.h"
#include "train/heads/head_losses.h"
#include "train/metrics/observer.h"
#include "train/step/run_context.h"
#include "train/step/run_marks.h"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace wellspring {

/// Steps [first, last) and their metrics, over all ranks.
struct WindowLines {
  std::uint64_t first = 0, last = 0;
  std::span<const ops::StepMetrics> ring;
  std::span<const double> ring_sums;
  double seconds = 0;  ///< from the start of step `timed_from` to the end of the last step
  std::uint64_t timed_from = 0;
  bool clean = true;  ///< true if all steps were timed and nothing else ran
  /// Share of the time in which this rank's steps waited for their rows; nullopt: see mark_waits().
  std::optional<double> wait = {};
  const ops::StepMetrics& line(std::uint64_t step) const { return ring[step % ring.size()]; }
  /// Sums of a step's measures, in the order of MeasureLayout.
  std::span<const double> sums(std::uint64_t step) const {
    const std::size_t n = ring_sums.size() / ring.size();
    return ring_sums.subspan(step % ring.size() * n, n);
  }
};

/// Report of a window: means over all samples and by source. `batch`: samples per step; `steps`:
/// planned length of the run.
StepReport summarise_window(const WindowLines& window, const Mixture& mixture,
                            const HeadLosses& losses, std::int64_t batch, std::uint64_t steps);

/// The metrics ring in device memory, which holds the lines of two windows.
struct PlannedRing {
  Planned<ops::StepMetrics> lines;
  Planned<double> sums;
  ops::MetricsRing view() const {
    return {lines.data(), sums.data(), static_cast<std::uint32_t>(lines.size())};
  }
};

/// Two windows alternate: one collects steps while the lines of the other are copied.
class MetricsWindows {
 public:
  using Sink = std::function<void(const WindowLines&)>;

  /// Plans host copies of `ring`. `sink` receives every window once, in order, as soon as its lines
  /// have arrived. With several ranks, all make the same calls, and the sink receives the metrics of
  /// the global batch.
  MetricsWindows(RunContext& context, const PlannedRing& ring, Sink sink);

  /// Opens the window that begins with step `first`; steps before `now` are already done.
  void open(Stream& stream, std::uint64_t first, std::uint64_t now);
  /// Restarts the clock of the open window at step `now`, after other work took time.
  void interrupt(Stream& stream, std::uint64_t now);
  /// Waits for the stream and stops the clocks of clocks() until interrupt(): other work begins.
  void pause(Stream& stream) { clocks_.end(stream); }
  /// Closes the open window before step `now` and opens the next.
  void close(Stream& stream, std::uint64_t now);
  /// Waits for pending copies and passes them to the sink. Also a pause().
  void flush(Stream& stream);

  /// Samples how long steps wait for their rows, in windows of at most `launches` launches. Call
  /// before open() if a source streams; without it, the three marks do nothing.
  void mark_waits(Device device, std::uint64_t launches);
  /// Marks of a launch: before it waits for its rows, when they are ready, and after it.
  void before_rows(Stream& stream);
  void rows_ready(Stream& stream);
  void launched(Stream& stream);
  /// The two clocks over all steps between interrupt() and pause().
  const TwoClocks& clocks() const { return clocks_; }

 private:
  struct Window {
    explicit Window(Device device) : begin(device, true), end(device, true), copied(device) {}
    std::uint64_t first = 0, last = 0, timed_from = 0;
    bool clean = true;
    bool pending = false;  ///< closed, but not yet passed to the sink
    Event begin, end, copied;
    std::optional<WaitMarks> waits;
    PlannedRing copy;
  };
  Window& open_one() { return windows_[open_]; }
  Window& other_one() { return windows_[1 - open_]; }
  WaitMarks* open_waits() { return open_one().waits ? &*open_one().waits : nullptr; }
  void give_out(Window& window);
  void add_ranks(Window& window);

  Communicator& ranks_;
  Stream copy_stream_;
  PlannedRing ring_;
  Sink sink_;
  std::array<Window, 2> windows_;
  std::size_t open_ = 0;
  TwoClocks clocks_;
  std::uint64_t launches_ = 0;
};

}  // namespace wellspring
