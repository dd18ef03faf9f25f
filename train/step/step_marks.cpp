#include "train/step/step_marks.h"

#include "core/measure/processor_load.h"
#include "train/step/snapshot.h"

namespace wellspring {

StepMarks::StepMarks(Stream& stream, std::size_t count) : stream_(stream) {
  for (std::size_t i = 0; i < 2 * count + 1; ++i)
    marks_.push_back(std::make_unique<Event>(stream.device(), true));
  stream.synchronize();
  processor_ = processor_seconds();
  begin_ = std::chrono::steady_clock::now();
  record();
}

StepTimes StepMarks::times() {
  stream_.synchronize();
  StepTimes times;
  times.wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  times.processor = processor_seconds() - processor_;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Event& before = *marks_[2 * i];
    const double seconds_per_ms = 1e-3 / static_cast<double>(steps_[i]);
    times.waits.insert(times.waits.end(), steps_[i],
                       seconds_per_ms * marks_[2 * i + 1]->milliseconds_since(before));
    times.steps.insert(times.steps.end(), steps_[i],
                       seconds_per_ms * marks_[2 * i + 2]->milliseconds_since(before));
  }
  return times;
}

StepTimes time_repeated(std::span<StepRunner> runners, bool first, Stream& stream,
                        const MemoryPlan& memory, std::uint64_t step, std::uint64_t count) {
  Snapshot state;
  state.save(stream, memory.state());
  runners.front().run(stream, step);  // warms the caches after the copy
  for (std::size_t k = 1; first && k < runners.size(); ++k)
    runners[k].run(stream, step);  // records
  StepMarks marks(stream, count);
  std::size_t k = 0;
  for (std::uint64_t done = 0, steps = 0; done < count; done += steps) {
    StepRunner& runner = runners[k++ % runners.size()];
    steps = runner.next_launch(count - done);
    marks.data_ready();
    runner.run(stream, step, steps);
    marks.launch_ended(steps);
  }
  const StepTimes times = marks.times();
  state.restore(stream, memory.state());
  return times;
}

}  // namespace wellspring
