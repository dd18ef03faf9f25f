// Emission of events and sets of items: features that are written into a row. Host and device.
//
// A functor of this form has
//
//     static constexpr int kLatents;                    and, where it has targets, kTargets
//     SampleLayout layout() const;                      SampleLayout::event or ::set, with globals
//     template <class Row>
//     void make(const SampleKey&, Row&, TruthOf<F>&) const;                by one thread, or
//     int members() const;                                                 by a team of as many:
//     template <class Team, class Row>
//     void make(Team&, const SampleKey&, Row&, TruthOf<F>&) const;
//
// `Row` is a RowWriter. Where a team makes a row, its members write different features, and all of
// them call set_count with the same number; rank 0's truth counts.
#pragma once

#include "kernels/dtype.h"
#include "kernels/emission/emit_call.h"
#include "kernels/emission/launcher.h"
#include "kernels/emission/sample.h"
#include "kernels/macros.h"

#include <cstdint>
#include <string_view>

namespace wellspring {

namespace detail {

/// Adds to a counter that other rows of the batch add to as well.
WS_INLINE void count_up(unsigned long long* counter, unsigned long long n) {
#if WS_DEVICE_CODE
  atomicAdd(counter, n);
#else
  __atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
#endif
}

}  // namespace detail

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
    if (rank != 0) return;
    if (batch_.count != nullptr) batch_.count[b_] = kept;
    if (kept < count_ && batch_.overflow != nullptr) {
      detail::count_up(&batch_.overflow->samples, 1);
      detail::count_up(&batch_.overflow->items, static_cast<unsigned long long>(count_ - kept));
    }
  }

 private:
  WS_INLINE T* x() const {
    return static_cast<T*>(batch_.x) + b_ * (std::int64_t{items()} * features());
  }

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

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t b) const {
    const Slot slot = slots[b];
    if (slot.source != source) return;
    TruthOf<F> truth;
    RowWriter<T> row(batch, b);
    event.make(team, SampleKey{{seed, slot.sample}, slot, batch.layout.shape()}, row, truth);
    row.finish(team.rank(), team.size());
    if (team.rank() == 0) detail::write_truth(batch, b, truth);
  }
};

/// The launch of event functors, which need no memory of their own.
template <class F>
class EventStage {
 public:
  template <class Launcher>
  void emit(const Launcher& launch, std::string_view name, const F& event,
            const EmitCall& call) const {
    visit_float(call.batch.dtype, [&]<class T>(T) {
      if constexpr (MakesEventsInTeams<F>) {
        launch.league(
            name, call.batch.size, TeamShape{event.members(), event.scratch_bytes()},
            MakeEventsInTeams<F, T>{event, call.slots, call.source, call.seed, call.batch});
      } else {
        launch.map(name, call.batch.size,
                   MakeEvents<F, T>{event, call.slots, call.source, call.seed, call.batch});
      }
    });
  }
};

}  // namespace wellspring
