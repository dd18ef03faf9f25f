#include "train/step/step_runner.h"

#include "core/error.h"
#include "core/measure/trace.h"

#include <fmt/format.h>

#include <utility>

namespace wellspring {

void StepRunner::run(Stream& stream, std::uint64_t step, std::uint64_t count) {
  if (mode_ != GraphMode::off && !graph_ && runs_ >= warm_up_) record(stream);
  if (!graph_) {
    enqueue(stream, step, count);
  } else if (mode_ == GraphMode::check) {
    check(stream, step, count);
  } else {
    replay(stream, step, count);
  }
  runs_ += count;
}

void StepRunner::select_phase(Stream& stream, std::size_t phase) {
  if (std::exchange(phase_, phase) == phase) return;
  stream.synchronize();
  graph_.reset();
  several_.reset();
  runs_ = 0;
}

void StepRunner::record(Stream& stream) {
  stream.synchronize();
  graph_ = StepGraph::record(stream, enqueue_);
  if (tell_) tell_(graph_->census(), 1);
  if (most_ == 1 || stream.device().is_cpu()) return;
  several_ = StepGraph::record(stream, [this](Stream& recorded) {
    for (std::uint64_t i = 0; i < most_; ++i) enqueue_(recorded);
  });
  if (tell_) tell_(several_->census(), most_);
}

void StepRunner::enqueue(Stream& stream, std::uint64_t step, std::uint64_t count) {
  for (const std::uint64_t end = step + count; step < end; ++step) {
    const TraceSpan span(stages::kStep, static_cast<std::int64_t>(step));
    enqueue_(stream);
  }
}

void StepRunner::replay(Stream& stream, std::uint64_t step, std::uint64_t count) {
  const std::uint64_t launches = several_ && count == most_ ? 1 : count;
  StepGraph& graph = launches < count ? *several_ : *graph_;
  for (std::uint64_t i = 0; i < launches; ++i) {
    const TraceSpan span(stages::kStep, static_cast<std::int64_t>(step + i));
    graph.launch(stream);
  }
}

void StepRunner::check(Stream& stream, std::uint64_t step, std::uint64_t count) {
  const std::vector<StateBlock> state = memory_.state();
  before_.save(stream, state);
  enqueue(stream, step, count);
  eager_.save(stream, state);
  before_.restore(stream, state);
  replay(stream, step, count);
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
