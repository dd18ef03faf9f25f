#include "train/step/step_marks.h"

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

}  // namespace wellspring
