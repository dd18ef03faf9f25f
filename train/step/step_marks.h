// Marks on a stream that time consecutive steps. Called by the trainer when steps are measured; host
// only.
#pragma once

#include "core/measure/step_times.h"
#include "kernels/runtime/stream.h"

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

namespace wellspring {

class StepMarks {
 public:
  /// Creates all marks and waits for the stream; the clock starts here. At most `count` steps.
  StepMarks(Stream& stream, std::size_t count);
  /// The data of the next step are ready at this point of the stream.
  void data_ready() { record(); }
  void step_ended() { record(); }
  /// Waits for the stream.
  StepTimes times();

 private:
  void record() { marks_[recorded_++]->record(stream_); }

  Stream& stream_;
  std::vector<std::unique_ptr<Event>> marks_;  ///< start; then data ready and end of each step
  std::size_t recorded_ = 0;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace wellspring
