// The device code of a functor of any form. WS_CUDA_GENERATOR(F) in a .cu file instantiates every
// kernel that the emitter of F launches, for both types of x. Used by .cu files; host only.
#pragma once

#include "kernels/emission/bands.h"
#include "kernels/emission/canvas.h"
#include "kernels/emission/events.h"
#include "kernels/emission/field_emitter.h"
#include "kernels/emission/lattice.h"
#include "kernels/emission/pixels.h"
#include "kernels/emission/plane.h"
#include "kernels/runtime/kernel_handle.h"

namespace wellspring::cuda {

/// Handles of a functor's kernels. Returning them forces their instantiation at any optimisation
/// level.
struct EmissionKernels {
  KernelHandle& (*find[5])() = {};
  EmissionKernels (*plane)() = nullptr;  ///< kernels of the functor's dense labels
};

template <class F, class T>
EmissionKernels image_kernels() {
  if constexpr (MakesEventsInTeams<F>) {
    return {{&league_kernel<MakeEventsInTeams<F, T>>}};
  } else if constexpr (MakesEvents<F>) {
    return {{&map_kernel<MakeEvents<F, T>>}};
  } else if constexpr (SettlesCanvas<F>) {
    return {{&map_kernel<DrawImages<typename DrawnBy<F>::type>>,
             &league_kernel<PaintCanvasInScratch<F, T>>, &league_kernel<ScatterCanvas<F>>,
             &league_kernel<SettleCanvas<F>>, &league_kernel<ShadeStored<F, T, typename F::Cell>>}};
  } else if constexpr (PaintsCanvas<F>) {
    return {{&map_kernel<DrawImages<typename DrawnBy<F>::type>>,
             &league_kernel<PaintCanvasInScratch<F, T>>, &league_kernel<ScatterCanvas<F>>,
             &league_kernel<ShadeStored<F, T, typename F::Cell>>}};
  } else if constexpr (PaintsBands<F>) {
    return {{&map_kernel<DrawImages<typename DrawnBy<F>::type>>,
             &league_kernel<PaintBandInScratch<F, T>>, &league_kernel<PaintBandInMemory<F, T>>,
             &league_kernel<PaintBands<F>>, &league_kernel<ShadeStored<F, T, typename F::Texel>>}};
  } else if constexpr (EvolvesField<F>) {
    return {{&map_kernel<DrawImages<typename DrawnBy<F>::type>>,
             &league_kernel<EvolveFields<typename F::Field>>,
             &league_kernel<ShadeStored<F, T, float>>}};
  } else if constexpr (RelaxesLattice<F>) {
    return {{&map_kernel<DrawImages<typename DrawnBy<F>::type>>,
             &league_kernel<RelaxInScratch<F, T>>, &league_kernel<RelaxInMemory<F>>,
             &league_kernel<ShadeStored<F, T, std::uint32_t>>}};
  } else {
    return {
        {&map_kernel<DrawImages<typename DrawnBy<F>::type>>, &league_kernel<PaintImages<F, T>>}};
  }
}

template <class F, class T>
EmissionKernels emission_kernels() {
  EmissionKernels kernels = image_kernels<F, T>();
  if constexpr (HasPlane<F>) kernels.plane = &image_kernels<PlaneOf<F>, float>;
  return kernels;
}

}  // namespace wellspring::cuda

/// Use it in a .cu file that includes kernels/runtime/launch.cuh, outside any namespace.
#define WS_CUDA_GENERATOR(F)                                                                 \
  template wellspring::cuda::EmissionKernels wellspring::cuda::emission_kernels<F, float>(); \
  template wellspring::cuda::EmissionKernels                                                 \
  wellspring::cuda::emission_kernels<F, wellspring::bf16>()
