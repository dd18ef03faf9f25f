#include "kernels/runtime/end_step.h"

#include "kernels/runtime/launch.h"

namespace wellspring {

void end_step(Stream& stream, StepState* state) {
  map(stream, "end_step", 1, EndStep{state});
}

}  // namespace wellspring
