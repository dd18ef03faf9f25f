#include "train/optimizer/gradient_accumulation.h"

#include "kernels/runtime/launch.h"

namespace wellspring::ops {

void add_gradients(Stream& stream, SumPart part, std::int64_t n, DType compute, void* gradient,
                   float* sum) {
  visit_float(compute, [&]<class T>(T) {
    league(stream, "add_gradients", chunks(n), {kChunkTeam},
           AddGradients<T>{part, static_cast<T*>(gradient), sum, n});
  });
}

}  // namespace wellspring::ops
