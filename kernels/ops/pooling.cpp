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
      const WindowGeometry in = geometry_of(spec);
      const ImageRows out = ImageRows::of(spec.batch, in.out_height, in.out_width, spec.channels);
      league(stream, "max_window_forward", out.teams(), {kChunkTeam},
             MaxWindowForward<T>{static_cast<const T*>(x), static_cast<T*>(y), winner, out, in,
                                 spec.activation});
      return;
    }
    const ImageRows out = ImageRows::of(spec.batch, spec.height / 2, spec.width / 2, spec.channels);
    league(stream, "max_pool_forward", out.teams(), {kChunkTeam},
           MaxPoolForward<T>{static_cast<const T*>(x), static_cast<T*>(y), winner, out, spec.height,
                             spec.width, spec.activation});
  });
}

void max_pool_backward(Stream& stream, const PoolSpec& spec, const void* dy,
                       const std::uint8_t* winner, void* dx) {
  visit_float(spec.compute, [&]<class T>(T) {
    if (!tiles_of_two(spec)) {
      const ImageRows in = ImageRows::of(spec.batch, spec.height, spec.width, spec.channels);
      league(stream, "max_window_backward", in.teams(), {kChunkTeam},
             MaxWindowBackward<T>{static_cast<const T*>(dy), winner, static_cast<T*>(dx), in,
                                  geometry_of(spec)});
      return;
    }
    // No window covers the last row or column of an odd side.
    if (spec.height % 2 != 0 || spec.width % 2 != 0) {
      const std::int64_t elements = spec.batch * spec.height * spec.width * spec.channels;
      stream.fill_zero(dx, static_cast<std::size_t>(elements) * sizeof(T), "max_pool_backward");
    }
    const ImageRows windows =
        ImageRows::of(spec.batch, spec.height / 2, spec.width / 2, spec.channels);
    league(stream, "max_pool_backward", windows.teams(), {kChunkTeam},
           MaxPoolBackward<T>{static_cast<const T*>(dy), winner, static_cast<T*>(dx), windows,
                              spec.height, spec.width});
  });
}

void global_mean_forward(Stream& stream, const PoolSpec& spec, const void* x, void* y) {
  const int pixels = spec.height * spec.width;
  const TeamShape team{
      channel_team(pixels, spec.channels),
      static_cast<std::size_t>(channel_slots(pixels, spec.channels)) * sizeof(float)};
  visit_float(spec.compute, [&]<class T>(T) {
    league(
        stream, "global_mean_forward", spec.batch, team,
        GlobalMeanForward<T>{static_cast<const T*>(x), static_cast<T*>(y), pixels, spec.channels});
  });
}

void global_mean_backward(Stream& stream, const PoolSpec& spec, const void* dy, void* dx) {
  const int pixels = spec.height * spec.width;
  visit_float(spec.compute, [&]<class T>(T) {
    league(stream, "global_mean_backward", spec.batch, {channel_team(pixels, spec.channels)},
           GlobalMeanBackward<T>{static_cast<const T*>(dy), static_cast<T*>(dx), pixels,
                                 spec.channels});
  });
}

}  // namespace wellspring::ops
