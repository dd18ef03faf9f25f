#include "train/metrics_windows.h"

namespace wellspring {

StepReport summarise_window(const WindowLines& window, const Mixture& mixture, std::int64_t batch,
                            std::uint64_t steps) {
  StepReport result;
  result.step = window.last;
  result.steps = steps;
  result.window = window.last - window.first;
  double correct = 0, samples = 0;
  const auto n = static_cast<std::size_t>(mixture.size());
  result.sources.resize(n);
  for (std::uint64_t s = window.first; s < window.last; ++s) {
    const ops::StepMetrics& line = window.line(s);
    result.loss += static_cast<double>(line.loss);
    for (std::size_t k = 0; k < n; ++k) {
      SourceReport& source = result.sources[k];
      source.samples += line.source_count[k];
      source.loss += static_cast<double>(line.source_loss[k]);
      source.accuracy += line.source_correct[k];
      correct += line.source_correct[k];
      samples += line.source_count[k];
    }
  }
  const ops::StepMetrics& last = window.line(window.last - 1);
  result.loss /= static_cast<double>(result.window);
  result.accuracy = samples > 0 ? correct / samples : 0;
  result.gradient_norm = last.gradient_norm;
  result.learning_rate = last.learning_rate;
  for (std::size_t k = 0; k < n; ++k) {
    SourceReport& source = result.sources[k];
    const int index = static_cast<int>(k);
    source.name = mixture.source(index).name();
    const auto count = static_cast<double>(source.samples);
    if (source.samples > 0) {
      source.loss /= count;
      source.accuracy /= count;
    }
    const double wanted = mixture.target(window.last, index) - mixture.target(window.first, index);
    source.wanted_share =
        wanted / static_cast<double>(result.window * static_cast<std::uint64_t>(batch));
    source.achieved_share = samples > 0 ? count / samples : 0;
  }
  const auto timed = static_cast<double>(window.last - window.timed_from);
  result.samples_per_second =
      window.seconds > 0 ? timed * static_cast<double>(batch) / window.seconds : 0;
  result.clean = window.clean;
  return result;
}

MetricsWindows::MetricsWindows(Device device, int threads, MemoryPlan& memory,
                               const Planned<ops::StepMetrics>& ring, Sink sink)
    : copy_stream_(device, threads),
      ring_(ring),
      sink_(std::move(sink)),
      windows_{Window(device), Window(device)} {
  for (Window& window : windows_)
    window.lines = memory.reserve<ops::StepMetrics>("metrics", "copy of the ring", ring.size(),
                                                    MemorySpace::host);
}

void MetricsWindows::open(Stream& stream, std::uint64_t first, std::uint64_t now) {
  Window& window = open_one();
  window.first = first;
  window.timed_from = now;
  window.clean = first == now;
  window.begin.record(stream);
}

void MetricsWindows::interrupt(Stream& stream, std::uint64_t now) {
  Window& window = open_one();
  window.clean = window.clean && window.first == now;
  window.timed_from = now;
  window.begin.record(stream);
}

void MetricsWindows::close(Stream& stream, std::uint64_t now) {
  Window& window = open_one();
  window.last = now;
  window.end.record(stream);
  window.end.wait(copy_stream_);
  copy_stream_.copy(window.lines.data(), ring_.data(), ring_.bytes(), CopyDirection::device_to_host,
                    "metrics");
  window.copied.record(copy_stream_);
  window.pending = true;
  open_ = 1 - open_;
  give_out(open_one());  // the one before must be out before its lines are copied over
  if (window.copied.done()) give_out(window);
  open(stream, now, now);
}

void MetricsWindows::flush(Stream& stream) {
  give_out(other_one());
  stream.synchronize();
}

void MetricsWindows::give_out(Window& window) {
  if (!window.pending) return;
  window.pending = false;
  window.copied.synchronize();
  sink_({window.first, window.last, std::span(window.lines.data(), window.lines.size()),
         window.end.milliseconds_since(window.begin) / 1000, window.timed_from, window.clean});
}

}  // namespace wellspring
