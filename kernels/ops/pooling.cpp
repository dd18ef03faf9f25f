#include "kernels/ops/pooling.h"

#include "core/error.h"
#include "kernels/ops/window_pooling.h"
#include "kernels/runtime/launch.h"

#include <fmt/format.h>

namespace wellspring::ops {
namespace {

bool tiles_of_two(const PoolSpec& spec) {
  return spec.window == 2 && spec.stride == 2 && spec.padding == 0;
}

WindowGeometry geometry_of(const PoolSpec& spec) {
  // Every window must contain a pixel; less than half of a window may extend over an edge.
  if (spec.window < 1 || spec.window > kMaxWindow || spec.stride < 1 || spec.padding < 0 ||
      2 * spec.padding > spec.window || spec.height + 2 * spec.padding < spec.window ||
      spec.width + 2 * spec.padding < spec.window)
    fail(ErrorKind::config,
         {fmt::format("max pooling of {}x{} pixels over windows of side {}, stride {}, padding {}",
                      spec.height, spec.width, spec.window, spec.stride, spec.padding),
          fmt::format("windows have a side of at most {}, a stride of at least 1 and a padding of "
                      "at most half their side, and one of them must fit",
                      kMaxWindow)});
  return {spec.height,      spec.width,  spec.channels, spec.out_height(),
          spec.out_width(), spec.window, spec.stride,   spec.padding};
}

}  // namespace

void max_pool_forward(Stream& stream, const PoolSpec& spec, const void* x, void* y,
                      std::uint8_t* winner) {
  visit_float(spec.compute, [&]<class T>(T) {
    if (!tiles_of_two(spec)) {
      league(stream, "max_window_forward", spec.batch * spec.out_height(), {kChunkTeam},
             MaxWindowForward<T>{static_cast<const T*>(x), static_cast<T*>(y), winner,
                                 geometry_of(spec), spec.activation});
      return;
    }
    league(stream, "max_pool_forward", spec.batch * (spec.height / 2), {kChunkTeam},
           MaxPoolForward<T>{static_cast<const T*>(x), static_cast<T*>(y), winner, spec.height,
                             spec.width, spec.channels, spec.activation});
  });
}

void max_pool_backward(Stream& stream, const PoolSpec& spec, const void* dy,
                       const std::uint8_t* winner, void* dx) {
  visit_float(spec.compute, [&]<class T>(T) {
    if (!tiles_of_two(spec)) {
      league(stream, "max_window_backward", spec.batch * spec.height, {kChunkTeam},
             MaxWindowBackward<T>{static_cast<const T*>(dy), winner, static_cast<T*>(dx),
                                  geometry_of(spec)});
      return;
    }
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
