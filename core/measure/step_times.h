// Times of consecutive steps. Returned by the trainer, read by benchmarks and by `diagnose`; host
// only.
#pragma once

#include <vector>

namespace wellspring {

struct StepTimes {
  std::vector<double> steps;  ///< seconds from the end of the previous step to the end of this one
  std::vector<double> waits;  ///< the part of each step before its data were on the device
  double wall = 0;            ///< total seconds of all steps, by the host's clock
  double processor = 0;       ///< processor time of this process in `wall`, seconds; 0: unknown
};

}  // namespace wellspring
