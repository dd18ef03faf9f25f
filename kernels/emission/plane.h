// Dense labels: one number per pixel with the image, from functors that know more about a pixel than
// its colour. A functor whose form says `.plane = true` has
//
//     template <int N>
//     void plane(const Scene&, [what shade is given,] const PixelRun<N>&, float (&value)[N]) const;
//
// The launches of its form then run a second time with `plane` in place of `shade`. Pixels are looked
// up in the same places as for the image, under any augmentation; colours, passes, normalisation and
// the erased box are left out. Called by the emitters; host and device.
#pragma once

#include "kernels/augment/augmentation.h"
#include "kernels/augment/emit_call.h"
#include "kernels/batch/pixel_run.h"
#include "kernels/emission/forms.h"
#include "kernels/emission/paint.h"
#include "kernels/emission/scene_buffer.h"
#include "kernels/runtime/macros.h"

namespace wellspring {

namespace detail {
/// The form of the labels: F's `blocks` are for its colours.
template <class Form>
constexpr Form plane_form(Form form) {
  form.plane = false;
  form.blocks = kPixelBlocks;
  return form;
}
}  // namespace detail

/// A functor whose image is the dense labels of F.
template <class F>
struct PlaneOf : F {
  static constexpr auto kForm = detail::plane_form(F::kForm);

  explicit PlaneOf(const F& image) : F(image) {}

  template <int N>
  WS_INLINE void shade(const typename F::Scene& scene, const PixelRun<N>& run,
                       ColourRun<N>& colour) const {
    F::plane(scene, run, colour.r);
    colour.grey = true;
  }
  template <class Context, int N>
  WS_INLINE void shade(const typename F::Scene& scene, const Context& context,
                       const PixelRun<N>& run, ColourRun<N>& colour) const {
    F::plane(scene, context, run, colour.r);
    colour.grey = true;
  }
};

template <class F>
inline constexpr bool detail::kIsPlane<PlaneOf<F>> = true;

/// F draws the scenes of both.
template <class F>
struct DrawnBy<PlaneOf<F>> {
  using type = F;
};

/// The geometry of an augmentation, without its colours.
inline AugmentationPlan geometry_of(const AugmentationPlan& plan) {
  AugmentationPlan geometry;
  geometry.source = plan.source;
  geometry.out = plan.out;
  geometry.geometry_count = plan.geometry_count;
  for (int i = 0; i < plan.geometry_count; ++i) geometry.geometry[i] = plan.geometry[i];
  geometry.view = plan.view;
  return geometry;
}

/// The call that makes the dense labels of a batch with Emitter<PlaneOf<F>>.
inline EmitCall plane_call(const EmitCall& call) {
  EmitCall plane = call;
  plane.augmentation = geometry_of(call.augmentation);
  plane.batch = {};
  plane.batch.size = call.batch.size;
  plane.batch.layout = SampleLayout::image(call.batch.layout.height, call.batch.layout.width, 1);
  plane.batch.x = call.batch.plane;
  return plane;
}

}  // namespace wellspring
