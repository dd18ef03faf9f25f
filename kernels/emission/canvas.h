// Emission of scattered images: points, walks and strokes are added to integer cells, once per
// sample, and pixels are then read from the cells. Called by the emitters; host and device.
//
// A functor of this form has, in addition to the requirements of scene_buffer.h,
//
//     static constexpr forms::Canvas kForm;              states the optional hooks
//     using Cell = std::uint32_t;                        32-bit or 64-bit integer; initially 0
//     std::int64_t cells(SampleShape source_shape) const;   number of cells per sample
//     int painters() const;                              teams per sample, if the cells are in
//                                                        device memory
//     template <class Team>
//     void paint(Team&, const Scene&, ScatterWork, Cell*) const;
//     template <int N>
//     void shade(const Scene&, const Cell*, const PixelRun<N>&, ColourRun<N>&) const;
//
// `paint` loops over its pieces of work: for (i = work.first; i < pieces; i += work.stride). It
// writes cells only with team.atomic_add, atomic_max and atomic_or, whose results do not depend on
// the order. If the order of strokes matters, the value encodes it. The number of pieces is a
// parameter of the sample and never depends on the team size. All members reach every barrier.
//
// If the form sets `.settles = true`, one team per sample runs `settle` between paint and shade.
// `settle` may use barriers. It is for results that depend on all cells (such as the largest count)
// or need several steps.
//
//     WS_INLINE bool settles() const;                    false: settle is skipped
//     template <class Team>
//     void settle(Team&, const Scene&, Cell*) const;     writes any cell; one member per cell
//
// If the form sets `.whole = true`, one team paints the whole sample, in scratch or in memory. The
// cells are not initialised. `paint` may use barriers, write cells directly between them, and store
// any bits in them, even floats. Instead of painters() and paint above, the functor has
//
//     std::size_t paint_scratch(SampleShape source_shape) const;   bytes that paint can use
//     template <class Team>
//     void paint(Team&, const Scene&, std::size_t scratch_bytes, Cell*) const;
//
// `scratch_bytes` is 0 if the cells are in scratch; otherwise it may be less than paint_scratch().
#pragma once

#include "kernels/emission/paint.h"
#include "kernels/emission/scene_buffer.h"
#include "kernels/emission/stored_cells.h"
#include "kernels/runtime/launch.h"
#include "kernels/runtime/launch_bound.h"
#include "kernels/runtime/memory_plan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace wellspring {

/// A member's share of a sample's pieces of work.
struct ScatterWork {
  std::int64_t first = 0, stride = 1;
};

/// Location of the cells of a sample.
enum class CanvasPlace : std::uint8_t {
  scratch,  ///< scratch memory of the one team that paints and shades the sample
  memory,   ///< planned memory: several teams paint, then several shade
};

/// Team functor for cells in scratch memory: one team makes a sample.
template <class F, class T>
struct PaintCanvasInScratch {
  F image;
  const Slot* slots;
  std::uint32_t source;
  const DrawnImage<F>* drawn;
  BatchView batch;
  std::int64_t cells;

  static constexpr RunsOn kRunsOn = detail::kRunsOn<T>;
  static constexpr LaunchBound kLaunchBound = kSampleTeam;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t b) const {
    if (slots[b].source != source) return;
    auto* const canvas = team.template scratch<typename F::Cell>(static_cast<std::size_t>(cells));
    if constexpr (!PaintsWhole<F>) {
      for (std::int64_t i = team.rank(); i < cells; i += team.size()) canvas[i] = 0;
    }
    const DrawnImage<F>& sample = detail::fetch<F>(team, drawn + b);  // ends with a barrier
    if constexpr (PaintsWhole<F>) {
      image.paint(team, sample.scene, std::size_t{0}, canvas);
    } else {
      image.paint(team, sample.scene, ScatterWork{team.rank(), team.size()}, canvas);
    }
    team.sync();
    if constexpr (SettlesCanvas<F>) {
      if (image.settles()) {
        image.settle(team, sample.scene, canvas);
        team.sync();
      }
    }
    const SampleShape shape = batch.layout.shape();
    const PixelTile whole = {0, 0, shape.width, shape.height};
    detail::paint_tile<T>(team, sample.view, whole, batch, b, [&](const auto& run, auto& colour) {
      image.shade(sample.scene, canvas, run, colour);
    });
  }
};

namespace detail {

/// Launch bound for teams that paint a sample in memory. If they paint whole samples, two teams per
/// multiprocessor leave 96 registers per thread, for work in registers and scratch.
template <class F>
constexpr LaunchBound scatter_bound() {
  return PaintsWhole<F> ? LaunchBound{320, 2} : kSampleTeam;
}

}  // namespace detail

/// Team functor for cells in planned memory: `painters` teams per sample, or one for whole samples.
template <class F>
struct ScatterCanvas {
  F image;
  const Slot* slots;
  std::uint32_t source;
  const DrawnImage<F>* drawn;
  typename F::Cell* canvas;
  std::int64_t cells;
  int painters;
  std::size_t paint_scratch;

