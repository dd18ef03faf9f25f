// Scene and augmentation of every image of a batch. One launch draws them into planned memory; the
// launches that paint read them. Used by the forms of emission that make images; host and device.
//
// An image functor draws with
//
//     struct Scene;                                     parameters of a sample, trivially copyable
//     static constexpr int kLatents;                    and kTargets or kLabels, if it has any
//     Scene draw(const SampleKey&, TruthOf<F>&) const;
//
// or with one of the other variants of forms::Draw: draw(key, augmentation, truth), if the scene
// depends on the augmentation (stored images), or void draw(key, scene, truth), which writes
// directly to planned memory, if the scene is too large for registers. A functor whose samples
// differ in cost sets `.tells_cost = true` and has
//
//     float cost(const Scene&) const;                   estimated cost, in any unit
//
// A host then starts with the most expensive samples (kernels/runtime/launch.h). A functor whose
// images differ in size has
//
//     FrameSize frame(const Slot&) const;               size of the slot's image
#pragma once

#include "kernels/augment/augmentation.h"
#include "kernels/augment/augmentation_draw.h"
#include "kernels/augment/emit_call.h"
#include "kernels/augment/latent_map.h"
#include "kernels/batch/sample.h"
#include "kernels/emission/forms.h"
#include "kernels/emission/host_float.h"
#include "kernels/emission/host_paint.h"
#include "kernels/runtime/launch_bound.h"
#include "kernels/runtime/launcher.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/team.h"

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace wellspring {

/// Scene and augmentation of one sample, aligned for stores of 16 bytes.
template <class Scene>
struct alignas(16) DrawnScene {
  Scene scene;
  alignas(16) Augmentation view;
};
template <class F>
using DrawnImage = DrawnScene<typename F::Scene>;

/// The functor that draws the scenes of F. It is F itself, except for dense labels (plane.h).
template <class F>
struct DrawnBy {
  using type = F;
};

/// Map functor: draws the scene and the augmentation of one row, and writes its truth.
template <class F>
struct DrawImages {
  F image;
  const Slot* slots;
  std::uint32_t source;
  std::uint64_t seed;
  AugmentationPlan plan;
  LatentRoles roles;
  SampleShape source_shape;
  BatchView batch;
  DrawnImage<F>* drawn;

  /// Blocks of a warp spread a batch over as many multiprocessors as possible.
  static constexpr LaunchBound kLaunchBound = {kWarp, 1};

  WS_HD void operator()(std::int64_t b) const {
    const Slot slot = slots[b];
    if (slot.source != source) return;
    TruthOf<F> truth;
    FrameSize from = plan.source;
    if constexpr (requires { image.frame(slot); }) from = image.frame(slot);
#if WS_DEVICE_CODE
    const Augmentation view = draw_augmentation(plan, {seed, slot.ordinal}, from);
#else
    const Augmentation view = host::draw_augmentation(plan, {seed, slot.ordinal}, from);
#endif
    auto& out = *static_cast<DrawnImage<F>*>(__builtin_assume_aligned(drawn + b, 16));
    out.view = view;
    const SampleKey key{{seed, slot.sample}, slot, source_shape};
    if constexpr (DrawsInPlace<F>) {
      image.draw(key, out.scene, truth);
    } else if constexpr (DrawsAugmented<F>) {
      out.scene = image.draw(key, view, truth);
    } else if constexpr (EvolvesField<F>) {
      const auto at = image.schedule().locate(slot.sample);
      out.scene = image.draw(SampleKey{{seed, at.chain}, slot, source_shape}, at, truth);
    } else {
      out.scene = image.draw(key, truth);
    }
#if WS_DEVICE_CODE
    if (plan.geometry_count > 0) map_latents(view, roles, truth.latents);
#else
    if (plan.geometry_count > 0) host::map_latents(view, roles, truth.latents);
#endif
    detail::write_truth(batch, b, truth);
  }
};

namespace detail {

/// The plan with the sizes of its images filled in. Throws std::logic_error if it already has
/// different sizes.
inline AugmentationPlan fitted(AugmentationPlan plan, SampleShape source_shape,
                               const BatchView& batch, std::string_view name) {
  const FrameSize source = frame_of(source_shape), out = frame_of(batch.layout.shape());
  if (plan.source == FrameSize{} && plan.out == FrameSize{}) {
    plan.source = source;
    plan.out = out;
  }
  if (plan.source != source || plan.out != out) {
    throw std::logic_error(std::string(name) + ": the augmentation is planned for other sizes");
  }
  return plan;
}

}  // namespace detail

/// Memory of the drawn scenes, one per row.
template <class F>
class DrawnImages {
  static_assert(std::is_trivially_copyable_v<DrawnImage<F>>);

 public:
  /// `roles`: how the latents transform with the picture.
  void plan(MemoryPlan& memory, const std::string& group, std::int64_t rows,
            const LatentRoles& roles) {
    roles_ = roles;
    drawn_ = memory.reserve<DrawnImage<F>>(group, "scenes", static_cast<std::size_t>(rows));
  }

  /// Enqueues the drawing launch. `source_shape`: shape of the image that the functor describes.
  template <class Launcher>
  const DrawnImage<F>* draw(const Launcher& launch, std::string_view name, const F& image,
                            SampleShape source_shape, const EmitCall& call) const {
    if (static_cast<std::int64_t>(drawn_.size()) < call.batch.size) {
      throw std::logic_error(std::string(name) + ": the batch has more rows than planned");
    }
    launch.map(name, call.batch.size,
               DrawImages<typename DrawnBy<F>::type>{
                   image, call.slots, call.source, call.seed,
                   detail::fitted(call.augmentation, source_shape, call.batch, name), roles_,
                   source_shape, call.batch, drawn_.data()});
    return drawn_.data();
  }

 private:
  Planned<DrawnImage<F>> drawn_;
  LatentRoles roles_;
};

namespace detail {

/// Scratch bytes of a team for fetch(), including alignment.
template <class F>
constexpr std::size_t drawn_scratch() {
  return sizeof(DrawnImage<F>) + alignof(DrawnImage<F>);
}

/// Called by all members: copies a drawn scene to scratch memory.
template <class F, class Team>
WS_INLINE const DrawnImage<F>& fetch(Team& team, const DrawnImage<F>* drawn) {
  auto* const copy = team.template scratch<DrawnImage<F>>(1);
  copy_together(team, drawn, copy);
  team.sync();
  return *copy;
}

}  // namespace detail
}  // namespace wellspring
