#include "kernels/ops/dropout.h"

#include "kernels/runtime/launch.h"

namespace wellspring::ops {

void dropout(Stream& stream, const DropoutSpec& spec, const Slot* slots, const StepState* state,
             const void* x, void* y) {
  visit_float(spec.compute, [&]<class T>(T) {
    league(stream, "dropout", spec.rows * chunks(spec.columns), {kChunkTeam},
           DropoutApply<T>{static_cast<const T*>(x), static_cast<T*>(y), slots, state, spec.key,
                           spec.columns, chunks(spec.columns),
                           static_cast<std::uint32_t>(static_cast<double>(spec.rate) * 0x1p32),
                           1 / (1 - spec.rate)});
  });
}

}  // namespace wellspring::ops
