#include "kernels/runtime/active_threads.h"

#include <algorithm>
#include <sys/resource.h>

namespace wellspring {

long lost_cores() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

void ActiveThreads::step(double seconds) {
  if (most_ == 1) return;
  if (lost_before_ < 0) lost_before_ = lost_();
  ++steps_;
  seconds_ += seconds;
  if (seconds_ < kWindow) return;
  const long lost = lost_();
  const bool held = static_cast<double>(lost - lost_before_) >= kHeld * seconds_;
  const double speed = steps_ / seconds_;
  if (before_ > 0) {
    if (speed < speed_) count_ = before_;
    before_ = 0;
    rest_ = kPatience;
  } else if (rest_ > 0) {
    --rest_;
  } else if (held && count_ > 1) {
    try_with((count_ + 1) / 2, speed);
  } else if (count_ < most_) {
    try_with(std::min(most_, 2 * count_), speed);
  }
  lost_before_ = lost;
  steps_ = 0;
  seconds_ = 0;
}

void ActiveThreads::try_with(int count, double speed) {
  before_ = count_;
  speed_ = speed;
  count_ = count;
}

}  // namespace wellspring
