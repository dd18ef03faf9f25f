#include "kernels/active_threads.h"

#include <algorithm>

namespace wellspring {

void ActiveThreads::report(double expected, double elapsed) {
  expected_ += expected;
  elapsed_ += elapsed;
  if (elapsed_ < kWindow) return;
  if (count_ > 1 && elapsed_ > 2 * expected_) {
    count_ = (count_ + 1) / 2;
    rest_ = kPatience;
  } else if (count_ < most_ && --rest_ <= 0) {
    count_ = std::min(most_, 2 * count_);
  }
  expected_ = elapsed_ = 0;
}

}  // namespace wellspring
