// The whole-image pass, for colour operations that need the whole image, a pixel's neighbours or
// long code. It runs after emission, with one team per image. The team computes the statistics of
// an operation, applies it together with the pointwise operations that follow, and continues with
// the next. An image without such operations is finished at once. Sums are integers, so the result
// depends neither on the team size nor on the device. Called by augmentation_passes.h; host and
// device.
#pragma once

#include "kernels/augment/augmentation.h"
#include "kernels/augment/augmentation_buffer.h"
#include "kernels/augment/colour.h"
#include "kernels/augment/operations/operations.h"
#include "kernels/batch/pixel_run.h"
#include "kernels/runtime/launch_bound.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/team.h"

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace wellspring {

namespace detail {

/// True for operations of pixels that have statistics of the image (or NoStatistics).
template <class Op>
inline constexpr bool has_statistics = requires {
  typename Op::Statistics;
};

/// Size of the largest Statistics type among the operations.
constexpr std::size_t most_statistics() {
  std::size_t most = 1;
  augment::DrawnOperations::each([&]<class Op>() {
    if constexpr (has_statistics<Op>) {
      if (sizeof(typename Op::Statistics) > most) most = sizeof(typename Op::Statistics);
    }
  });
  return most;
}

/// Shared by a team: the sample's drawn augmentation and statistics of the image.
struct WholeImage {
  Augmentation view;
  augment::PatchMask mask;
  alignas(std::uint64_t) unsigned char bytes[most_statistics()];

  /// The statistics of an operation.
  template <class Op>
  WS_INLINE auto& of() {
    return *reinterpret_cast<typename Op::Statistics*>(bytes);
  }
};

/// Reads the pixels of a run. An image with one channel is grey.
template <int N>
WS_INLINE void load_run(const float* row, int channels, int count, ColourRun<N>& colour) {
  const int g = channels == 3 ? 1 : 0, b = channels == 3 ? 2 : 0;
  WS_LANES
  for (int i = 0; i < N; ++i) {
    const float* const pixel = row + (i < count ? i : count - 1) * channels;
    colour.r[i] = pixel[0];
    colour.g[i] = pixel[g];
    colour.b[i] = pixel[b];
  }
}

}  // namespace detail

/// Team functor: processes one sample from the emission pass's output into the batch or the blur's
/// input.
template <class T>
struct FinishWholeImages {
  const Augmentation* drawn;  ///< [rows]
  const Slot* slots;
  std::uint32_t source;
  SampleShape shape;
  float* images;            ///< [rows, shape]; output of emission and input of a blur
  float* spare;             ///< [rows, shape]
  T* out;                   ///< x of the batch; null if a blur follows
  bool after_blur = false;  ///< true: applies the steps after the blur

  /// Leaves 80 registers per thread; with 64, the operations would spill some.
  static constexpr LaunchBound kLaunchBound = {384, 2};

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t b) const {
    if (slots[b].source != source) return;  // the same for the whole team
    auto* const shared = team.template scratch<detail::WholeImage>(1);
    copy_together(team, drawn + b, &shared->view);
    team.sync();
    const Augmentation& view = shared->view;
    if (out != nullptr && team.rank() == 0) shared->mask.draw(view, shape);
    const std::int64_t first = b * shape.elements();
    bool moved = false;  // true: the values are in `spare`
    int step = after_blur ? view.colour_before_blur : view.colour_at_emission;
    const int end = after_blur ? view.colour_count : view.colour_before_blur;
    while (step < end || out != nullptr) {
      const bool begins_whole = step < end && is_whole(view.colour[step].op);
      const ColourStep whole = begins_whole ? view.colour[step] : ColourStep{};
      if (begins_whole) ++step;
      int next = step;
      while (next < end && !is_whole(view.colour[next].op)) ++next;
      if (filter(team, whole, (moved ? spare : images) + first, (moved ? images : spare) + first)) {
        moved = !moved;
        team.sync();
      }
      float* const values = (moved ? spare : images) + first;
      measure(team, whole.op, values, *shared);
      if (next >= end && out != nullptr) {
        team.sync();
        return apply(team, *shared, whole, step, next, values, out + first, true);
      }
      apply(team, *shared, whole, step, next, values, values, false);
      team.sync();
      step = next;
    }
    if (!moved) return;
    for (std::int64_t i = first + team.rank(); i < first + shape.elements(); i += team.size())
      images[i] = spare[i];
  }

  // The parts of the pass, which augmix_pass.h also calls.

  WS_INLINE static bool is_whole(AugmentOp op) {
    bool whole = false;
    augment::DrawnOperations::visit(
        op, [&]<class Op>() WS_INLINED { whole = Op::kInfo.stage == AugmentStage::whole; });
    return whole;
  }

  /// Called by all members. Applies an operation that needs neighbours; returns false for other
  /// operations. The condition must be a call: to nvcc, the address of a member template
  /// (`&Op::template filter<Team>`) is an error, which makes the condition false.
  template <class Team>
  WS_INLINE bool filter(Team& team, ColourStep whole, const float* from, float* to) const {
    bool filtered = false;
    augment::DrawnOperations::visit(whole.op, [&]<class Op>() WS_INLINED {
      if constexpr (requires { Op::filter(team, whole.value, shape, from, to); }) {
        Op::filter(team, whole.value, shape, from, to);
        filtered = true;
      }
    });
    return filtered;
  }

  /// Called by all members. Computes the statistics that the operation needs.
  template <class Team>
  WS_INLINE void measure(Team& team, AugmentOp op, const float* from,
                         detail::WholeImage& shared) const {
    augment::DrawnOperations::visit(op, [&]<class Op>() WS_INLINED {
      if constexpr (detail::has_statistics<Op>) {
        if constexpr (!std::is_empty_v<typename Op::Statistics>) {
          Op::measure(team, from, shape, shared.of<Op>());
          team.sync();
        }
      }
    });
  }

  /// Called by all members. Applies the operation, then the pointwise operations `begin` to `end` -
  /// 1, then, if `ends`, normalisation and the erased box.
  template <class Team, class Out>
  WS_INLINE void apply(Team& team, detail::WholeImage& shared, ColourStep whole, int begin, int end,
                       const float* from, Out* to, bool ends) const {
    constexpr int kRun = WS_RUN_LENGTH;
    for (OwnRuns<kRun> own(team, shape.width, shape.height); own.inside(); own.go_on()) {
      const int x = own.column(), y = own.row();
      const int count = shape.width - x < kRun ? shape.width - x : kRun;
      const int at = (y * shape.width + x) * shape.channels;
      ColourRun<kRun> colour;
      detail::load_run(from + at, shape.channels, count, colour);
      const WholeRun run = {shared.view, shape, x, y};
      augment::DrawnOperations::visit(whole.op, [&]<class Op>() WS_INLINED {
        if constexpr (detail::has_statistics<Op>)
          Op::change(run, whole.value, shared.of<Op>(), colour);
      });
      apply_colour(shared.view, begin, end, colour.r, colour.g, colour.b);
      if (ends) {
        normalise(shared.view, colour.r, colour.g, colour.b);
        augment::erase_box(shared.view, x, y, colour.r, colour.g, colour.b);
        augment::fill_box(shared.view, x, y, colour);
        shared.mask.apply(x, y, colour);
      }
      detail::store_run(colour, shape.channels, count, to + at);
    }
  }
};

}  // namespace wellspring
