// Dense labels: one number per pixel, emitted with the image by functors that know more about a
// pixel than its colour. A functor whose form sets `.plane = true` also has
//
//     template <int N>
//     void plane(const Scene&, [same as in shade,] const PixelRun<N>&, float (&value)[N]) const;
//
// The launches of its form then run a second time, with `plane` instead of `shade`. Under any
// augmentation, pixels are read at the same positions as for the image. Colour operations, later
// passes, normalisation and erasing do not apply. Called by the emitters; host and device.
#pragma once

#include "kernels/augment/augmentation.h"
#include "kernels/augment/emit_call.h"
#include "kernels/batch/pixel_run.h"
#include "kernels/emission/forms.h"
#include "kernels/emission/paint.h"
#include "kernels/emission/scene_buffer.h"
#include "kernels/runtime/macros.h"

#include <algorithm>

namespace wellspring {

namespace detail {
/// The form that makes the labels. F's `blocks` applies only to its colours.
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

/// F draws the scenes for both the image and the labels.
template <class F>
struct DrawnBy<PlaneOf<F>> {
  using type = F;
};

/// The geometric part of an augmentation, with its groups, excluding its colours.
inline AugmentationPlan geometry_of(const AugmentationPlan& plan) {
  AugmentationPlan geometry;
  geometry.source = plan.source;
  geometry.out = plan.out;
  geometry.geometry_count = plan.geometry_count;
  std::ranges::copy(plan.geometry, geometry.geometry);
  geometry.group_count = plan.group_count;
  std::ranges::copy(plan.group, geometry.group);
  return geometry;
}

/// The call with which Emitter<PlaneOf<F>> makes the dense labels of a batch.
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
