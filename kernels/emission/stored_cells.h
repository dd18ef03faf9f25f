// Shading from values in device memory, such as the cells of a canvas or a frame of a field. Used
// by the emissions of canvases and fields; host and device.
#pragma once

#include "kernels/emission/paint.h"
#include "kernels/emission/scene_buffer.h"
#include "kernels/runtime/launch_bound.h"

#include <cstdint>
#include <string_view>

namespace wellspring {

/// Team functor: one team shades a tile from `planes`, which holds `stride` values per row of the
/// batch.
template <class F, class T, class Value>
struct ShadeStored {
  F image;
  const Slot* slots;
  std::uint32_t source;
  const DrawnImage<F>* drawn;
  BatchView batch;
  Tiling tiling;
  const Value* planes;
  std::int64_t stride;

  static constexpr RunsOn kRunsOn = detail::kRunsOn<T>;
  static constexpr LaunchBound kLaunchBound = detail::pixel_bound<F>();

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t index) const {
    const std::int64_t b = index / tiling.count();
    if (slots[b].source != source) return;
    const DrawnImage<F>& sample = detail::fetch<F>(team, drawn + b);
    const PixelTile tile =
        tiling.tile(static_cast<int>(index % tiling.count()), batch.layout.shape());
    const Value* const values = planes + b * stride;
    detail::paint_tile<T>(team, sample.view, tile, batch, b,
                          [&](const auto& run, auto& colour)
                              WS_INLINED { image.shade(sample.scene, values, run, colour); });
  }
};

/// Enqueues ShadeStored for all rows. `image.shade(scene, values, run, colour)` colours a run.
template <class Launcher, class F, class Value>
void shade_stored(const Launcher& launch, std::string_view name, const F& image,
                  const DrawnImage<F>* drawn, const EmitCall& call, const Value* planes,
                  std::int64_t stride) {
  const SampleShape shape = call.batch.layout.shape();
  const Tiling tiling = detail::bands_for(launch.device(), shape);
  detail::visit_x<F>(launch.device(), call.batch.dtype, [&]<class T>(T) {
    launch.league(name, call.batch.size * tiling.count(),
                  TeamShape{detail::members_of(tiling), detail::drawn_scratch<F>()},
                  ShadeStored<F, T, Value>{image, call.slots, call.source, drawn, call.batch,
                                           tiling, planes, stride});
  });
}

}  // namespace wellspring
