// The metrics of a run on their way out: every few steps the lines that the device wrote travel to
// the host beside the steps that follow, and become a report. Host only.
#pragma once

#include "kernels/memory_plan.h"
#include "kernels/ops/training.h"
#include "kernels/stream.h"
#include "sources/mixture.h"
#include "train/observer.h"

#include <array>
#include <cstdint>
#include <functional>
#include <span>

namespace wellspring {

/// Steps [first, last) and what they reported.
struct WindowLines {
  std::uint64_t first = 0, last = 0;
  std::span<const ops::StepMetrics> ring;
  double seconds = 0;  ///< from before step `timed_from` until after the last
  std::uint64_t timed_from = 0;
  bool clean = true;  ///< nothing but these steps took time, and all of them were timed
  const ops::StepMetrics& line(std::uint64_t step) const { return ring[step % ring.size()]; }
};

/// What a window's lines say: means over the window, of all samples and by source. `batch` samples
/// a step, `steps` in the whole run.
StepReport summarise_window(const WindowLines& window, const Mixture& mixture, std::int64_t batch,
                            std::uint64_t steps);

/// Two windows in turn: one collects steps while the lines of the other travel.
class MetricsWindows {
 public:
  using Sink = std::function<void(const WindowLines&)>;

  /// Plans the host's copies. `ring` holds two windows of lines; `sink` is given every window once,
  /// in order, as soon as its lines have arrived.
  MetricsWindows(Device device, int threads, MemoryPlan& memory,
                 const Planned<ops::StepMetrics>& ring, Sink sink);

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
    Planned<ops::StepMetrics> lines;
  };
  Window& open_one() { return windows_[open_]; }
  Window& other_one() { return windows_[1 - open_]; }
  void give_out(Window& window);

  Stream copy_stream_;
  Planned<ops::StepMetrics> ring_;
  Sink sink_;
  std::array<Window, 2> windows_;
  std::size_t open_ = 0;
};

}  // namespace wellspring
