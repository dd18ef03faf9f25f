#include "train/step/step_marks.h"

#include "train/step/snapshot.h"

namespace wellspring {

StepMarks::StepMarks(Stream& stream, std::size_t count) : stream_(stream) {
  for (std::size_t i = 0; i < 2 * count + 1; ++i)
    marks_.push_back(std::make_unique<Event>(stream.device(), true));
  stream.synchronize();
  begin_ = std::chrono::steady_clock::now();
  record();
}

StepTimes StepMarks::times() {
  stream_.synchronize();
  StepTimes times;
  times.wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  for (std::size_t i = 2; i < recorded_; i += 2) {
    const Event& before = *marks_[i - 2];
    times.steps.push_back(1e-3 * marks_[i]->milliseconds_since(before));
    times.waits.push_back(1e-3 * marks_[i - 1]->milliseconds_since(before));
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
  for (std::uint64_t i = 0; i < count; ++i) {
    marks.data_ready();
    runners[i % runners.size()].run(stream, step);
    marks.step_ended();
  }
  const StepTimes times = marks.times();
  state.restore(stream, memory.state());
  return times;
}

}  // namespace wellspring
