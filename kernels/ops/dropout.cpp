#include "kernels/ops/dropout.h"

#include "kernels/runtime/launch.h"

namespace wellspring::ops {
namespace {

std::uint32_t drop_threshold(float rate) {
  return static_cast<std::uint32_t>(static_cast<double>(rate) * 0x1p32);
}

}  // namespace

void dropout(Stream& stream, const DropoutSpec& spec, const Slot* slots, const StepState* state,
             const void* x, void* y) {
  visit_float(spec.compute, [&]<class T>(T) {
    league(stream, "dropout", spec.rows * chunks(spec.columns), {kChunkTeam},
           DropoutApply<T>{static_cast<const T*>(x), static_cast<T*>(y), slots, state, spec.key,
                           spec.columns, chunks(spec.columns), drop_threshold(spec.rate),
                           1 / (1 - spec.rate)});
  });
}

void drop_path(Stream& stream, const DropoutSpec& spec, const Slot* slots, const StepState* state,
               const void* x, void* y) {
  const RowBlocks blocks = RowBlocks::of(spec.rows, spec.columns, spec.columns % kPack == 0);
  visit_float(spec.compute, [&]<class T>(T) {
    league(stream, "drop_path", blocks.teams(), {kChunkTeam},
           DropPathApply<T>{static_cast<const T*>(x), static_cast<T*>(y), slots, state, spec.key,
                            drop_threshold(spec.rate), 1 / (1 - spec.rate), blocks});
  });
}

}  // namespace wellspring::ops
