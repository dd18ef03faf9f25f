#include "train/run_progress.h"

#include "core/signals.h"
#include "train/metrics/rates.h"

#include <numeric>

namespace wellspring {

void RunClock::start() {
  began_ = checkpointed_ = Clock::now();
  paused_ = {};
}

void RunClock::exclude(Clock::time_point begin, Pause pause) {
  paused_[static_cast<std::size_t>(pause)] += seconds_since(begin);
}

double RunClock::training_seconds() const {
  return spent().training;
}

RunTime RunClock::spent() const {
  const auto paused = [this](Pause pause) { return paused_[static_cast<std::size_t>(pause)]; };
  RunTime time;
  time.total = seconds_since(began_);
  time.training = time.total - std::accumulate(paused_.begin(), paused_.end(), 0.0);
  time.start = paused(Pause::start);
  time.evaluations = paused(Pause::evaluation);
  time.checkpoints = paused(Pause::checkpoint);
  time.pictures = paused(Pause::picture);
  return time;
}

bool RunClock::checkpoint_due() const {
  return seconds_since(checkpointed_) >= checkpoint_seconds_;
}

RunDecision decide(RunContext& context, const RunClock& clock, const BestKeeper& best,
                   TrainObserver& observer, bool damaged) {
  int interrupted = interrupt_requested() ? 1 : 0, ranks_damaged = damaged ? 1 : 0;
  int out_of_patience = 0, out_of_time = 0, checkpoint_due = 0, checkpoint_now = 0;
  if (context.is_first()) {
    out_of_patience = best.out_of_patience() ? 1 : 0;
    out_of_time = clock.out_of_time() ? 1 : 0;
    checkpoint_due = clock.checkpoint_due() ? 1 : 0;
    checkpoint_now = observer.wants_checkpoint() ? 1 : 0;
  }
  sum_over_ranks(context.ranks, [&](auto f) {
    for (int* const flag : {&interrupted, &ranks_damaged, &out_of_patience, &out_of_time,
                            &checkpoint_due, &checkpoint_now})
      f(*flag);
  });
  RunDecision decision;
  decision.checkpoint_due = checkpoint_due > 0;
  decision.checkpoint_now = checkpoint_now > 0;
  decision.damaged = ranks_damaged > 0;
  if (out_of_patience > 0)
    decision.end = RunStatus::out_of_patience;
  else if (out_of_time > 0)
    decision.end = RunStatus::out_of_time;
  else if (interrupted > 0)
    decision.end = RunStatus::interrupted;
  return decision;
}

}  // namespace wellspring
