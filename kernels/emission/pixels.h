// Emission of images that a per-pixel formula defines. One pass goes from coordinates to stored
// values: place, evaluate, colour, normalise, cast, write NHWC. There is no intermediate image in
// memory. Called by the emitters; host and device.
//
// A functor of this form has, in addition to the requirements of scene_buffer.h,
//
//     static constexpr forms::Pixels kForm;              states the optional hooks
//     Rgb at(const Scene&, PixelCoordinate) const;       a colour per pixel, or
//     template <int N> void shade(const Scene&, const PixelRun<N>&, ColourRun<N>&) const;
//
// `shade` gets a run of neighbouring pixels, so that decisions about the whole sample stay outside
// the pixel loop, which then vectorises. Results must not depend on N or on the size of the team.
// For pixels that share preparatory work, see tiles.h.
#pragma once

#include "kernels/emission/paint.h"
#include "kernels/emission/scene_buffer.h"
#include "kernels/emission/tiles.h"
#include "kernels/runtime/launch.h"
#include "kernels/runtime/launch_bound.h"

#include <cstdint>
#include <string_view>

namespace wellspring {

namespace detail {

template <class F, int N>
WS_INLINE void shade_each(const F& image, const typename F::Scene& scene, const PixelRun<N>& run,
                          ColourRun<N>& colour) {
  if constexpr (requires { image.shade(scene, run, colour); }) {
    image.shade(scene, run, colour);
  } else {
    WS_LANES
    for (int i = 0; i < N; ++i) {
      const Rgb c = image.at(scene, {run.x[i], run.y[i], run.footprint});
      colour.r[i] = c.r;
      colour.g[i] = c.g;
      colour.b[i] = c.b;
    }
  }
}

}  // namespace detail

/// Team functor: one team per tile of a sample.
template <class F, class T>
struct PaintImages {
  F image;
  const Slot* slots;
  std::uint32_t source;
  const DrawnImage<F>* drawn;
  BatchView batch;
  Tiling tiling;

  static constexpr RunsOn kRunsOn = detail::kRunsOn<T>;
  static constexpr LaunchBound kLaunchBound = detail::pixel_bound<F>();

  /// Estimated cost of a tile, for the scheduling of host threads.
  float cost(std::int64_t index) const requires TellsCost<F> {
    const std::int64_t b = index / tiling.count();
    return slots[b].source == source ? image.cost(drawn[b].scene) : 0;
  }

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t index) const {
    const std::int64_t b = index / tiling.count();
    if (slots[b].source != source) return;  // the same for every member, so no barrier diverges
    const DrawnImage<F>& sample = detail::fetch<F>(team, drawn + b);
    const PixelTile tile =
        tiling.tile(static_cast<int>(index % tiling.count()), batch.layout.shape());
    if constexpr (PreparesTiles<F>) {
      const auto prepared = image.prepare(team, sample.scene, sample.view, tile);
      detail::paint_tile<T>(team, sample.view, tile, batch, b, [&](const auto& run, auto& colour) {
        image.shade(sample.scene, prepared, run, colour);
      });
    } else {
      detail::paint_tile<T>(team, sample.view, tile, batch, b, [&](const auto& run, auto& colour) {
        detail::shade_each(image, sample.scene, run, colour);
      });
    }
  }
};

/// Planned memory and launches of pixel and tile functors: two launches per batch.
template <class F>
class PixelEmitter {
 public:
  void plan(MemoryPlan& memory, const std::string& group, std::int64_t rows,
            const LatentRoles& roles = {}) {
    drawn_.plan(memory, group, rows, roles);
  }

  /// `source_shape`: shape of the image that the functor describes; for formulas it is the layout's
  /// shape.
  template <class Launcher>
  void emit(const Launcher& launch, std::string_view name, const F& image, SampleShape source_shape,
            const EmitCall& call) const {
    const DrawnImage<F>* const drawn = drawn_.draw(launch, name, image, source_shape, call);
    const Tiling tiling = tiles(image, call.batch.layout.shape(), call.batch.size, launch.device());
    const TeamShape team{detail::members_of(tiling), scratch_bytes(image, launch.device())};
    detail::visit_x<F>(launch.device(), call.batch.dtype, [&]<class T>(T) {
      launch.league(name, call.batch.size * tiling.count(), team,
                    PaintImages<F, T>{image, call.slots, call.source, drawn, call.batch, tiling});
    });
  }

  /// Square tiles if the functor prepares tiles; otherwise bands of rows.
  static Tiling tiles(const F& image, SampleShape shape, std::int64_t rows, Device device) {
    if constexpr (PreparesTiles<F>) {
      const int side = tile_needs_of(image, !device.is_cuda()).side;
      return Tiling::of(shape, side, side);
    } else {
      return detail::bands_for(device, shape, rows, F::kForm.band);
    }
  }
  static std::size_t scratch_bytes(const F& image, Device device) {
    std::size_t bytes = detail::drawn_scratch<F>();
    if constexpr (PreparesTiles<F>) bytes += tile_needs_of(image, !device.is_cuda()).scratch_bytes;
    return bytes;
  }

 private:
  DrawnImages<F> drawn_;
};

}  // namespace wellspring
