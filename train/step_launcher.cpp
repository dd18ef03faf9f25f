#include "train/step_launcher.h"

#include "core/text/plural.h"
#include "train/metrics/rates.h"
#include "train/run_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace wellspring {

void StepLauncher::expect_rows() const {
  const std::int64_t steps = config_.train.steps_per_launch;
  for (int i = 0; i < mixture_.size(); ++i) {
    const SourceSpec& spec = config_.data.sources[static_cast<std::size_t>(i)].spec;
    if (!mixture_.source(i).streams() || spec.ahead >= steps) continue;
    fail(ErrorKind::config,
         {fmt::format("{}source '{}': ahead: {} with train.steps_per_launch: {}",
                      spec.place.prefix(), spec.name, spec.ahead, steps),
          fmt::format("its rows are streamed, and the rows of all {} of a launch must be on the "
                      "device before it",
                      counted(steps, "step")),
          fmt::format("set ahead: {} (with {}, no rows are copied during a launch), or "
                      "train.steps_per_launch: {}",
                      2 * steps, steps, spec.ahead)});
  }
}

std::uint64_t StepLauncher::next(StepRunner& runner, std::uint64_t step, std::uint64_t last) {
  runner.select_phase(context_.stream, task_.select_phase(step));
  return runner.next_launch(steps_without_host(step, last));
}

/// Number of steps from `step` until the host must act between two steps; limited by `last` and
/// train.steps_per_launch. The host acts to report metrics, to evaluate, to write a
/// checkpoint, to train another network, or to show the first batch of a source.
std::uint64_t StepLauncher::steps_without_host(std::uint64_t step, std::uint64_t last) const {
  const TrainConfig& train = config_.train;
  std::uint64_t end = std::min(last, task_.next_phase());
  for (const std::int64_t every :
       {train.log_every, train.checkpoint_every, config_.evaluation.every}) {
    if (every == 0) continue;
    const auto interval = static_cast<std::uint64_t>(every);
    end = std::min(end, (step / interval + 1) * interval);
  }
  end = std::min(end, step + static_cast<std::uint64_t>(train.steps_per_launch));
  for (std::uint64_t shown = step; shown + 1 < end; ++shown)
    if (brings_a_source(mixture_, shown)) return shown + 1 - step;
  return end - step;
}

std::optional<Error> StepLauncher::prepare(std::uint64_t step, std::uint64_t count) {
  try {
    mixture_.before_step(context_.stream, step, count);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::data) throw;
    return error;
  }
  return std::nullopt;
}

void StepLauncher::launch(StepRunner& runner, std::uint64_t step, std::uint64_t count) {
  Stream& stream = context_.stream;
  const auto begin = std::chrono::steady_clock::now();
  runner.run(stream, step, count);
  if (context_.device().is_cpu()) {
    const double seconds = seconds_since(begin) / static_cast<double>(count);
    for (std::uint64_t i = 0; i < count; ++i) stream.active_threads()->step(seconds);
  }
  mixture_.after_step(stream, step, count);
}

}  // namespace wellspring