  static constexpr LaunchBound kLaunchBound = detail::scatter_bound<F>();

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t index) const {
    const std::int64_t b = index / painters, painter = index % painters;
    if (slots[b].source != source) return;
    const DrawnImage<F>& sample = detail::fetch<F>(team, drawn + b);
    if constexpr (PaintsWhole<F>) {
      image.paint(team, sample.scene, paint_scratch, canvas + b * cells);
    } else {
      image.paint(team, sample.scene,
                  ScatterWork{painter * team.size() + team.rank(),
                              static_cast<std::int64_t>(painters) * team.size()},
                  canvas + b * cells);
    }
  }
};

/// Team functor for cells in planned memory: one team settles a sample.
template <class F>
struct SettleCanvas {
  F image;
  const Slot* slots;
  std::uint32_t source;
  const DrawnImage<F>* drawn;
  typename F::Cell* canvas;
  std::int64_t cells;

  static constexpr LaunchBound kLaunchBound = kSampleTeam;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t b) const {
    if (slots[b].source != source) return;
    const DrawnImage<F>& sample = detail::fetch<F>(team, drawn + b);
    image.settle(team, sample.scene, canvas + b * cells);
  }
};

/// Planned memory and launches of canvas functors.
template <class F>
class CanvasEmitter {
  using Cell = typename F::Cell;
  static_assert(std::is_integral_v<Cell> && (sizeof(Cell) == 4 || sizeof(Cell) == 8),
                "cells are 32-bit or 64-bit integers: sums of floats depend on their order");

 public:
  /// `most_scratch`: scratch limit per team, bytes; larger canvases use planned memory.
  void plan(MemoryPlan& memory, const std::string& group, std::int64_t rows, const F& image,
            SampleShape source_shape, std::size_t most_scratch, const LatentRoles& roles = {}) {
    drawn_.plan(memory, group, rows, roles);
    cells_ = image.cells(source_shape);
    place_ = scratch_bytes() <= most_scratch ? CanvasPlace::scratch : CanvasPlace::memory;
    canvas_ = {};
    if (place_ == CanvasPlace::memory) {
      canvas_ = memory.reserve<Cell>(group, "canvases", static_cast<std::size_t>(rows * cells_));
      if constexpr (PaintsWhole<F>) {
        constexpr std::size_t kOther = detail::drawn_scratch<F>() + kScratchAlignment;
        const std::size_t most = most_scratch > kOther ? most_scratch - kOther : 0;
        paint_scratch_ = std::min(image.paint_scratch(source_shape), most) / kScratchAlignment *
                         kScratchAlignment;
      }
    }
  }
  CanvasPlace place() const { return place_; }

  template <class Launcher>
  void emit(const Launcher& launch, std::string_view name, const F& image, SampleShape source_shape,
            const EmitCall& call) const {
    const DrawnImage<F>* const drawn = drawn_.draw(launch, name, image, source_shape, call);
    const std::int64_t rows = call.batch.size;
    if (place_ == CanvasPlace::scratch) {
      detail::visit_x<F>(launch.device(), call.batch.dtype, [&]<class T>(T) {
        launch.league(
            name, rows, TeamShape{kSampleTeam.threads, scratch_bytes()},
            PaintCanvasInScratch<F, T>{image, call.slots, call.source, drawn, call.batch, cells_});
      });
      return;
    }
    int painters = 1;
    if constexpr (!PaintsWhole<F>) {
      painters = image.painters();
      launch.zero(name, canvas_.data(), static_cast<std::size_t>(rows * cells_) * sizeof(Cell));
    }
    launch.league(name, rows * painters,
                  TeamShape{detail::scatter_bound<F>().threads,
                            detail::drawn_scratch<F>() +
                                (paint_scratch_ > 0 ? kScratchAlignment : 0) + paint_scratch_},
                  ScatterCanvas<F>{image, call.slots, call.source, drawn, canvas_.data(), cells_,
                                   painters, paint_scratch_});
    if constexpr (SettlesCanvas<F>) {
      if (image.settles()) {
        launch.league(
            name, rows, TeamShape{kSampleTeam.threads, detail::drawn_scratch<F>()},
            SettleCanvas<F>{image, call.slots, call.source, drawn, canvas_.data(), cells_});
      }
    }
    shade_stored(launch, name, image, drawn, call, canvas_.data(), cells_);
  }

 private:
  std::size_t scratch_bytes() const {
    return static_cast<std::size_t>(cells_) * sizeof(Cell) + sizeof(Cell) +
           detail::drawn_scratch<F>();
  }

  /// Alignment of a team's scratch for painting; the size of the scratch is a multiple of this.
  static constexpr std::size_t kScratchAlignment = 16;

  DrawnImages<F> drawn_;
  Planned<Cell> canvas_;
  std::int64_t cells_ = 0;
  std::size_t paint_scratch_ = 0;
  CanvasPlace place_ = CanvasPlace::scratch;
};

}  // namespace wellspring
