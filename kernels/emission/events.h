// Emission of events and sets of items: features that are written into a row. Called by the
// emitters; host and device.
//
// A functor has
//
//     static constexpr forms::Events kForm;             with a launch bound, if it needs many
//                                                       registers
//     static constexpr int kLatents;                    and kTargets or kLabels, if it has any
//     SampleLayout layout() const;                      SampleLayout::event or ::set, with globals,
//                                                       or ::image, which is also a row of values
//     template <class Run>
//     void make(Run&) const;                            one thread makes a run (event_run.h)
//
// If a whole team makes each event, kForm is a forms::EventTeams, and the functor has
//
//     int members() const;                              threads per team; fewer than 32 if the form
//                                                       sets `.shares_warps = true`
//     std::size_t scratch_bytes() const;                bytes of scratch for make
//     template <class Team, class Row>
//     void make(Team&, const SampleKey&, Row&, TruthOf<F>&) const;
//
// With `.cells = true` it also has integer cells to scatter into. They are uninitialised, and are
// in the team's scratch if they fit, otherwise in planned memory:
//
//     using EventCell = std::uint64_t;  WS_HD std::int64_t cells() const;
//     void make(Team&, const SampleKey&, Row&, TruthOf<F>&, EventCell*) const;
//
// `Row` is a RowWriter; its set_item and set_features write neighbouring features together. The
// members of a team write different features of a row, and all members call set_count with the same
// number. Only the truth of rank 0 is used.
#pragma once

#include "kernels/augment/emit_call.h"
#include "kernels/batch/sample.h"
#include "kernels/batch/set_count.h"
#include "kernels/emission/event_run.h"
#include "kernels/emission/forms.h"
#include "kernels/runtime/dtype.h"
#include "kernels/runtime/launch_bound.h"
#include "kernels/runtime/launcher.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/memory_plan.h"

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace wellspring {

namespace detail {
struct NoCell {};
template <class F>
struct EventCellOf {
  using type = NoCell;
};
template <ScattersEvents F>
struct EventCellOf<F> {
  using type = typename F::EventCell;
};
}  // namespace detail

/// Map functor: iteration t makes rows [t rows_a_turn, (t + 1) rows_a_turn) of the batch; on a
/// device, row t.
template <class F, class T>
struct MakeEvents {
  static constexpr RunsOn kRunsOn = detail::kRunsOn<T>;
  static constexpr LaunchBound kLaunchBound = F::kForm.bound;
  F event;
  const Slot* slots;
  std::uint32_t source;
  std::uint64_t seed;
  std::int64_t rows_a_turn;
  BatchView batch;
  const float* latents;

  WS_HD void operator()(std::int64_t turn) const {
    constexpr int kLanes = WS_EVENT_LANES;
    if constexpr (kLanes == 1) {
      if (slots[turn].source == source) make<1>(&turn);
    } else {
      const std::int64_t first = turn * rows_a_turn, past = first + rows_a_turn;
      std::int64_t rows[kLanes];
      int found = 0;
      for (std::int64_t b = first; b < past && b < batch.size; ++b) {
        if (slots[b].source != source) continue;
        rows[found++] = b;
        if (found < kLanes) continue;
        make<kLanes>(rows);
        found = 0;
      }
      for (int i = 0; i < found; ++i) make<1>(rows + i);
    }
  }

 private:
  template <int N>
  WS_INLINE void make(const std::int64_t* rows) const {
    EventRun<F, T, N> run(batch, slots, seed, rows, latents);
    event.make(run);
    run.finish();
  }
};

/// Team functor: one team per event.
template <class F, class T>
struct MakeEventsInTeams {
  F event;
  const Slot* slots;
  std::uint32_t source;
  std::uint64_t seed;
  BatchView batch;
  typename detail::EventCellOf<F>::type* cells;  ///< for all rows; null if none or in scratch

  static constexpr RunsOn kRunsOn = detail::kRunsOn<T>;
  static constexpr LaunchBound kLaunchBound = F::kForm.bound;
  static constexpr bool kSharesWarps = F::kForm.shares_warps;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t b) const {
    const Slot slot = slots[b];
    if (slot.source != source) return;
    TruthOf<F> truth;
    RowWriter<T> row(batch, b);
    const SampleKey key{{seed, slot.sample}, slot, batch.layout.shape()};
    if constexpr (ScattersEvents<F>) {
      const std::int64_t count = event.cells();
      auto* const own =
          cells != nullptr
              ? cells + b * count
              : team.template scratch<typename F::EventCell>(static_cast<std::size_t>(count));
      event.make(team, key, row, truth, own);
    } else {
      event.make(team, key, row, truth);
    }
    row.finish(team.rank(), team.size());
    if (team.rank() == 0) detail::write_truth(batch, b, truth);
  }
};

