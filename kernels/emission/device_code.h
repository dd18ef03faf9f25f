// The device code of a functor, whatever its form: WS_CUDA_GENERATOR(F) in a .cu file makes every
// kernel that its stage launches, for both types of x. Host only.
#pragma once

#include "kernels/emission/canvas.h"
#include "kernels/emission/events.h"
#include "kernels/emission/field_stage.h"
#include "kernels/emission/pixels.h"
#include "kernels/launch.h"

namespace wellspring::cuda {

namespace detail {
/// Naming a launcher makes it.
template <class... Launchers>
void make(Launchers...) {}
}  // namespace detail

template <class F, class T>
void emission_kernels() {
  if constexpr (MakesEventsInTeams<F>) {
    detail::make(&launch_team<MakeEventsInTeams<F, T>>);
  } else if constexpr (MakesEvents<F>) {
    detail::make(&launch_map<MakeEvents<F, T>>);
  } else if constexpr (PaintsCanvas<F>) {
    detail::make(&launch_map<DrawImages<F>>, &launch_team<PaintCanvasInScratch<F, T>>,
                 &launch_team<ScatterCanvas<F>>, &launch_team<ShadeStored<F, T, typename F::Cell>>);
  } else if constexpr (EvolvesField<F>) {
    detail::make(&launch_map<DrawImages<F>>, &launch_team<EvolveFields<typename F::Field>>,
                 &launch_team<ShadeStored<F, T, float>>);
  } else {
    detail::make(&launch_map<DrawImages<F>>, &launch_team<PaintImages<F, T>>);
  }
}

}  // namespace wellspring::cuda

/// In a .cu file that includes kernels/launch.cuh, outside of any namespace.
#define WS_CUDA_GENERATOR(F)                                    \
  template void wellspring::cuda::emission_kernels<F, float>(); \
  template void wellspring::cuda::emission_kernels<F, wellspring::bf16>()
