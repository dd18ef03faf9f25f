// The stage of a functor, whatever its form: the memory and the launches that make its samples.
// Host only.
#pragma once

#include "kernels/device.h"
#include "kernels/emission/bands.h"
#include "kernels/emission/canvas.h"
#include "kernels/emission/events.h"
#include "kernels/emission/field_stage.h"
#include "kernels/emission/lattice.h"
#include "kernels/emission/pixels.h"
#include "kernels/emission/plane.h"
#include "kernels/memory_plan.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace wellspring {

template <class F>
class Stage {
 public:
  /// `looked_at`: shape of what the functor describes; that of the layout, but for stored images.
  void plan(MemoryPlan& memory, const std::string& group, std::int64_t rows, const F& functor,
            SampleShape looked_at) {
    if constexpr (MakesEvents<F>) {
      stage_.plan(memory, group, rows, functor, scratch_limit(memory.device()));
    } else if constexpr (PaintsCanvas<F> || RelaxesLattice<F>) {
      stage_.plan(memory, group, rows, functor, looked_at, scratch_limit(memory.device()));
    } else if constexpr (PaintsBands<F>) {
      const bool on_host = memory.device().is_cpu();
      stage_.plan(memory, group, rows, functor, looked_at,
                  on_host ? kHostScratchBytes : scratch_limit(memory.device()),
                  on_host ? 1 : looked_at.height);
    } else if constexpr (EvolvesField<F>) {
      stage_.plan(memory, group, rows, functor);
    } else {
      stage_.plan(memory, group, rows);
    }
  }

  template <class Launcher>
  void emit(const Launcher& launch, std::string_view name, const F& functor, SampleShape looked_at,
            const EmitCall& call) const {
    if constexpr (MakesEvents<F>) {
      stage_.emit(launch, name, functor, call);
    } else {
      stage_.emit(launch, name, functor, looked_at, call);
    }
  }
  void emit(Stream& stream, std::string_view name, const F& functor, SampleShape looked_at,
            const EmitCall& call) const {
    emit(StreamLauncher{stream}, name, functor, looked_at, call);
  }

 private:
  static auto choose() {
    if constexpr (MakesEvents<F>) {
      return std::type_identity<EventStage<F>>{};
    } else if constexpr (PaintsCanvas<F>) {
      return std::type_identity<CanvasStage<F>>{};
    } else if constexpr (PaintsBands<F>) {
      return std::type_identity<BandStage<F>>{};
    } else if constexpr (EvolvesField<F>) {
      return std::type_identity<FieldStage<F>>{};
    } else if constexpr (RelaxesLattice<F>) {
      return std::type_identity<LatticeStage<F>>{};
    } else {
      return std::type_identity<PixelStage<F>>{};
    }
  }

  typename decltype(choose())::type stage_;
};

/// The same for the plane of truth of a functor: nothing at all where it has none.
template <class F>
class PlaneStage {
 public:
  void plan(MemoryPlan&, const std::string&, std::int64_t, const F&, SampleShape) {}
  template <class Launcher>
  void emit(const Launcher&, std::string_view, const F&, SampleShape, const EmitCall&) const {}
};

template <HasPlane F>
class PlaneStage<F> {
 public:
  void plan(MemoryPlan& memory, const std::string& group, std::int64_t rows, const F& functor,
            SampleShape looked_at) {
    stage_.plan(memory, group, rows, PlaneOf<F>(functor), looked_at);
  }
  /// Where the batch has a plane.
  template <class Launcher>
  void emit(const Launcher& launch, std::string_view name, const F& functor, SampleShape looked_at,
            const EmitCall& call) const {
    if (call.batch.plane == nullptr) return;
    stage_.emit(launch, name, PlaneOf<F>(functor), looked_at, plane_call(call));
  }

 private:
  Stage<PlaneOf<F>> stage_;
};

}  // namespace wellspring
