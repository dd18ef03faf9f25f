// Emission of events and sets of items: features that are written into a row. Host and device.
//
// A functor of this form has
//
//     static constexpr int kLatents;                    and, where it has any, kTargets or kLabels
//     SampleLayout layout() const;                      SampleLayout::event or ::set, with globals,
//                                                       or ::image, which is a row of values, too
//     template <class Row>
//     void make(const SampleKey&, Row&, TruthOf<F>&) const;                by one thread, or
//     int members() const;                                                 by a team of as many:
//     template <class Team, class Row>
//     void make(Team&, const SampleKey&, Row&, TruthOf<F>&) const;
//
// or, where it needs integer cells to scatter into, which lie in the team's scratch where they fit
// and in planned memory otherwise, and hold anything at the beginning:
//
//     using EventCell = std::uint64_t;  WS_HD std::int64_t cells() const;
//     void make(Team&, const SampleKey&, Row&, TruthOf<F>&, EventCell*) const;
//
// `Row` is a RowWriter. Where a team makes a row, its members write different features, and all of
// them call set_count with the same number; rank 0's truth counts.
#pragma once

#include "kernels/dtype.h"
#include "kernels/emission/emit_call.h"
#include "kernels/emission/launcher.h"
#include "kernels/emission/sample.h"
#include "kernels/emission/set_count.h"
#include "kernels/macros.h"
#include "kernels/memory_plan.h"

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace wellspring {

/// Where one sample's features go. T: element type of x.
template <class T>
class RowWriter {
 public:
  WS_INLINE RowWriter(const BatchView& batch, std::int64_t b) : batch_(batch), b_(b) {}

  /// Most items of a set; 1 for events.
  WS_INLINE int items() const { return batch_.layout.items; }
  WS_INLINE int features() const { return batch_.layout.features; }

  WS_INLINE void set(int feature, float value) { x()[feature] = static_cast<T>(value); }
  /// Items beyond the row's room are left out; set_count says how many there are.
  WS_INLINE void set(int item, int feature, float value) {
    if (item >= items()) return;
    x()[item * features() + feature] = static_cast<T>(value);
  }
  WS_INLINE void set_global(int index, float value) {
    if (batch_.globals != nullptr) batch_.globals[b_ * batch_.layout.globals + index] = value;
  }
  /// How many items the set has, before what has no room is left out. Not for events.
  WS_INLINE void set_count(int count) { count_ = count; }

  /// Members `rank` of `size` write what follows from the count: the items that do not exist are 0,
  /// and what had no room is counted.
  WS_INLINE void finish(int rank, int size) {
    if (batch_.layout.kind != SampleKind::set) return;
    const int kept = count_ < items() ? count_ : items();
    T* const row = x();
    for (int i = kept * features() + rank; i < items() * features(); i += size) {
      row[i] = static_cast<T>(0.f);
    }
    if (rank == 0) detail::write_count(batch_, b_, count_);
  }

 private:
  WS_INLINE T* x() const { return static_cast<T*>(batch_.x) + b_ * batch_.layout.elements(); }

  const BatchView& batch_;
  std::int64_t b_;
  int count_ = 0;
};

template <class F>
concept MakesEvents = requires(const F& event) {
  event.layout();
};
/// Events that a team makes.
template <class F>
concept MakesEventsInTeams = MakesEvents<F> && requires(const F& event) {
  event.members();
};

/// And that scatter into cells.
template <class F>
concept ScattersEvents = MakesEventsInTeams<F> && requires {
  typename F::EventCell;
};

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

/// Map functor: a thread an event.
template <class F, class T>
struct MakeEvents {
  F event;
  const Slot* slots;
  std::uint32_t source;
  std::uint64_t seed;
  BatchView batch;

  WS_HD void operator()(std::int64_t b) const {
    const Slot slot = slots[b];
    if (slot.source != source) return;
    TruthOf<F> truth;
    RowWriter<T> row(batch, b);
    event.make(SampleKey{{seed, slot.sample}, slot, batch.layout.shape()}, row, truth);
    row.finish(0, 1);
    detail::write_truth(batch, b, truth);
  }
};

/// Team functor: a team an event.
template <class F, class T>
struct MakeEventsInTeams {
  F event;
  const Slot* slots;
  std::uint32_t source;
  std::uint64_t seed;
  BatchView batch;
  typename detail::EventCellOf<F>::type* cells;  ///< of all rows; null: in scratch, or none

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
class EventStage {
  using Cell = typename detail::EventCellOf<F>::type;

 public:
  /// `most_scratch`: bytes that a team may have; cells that need more lie in the plan.
  void plan([[maybe_unused]] MemoryPlan& memory, [[maybe_unused]] const std::string& group,
            [[maybe_unused]] std::int64_t rows, [[maybe_unused]] const F& event,
            [[maybe_unused]] std::size_t most_scratch) {
    if constexpr (ScattersEvents<F>) {
      static_assert(std::is_integral_v<Cell>, "sums of floats depend on their order");
      cells_ = {};
      if (scratch_with_cells(event) <= most_scratch) return;
      cells_ = memory.reserve<Cell>(group, "cells", static_cast<std::size_t>(rows * event.cells()));
    }
  }

  template <class Launcher>
  void emit(const Launcher& launch, std::string_view name, const F& event,
            const EmitCall& call) const {
    visit_float(call.batch.dtype, [&]<class T>(T) {
      if constexpr (MakesEventsInTeams<F>) {
        launch.league(name, call.batch.size, TeamShape{event.members(), scratch_bytes(event, call)},
                      MakeEventsInTeams<F, T>{event, call.slots, call.source, call.seed, call.batch,
                                              cells_.data()});
      } else {
        launch.map(name, call.batch.size,
                   MakeEvents<F, T>{event, call.slots, call.source, call.seed, call.batch});
      }
    });
  }

 private:
  static std::size_t scratch_with_cells(const F& event) {
    return event.scratch_bytes() + static_cast<std::size_t>(event.cells() + 1) * sizeof(Cell);
  }
  std::size_t scratch_bytes(const F& event, [[maybe_unused]] const EmitCall& call) const {
    if constexpr (ScattersEvents<F>) {
      if (!cells_) return scratch_with_cells(event);
      if (static_cast<std::int64_t>(cells_.size()) < call.batch.size * event.cells()) {
        throw std::logic_error("events: a batch of more rows than were planned");
      }
    }
    return event.scratch_bytes();
  }

  Planned<Cell> cells_;  ///< none where they lie in scratch
};

}  // namespace wellspring
