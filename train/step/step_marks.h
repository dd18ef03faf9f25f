// Marks on a stream that time consecutive steps. Called by the trainer when steps are measured; host
// only.
#pragma once

#include "core/measure/step_times.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/stream.h"
#include "train/step/step_runner.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace wellspring {

class StepMarks {
 public:
  /// Creates all marks and waits for the stream; the clock starts here. At most `count` launches.
  StepMarks(Stream& stream, std::size_t count);
  /// The data of the next launch are ready at this point of the stream.
  void data_ready() { record(); }
  /// The launch had `steps` steps.
  void launch_ended(std::uint64_t steps) {
    record();
    steps_.push_back(steps);
  }
  /// Waits for the stream. The steps of a launch have equal shares of its times.
  StepTimes times();

 private:
  void record() { marks_[recorded_++]->record(stream_); }

  Stream& stream_;
  std::vector<std::unique_ptr<Event>> marks_;  ///< start; then data ready and end of each launch
  std::vector<std::uint64_t> steps_;           ///< number of steps per launch
  std::size_t recorded_ = 0;
  std::chrono::steady_clock::time_point begin_;
  double processor_ = 0;  ///< processor time of the process at the start
};

/// Times `count` runs of `step` in launches that take the runners alternately, and restores the state.
/// `first`: they are not recorded yet.
StepTimes time_repeated(std::span<StepRunner> runners, bool first, Stream& stream,
                        const MemoryPlan& memory, std::uint64_t step, std::uint64_t count);

}  // namespace wellspring
