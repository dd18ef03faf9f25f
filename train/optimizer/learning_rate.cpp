#include "train/optimizer/learning_rate.h"

#include "kernels/runtime/launch.h"

namespace wellspring::ops {

void begin_step(Stream& stream, const ScheduleSpec& schedule, StepState* state) {
  league(stream, "begin_step", 1, {kWarp}, BeginStep{schedule, state});
}

}  // namespace wellspring::ops