/// Planned memory and launch of event functors.
template <class F>
class EventEmitter {
  using Cell = typename detail::EventCellOf<F>::type;

 public:
  /// `most_scratch`: scratch limit per team, bytes; more cells use planned memory.
  void plan([[maybe_unused]] MemoryPlan& memory, [[maybe_unused]] const std::string& group,
            [[maybe_unused]] std::int64_t rows, [[maybe_unused]] const F& event,
            [[maybe_unused]] std::size_t most_scratch) {
    expect_kernels(memory);
    if constexpr (ScattersEvents<F>) {
      static_assert(std::is_integral_v<Cell>, "sums of floats depend on their order");
      cells_ = {};
      const TeamShape shape{event.members(), scratch_with_cells(event)};
      if (block_scratch_bytes(shape) <= most_scratch) return;
      cells_ = memory.reserve<Cell>(group, "cells", static_cast<std::size_t>(rows * event.cells()));
    }
  }

  template <class Launcher>
  void emit(const Launcher& launch, std::string_view name, const F& event,
            const EmitCall& call) const {
    detail::visit_x<F>(launch.device(), call.batch.dtype, [&]<class T>(T) {
      if constexpr (MakesEventsInTeams<F>) {
        launch.league(name, call.batch.size, TeamShape{event.members(), scratch_bytes(event, call)},
                      MakeEventsInTeams<F, T>{event, call.slots, call.source, call.seed, call.batch,
                                              cells_.data()});
      } else {
        const std::int64_t at_once = rows_a_turn(launch.device());
        launch.map(name, (call.batch.size + at_once - 1) / at_once,
                   MakeEvents<F, T>{event, call.slots, call.source, call.seed, at_once, call.batch,
                                    call.latents});
      }
    });
  }

 private:
  /// Showers keep their partons in local memory, several KiB per thread.
  static void expect_kernels([[maybe_unused]] MemoryPlan& memory) {
#if WELLSPRING_CUDA
    if (memory.device().is_cpu()) return;
    for (const DType dtype : {DType::f32, DType::bf16}) {
      detail::visit_x<F>(memory.device(), dtype, [&]<class T>(T) {
        if constexpr (detail::kRunsOn<T> == RunsOn::device) {
          if constexpr (MakesEventsInTeams<F>) {
            memory.expect_kernel(cuda::league_kernel<MakeEventsInTeams<F, T>>());
          } else {
            memory.expect_kernel(cuda::map_kernel<MakeEvents<F, T>>());
          }
        }
      });
    }
#endif
  }
  /// On a host, several runs per iteration, because few rows of a mixture may belong to this
  /// source.
  static std::int64_t rows_a_turn(Device device) {
    return device.is_cpu() ? 4 * WS_EVENT_LANES : 1;
  }
  static std::size_t scratch_with_cells(const F& event) {
    return event.scratch_bytes() + static_cast<std::size_t>(event.cells() + 1) * sizeof(Cell);
  }
  std::size_t scratch_bytes(const F& event, [[maybe_unused]] const EmitCall& call) const {
    if constexpr (ScattersEvents<F>) {
      if (!cells_) return scratch_with_cells(event);
      if (static_cast<std::int64_t>(cells_.size()) < call.batch.size * event.cells()) {
        throw std::logic_error("events: the batch has more rows than planned");
      }
    }
    return event.scratch_bytes();
  }

  Planned<Cell> cells_;  ///< empty if the cells are in scratch
};

}  // namespace wellspring
