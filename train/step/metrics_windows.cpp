#include "train/step/metrics_windows.h"

namespace wellspring {

namespace {

/// Report of one source in a window; `sums`: sums of the window's measures.
SourceReport summarise_source(const HeadLosses& losses, const std::vector<double>& sums,
                              int source) {
  SourceReport report;
  report.samples = static_cast<std::uint64_t>(samples_in(losses.layout(), sums.data(), source));
  report.heads = losses.report(sums.data(), source);
  for (const HeadReport& head : report.heads) report.loss += head.loss;
  report.accuracy = accuracy_of(report.heads);
  return report;
}

}  // namespace

StepReport summarise_window(const WindowLines& window, const Mixture& mixture,
                            const HeadLosses& losses, std::int64_t batch, std::uint64_t steps) {
  StepReport result;
  result.step = window.last;
  result.steps = steps;
  // After a resume with another log_every, an empty ring lacks the window's earlier lines.
  std::uint64_t first = window.first;
  while (first + 1 < window.last && window.line(first).step != first) ++first;
  result.window = window.last - first;
  std::vector<double> sums(static_cast<std::size_t>(losses.layout().sums()), 0);
  for (std::uint64_t s = first; s < window.last; ++s) {
    result.loss += static_cast<double>(window.line(s).loss);
    const std::span<const double> line = window.sums(s);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += line[i];
  }
  const ops::StepMetrics& last = window.line(window.last - 1);
  result.loss /= static_cast<double>(result.window);
  result.gradient_norm = last.gradient_norm;
  result.learning_rate = last.learning_rate;
  const auto samples = static_cast<double>(result.window * static_cast<std::uint64_t>(batch));
  double correct = 0, judged = 0;
  for (int k = 0; k < mixture.size(); ++k) {
    SourceReport source = summarise_source(losses, sums, k);
    source.name = mixture.source(k).name();
    const auto count = static_cast<double>(source.samples);
    source.wanted_share = (mixture.target(window.last, k) - mixture.target(first, k)) / samples;
    source.achieved_share = count / samples;
    if (source.accuracy) {
      correct += *source.accuracy * count;
      judged += count;
    }
    result.sources.push_back(std::move(source));
  }
  if (judged > 0) result.accuracy = correct / judged;
  const auto timed = static_cast<double>(window.last - window.timed_from);
  result.samples_per_second =
      window.seconds > 0 ? timed * static_cast<double>(batch) / window.seconds : 0;
  result.clean = window.clean;
  result.wait = window.wait;
  result.overflow = last.overflow;
  return result;
}

MetricsWindows::MetricsWindows(RunContext& context, const PlannedRing& ring, Sink sink)
    : ranks_(context.ranks),
      copy_stream_(context.device(), context.stream.threads()),
      ring_(ring),
      sink_(std::move(sink)),
      windows_{Window(context.device()), Window(context.device())},
      clocks_(context.device()) {
  MemoryPlan& memory = context.memory;
  for (Window& window : windows_) {
    window.copy.lines = memory.reserve<ops::StepMetrics>("metrics", "copy of the ring",
                                                         ring.lines.size(), MemorySpace::host);
    window.copy.sums =
        memory.reserve<double>("metrics", "copy of the sums", ring.sums.size(), MemorySpace::host);
  }
}

void MetricsWindows::open(Stream& stream, std::uint64_t first, std::uint64_t now) {
  Window& window = open_one();
  window.first = first;
  window.timed_from = now;
  window.clean = first == now;
  window.begin.record(stream);
  if (window.waits) window.waits->clear();
}

void MetricsWindows::mark_waits(Device device, std::uint64_t launches) {
  for (Window& window : windows_) window.waits.emplace(device, launches);
}

void MetricsWindows::before_rows(Stream& stream) {
  if (WaitMarks* const waits = open_waits()) waits->begin(stream, launches_);
}

void MetricsWindows::rows_ready(Stream& stream) {
  if (WaitMarks* const waits = open_waits()) waits->ready(stream);
}

void MetricsWindows::launched(Stream& stream) {
  if (WaitMarks* const waits = open_waits()) waits->end(stream);
  ++launches_;
}

void MetricsWindows::interrupt(Stream& stream, std::uint64_t now) {
  Window& window = open_one();
  window.clean = window.clean && window.first == now;
  window.timed_from = now;
  window.begin.record(stream);
  clocks_.begin(stream);
}

void MetricsWindows::close(Stream& stream, std::uint64_t now) {
  Window& window = open_one();
  window.last = now;
  window.end.record(stream);
  window.end.wait(copy_stream_);
  copy_stream_.copy(window.copy.lines.data(), ring_.lines.data(), ring_.lines.bytes(),
                    CopyDirection::device_to_host, "metrics");
  copy_stream_.copy(window.copy.sums.data(), ring_.sums.data(), ring_.sums.bytes(),
                    CopyDirection::device_to_host, "metrics");
  window.copied.record(copy_stream_);
  window.pending = true;
  open_ = 1 - open_;
  give_out(open_one());  // before its lines are overwritten
  // Ranks sum their lines together, so they must do this at the same step.
  if (ranks_.size() == 1 && window.copied.done()) give_out(window);
  open(stream, now, now);
}

void MetricsWindows::flush(Stream& stream) {
  pause(stream);
  give_out(other_one());
  stream.synchronize();
}

void MetricsWindows::give_out(Window& window) {
  if (!window.pending) return;
  window.pending = false;
  window.copied.synchronize();
  add_ranks(window);
  const PlannedRing& copy = window.copy;
  sink_({window.first, window.last, std::span(copy.lines.data(), copy.lines.size()),
         std::span(copy.sums.data(), copy.sums.size()),
         window.end.milliseconds_since(window.begin) / 1000, window.timed_from, window.clean,
         window.waits ? window.waits->share() : std::nullopt});
}

/// Makes the lines of the window describe the global batch.
void MetricsWindows::add_ranks(Window& window) {
  if (ranks_.size() == 1) return;
  const std::size_t ring = window.copy.lines.size(), width = window.copy.sums.size() / ring;
  const auto each_line = [&](const auto& f) {
    for (std::uint64_t s = window.first; s < window.last; ++s)
      f(window.copy.lines.data()[s % ring],
        std::span(window.copy.sums.data() + s % ring * width, width));
  };
  sum_over_ranks(ranks_, [&](auto f) {
    each_line([&](ops::StepMetrics& line, std::span<double> sums) {
      f(line.loss);
      f(line.nonfinite);
      f(line.overflow.samples);
      f(line.overflow.items);
      for (double& sum : sums) f(sum);
    });
  });
  each_line([&](ops::StepMetrics& line, std::span<double>) {
    line.loss /= static_cast<float>(ranks_.size());  // a mean over equal numbers of rows
    if (line.nonfinite != 0) line.nonfinite = static_cast<std::uint32_t>(line.step) + 1;
  });
}

}  // namespace wellspring
