#include "kernels/active_threads.h"

#include <algorithm>

namespace wellspring {

void ActiveThreads::report(double expected, double elapsed) {
  expected_ += expected;
  elapsed_ += elapsed;
  if (elapsed_ < kWindow) return;
  const double speed = count_ * expected_ / elapsed_;
  if (before_ > 0) {
    if (speed < speed_) count_ = before_;
    before_ = 0;
    rest_ = kPatience;
  } else if (rest_ > 0) {
    --rest_;
  } else if (elapsed_ > 2 * expected_ && count_ > 1) {
    try_with((count_ + 1) / 2, speed);
  } else if (count_ < most_) {
    try_with(std::min(most_, 2 * count_), speed);
  }
  expected_ = elapsed_ = 0;
}

void ActiveThreads::try_with(int count, double speed) {
  before_ = count_;
  speed_ = speed;
  count_ = count;
}

}  // namespace wellspring
