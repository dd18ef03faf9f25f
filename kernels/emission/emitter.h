// The emitter of a functor of any form: the memory and launches that make its samples. Called by
// generators and sources; host only.
#pragma once

#include "kernels/emission/bands.h"
#include "kernels/emission/canvas.h"
#include "kernels/emission/events.h"
#include "kernels/emission/field_emitter.h"
#include "kernels/emission/form_checks.h"
#include "kernels/emission/lattice.h"
#include "kernels/emission/pixels.h"
#include "kernels/emission/plane.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/memory_plan.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace wellspring {

template <class F>
class Emitter {
  static_assert(detail::check_functor<F>());

 public:
  /// `source_shape`: shape of the image that the functor describes; it differs from the layout's
  /// shape only for stored images. `roles`: how augmentation maps the latents.
  void plan(MemoryPlan& memory, const std::string& group, std::int64_t rows, const F& functor,
            SampleShape source_shape, [[maybe_unused]] const LatentRoles& roles = {}) {
    if constexpr (MakesEvents<F>) {
      emitter_.plan(memory, group, rows, functor, scratch_limit(memory.device()));
    } else if constexpr (PaintsCanvas<F> || RelaxesLattice<F>) {
      emitter_.plan(memory, group, rows, functor, source_shape, scratch_limit(memory.device()),
                    roles);
    } else if constexpr (PaintsBands<F>) {
      const bool on_host = memory.device().is_cpu();
      emitter_.plan(memory, group, rows, functor, source_shape,
                    on_host ? kHostScratchBytes : scratch_limit(memory.device()),
                    on_host ? 1 : source_shape.height, roles);
    } else if constexpr (EvolvesField<F>) {
      emitter_.plan(memory, group, rows, functor, roles);
    } else {
      emitter_.plan(memory, group, rows, roles);
    }
  }

  template <class Launcher>
  void emit(const Launcher& launch, std::string_view name, const F& functor,
            SampleShape source_shape, const EmitCall& call) const {
    if constexpr (MakesEvents<F>) {
      emitter_.emit(launch, name, functor, call);
    } else {
      emitter_.emit(launch, name, functor, source_shape, call);
    }
  }
  void emit(Stream& stream, std::string_view name, const F& functor, SampleShape source_shape,
            const EmitCall& call) const {
    emit(StreamLauncher{stream}, name, functor, source_shape, call);
  }

 private:
  static auto choose() {
    if constexpr (MakesEvents<F>) {
      return std::type_identity<EventEmitter<F>>{};
    } else if constexpr (PaintsCanvas<F>) {
      return std::type_identity<CanvasEmitter<F>>{};
    } else if constexpr (PaintsBands<F>) {
      return std::type_identity<BandEmitter<F>>{};
    } else if constexpr (EvolvesField<F>) {
      return std::type_identity<FieldEmitter<F>>{};
    } else if constexpr (RelaxesLattice<F>) {
      return std::type_identity<LatticeEmitter<F>>{};
    } else {
      return std::type_identity<PixelEmitter<F>>{};
    }
  }

  typename decltype(choose())::type emitter_;
};

/// Emitter for the dense labels of a functor. It does nothing if the functor has none.
template <class F>
class PlaneEmitter {
 public:
  void plan(MemoryPlan&, const std::string&, std::int64_t, const F&, SampleShape) {}
  template <class Launcher>
  void emit(const Launcher&, std::string_view, const F&, SampleShape, const EmitCall&) const {}
};

template <HasPlane F>
class PlaneEmitter<F> {
 public:
  void plan(MemoryPlan& memory, const std::string& group, std::int64_t rows, const F& functor,
            SampleShape source_shape) {
    emitter_.plan(memory, group, rows, PlaneOf<F>(functor), source_shape);
  }
  /// Does nothing if the batch has no column `plane`.
  template <class Launcher>
  void emit(const Launcher& launch, std::string_view name, const F& functor,
            SampleShape source_shape, const EmitCall& call) const {
    if (call.batch.plane == nullptr) return;
    emitter_.emit(launch, name, PlaneOf<F>(functor), source_shape, plane_call(call));
  }

 private:
  Emitter<PlaneOf<F>> emitter_;
};

}  // namespace wellspring
