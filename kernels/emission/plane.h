// Dense truth: a number a pixel beside the image, for functors that know more of a pixel than its
// colour. Where the form of one says `.plane = true`, it has
//
//     template <int N>
//     void plane(const Scene&, [what shade is given,] const PixelRun<N>&, float (&value)[N]) const;
//
// and the plane is made by the launches of its form a second time, with `plane` in place of `shade`.
// What is looked up where is therefore what the image shows, whatever the augmentation; colours,
// passes, normalisation and the erased box are left out. Host and device.
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
/// F's own blocks are for its colours.
template <class Form>
constexpr Form plane_form(Form form) {
  form.plane = false;
  form.blocks = kPixelBlocks;
  return form;
}
}  // namespace detail

/// A functor whose image is the plane of F.
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

/// The plane shows what the image shows: F draws both.
template <class F>
struct DrawnBy<PlaneOf<F>> {
  using type = F;
};

/// What is done to places, and nothing that is done to colours.
inline AugmentationPlan geometry_of(const AugmentationPlan& plan) {
  AugmentationPlan geometry;
  geometry.source = plan.source;
  geometry.out = plan.out;
  geometry.geometry_count = plan.geometry_count;
  for (int i = 0; i < plan.geometry_count; ++i) geometry.geometry[i] = plan.geometry[i];
  geometry.view = plan.view;
  return geometry;
}

/// The call that makes the plane of a batch with Emitter<PlaneOf<F>>.
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
