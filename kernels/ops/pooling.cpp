#include "kernels/ops/pooling.h"

#include "kernels/launch.h"

namespace wellspring::ops {

void max_pool_forward(Stream& stream, const PoolSpec& spec, const void* x, void* y,
                      std::uint8_t* winner) {
  visit_float(spec.compute, [&]<class T>(T) {
    league(stream, "max_pool_forward", spec.batch * (spec.height / 2), {kChunkTeam},
           MaxPoolForward<T>{static_cast<const T*>(x), static_cast<T*>(y), winner, spec.height,
                             spec.width, spec.channels, spec.activation});
  });
}

void max_pool_backward(Stream& stream, const PoolSpec& spec, const void* dy,
                       const std::uint8_t* winner, void* dx) {
  visit_float(spec.compute, [&]<class T>(T) {
    league(stream, "max_pool_backward", spec.batch * ((spec.height + 1) / 2), {kChunkTeam},
           MaxPoolBackward<T>{static_cast<const T*>(dy), winner, static_cast<T*>(dx), spec.height,
                              spec.width, spec.channels});
  });
}

void global_mean_forward(Stream& stream, const PoolSpec& spec, const void* x, void* y) {
  const auto scratch = static_cast<std::size_t>(channel_slots(spec.channels)) * sizeof(float);
  visit_float(spec.compute, [&]<class T>(T) {
    league(stream, "global_mean_forward", spec.batch, {kChunkTeam, scratch},
           GlobalMeanForward<T>{static_cast<const T*>(x), static_cast<T*>(y),
                                spec.height * spec.width, spec.channels});
  });
}

void global_mean_backward(Stream& stream, const PoolSpec& spec, const void* dy, void* dx) {
  visit_float(spec.compute, [&]<class T>(T) {
    league(stream, "global_mean_backward", spec.batch, {kChunkTeam},
           GlobalMeanBackward<T>{static_cast<const T*>(dy), static_cast<T*>(dx),
                                 spec.height * spec.width, spec.channels});
  });
}

}  // namespace wellspring::ops
