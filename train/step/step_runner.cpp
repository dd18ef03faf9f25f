#include "train/step/step_runner.h"

#include "core/error.h"
#include "core/measure/trace.h"

#include <fmt/format.h>

namespace wellspring {

void StepRunner::run(Stream& stream, std::uint64_t step) {
  const TraceSpan span(stages::kStep, static_cast<std::int64_t>(step));
  if (mode_ != GraphMode::off && !graph_ && runs_ >= warm_up_) record(stream);
  if (!graph_) {
    enqueue_(stream);
  } else if (mode_ == GraphMode::check) {
    check(stream, step);
  } else {
    graph_->launch(stream);
  }
  ++runs_;
}

void StepRunner::restart(Stream& stream) {
  stream.synchronize();
  graph_.reset();
  runs_ = 0;
}

void StepRunner::record(Stream& stream) {
  stream.synchronize();
  graph_ = StepGraph::record(stream, enqueue_);
  if (tell_) tell_(graph_->census());
}

void StepRunner::check(Stream& stream, std::uint64_t step) {
  const std::vector<StateBlock> state = memory_.state();
  before_.save(stream, state);
  enqueue_(stream);
  eager_.save(stream, state);
  before_.restore(stream, state);
  graph_->launch(stream);
  replayed_.save(stream, state);
  const std::string difference = eager_.difference(replayed_, state);
  if (!difference.empty())
    fail(ErrorKind::runtime,
         {fmt::format("step {}: the recorded and the eager step differ in {}", step, difference),
          "both started from the same state; a node reads something other than device memory, or "
          "sums in a varying order",
          "train with --graph off and report this"});
}

}  // namespace wellspring
