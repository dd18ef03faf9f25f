// The passes that a list of augmentations may need after emission: augmix, whole-image operations, a
// blur, and whole-image operations after the blur. Used by image sources; host only.
#pragma once

#include "kernels/augment/augmentation.h"
#include "kernels/augment/augmentation_buffer.h"
#include "kernels/augment/augmix_pass.h"
#include "kernels/augment/blur_passes.h"
#include "kernels/augment/emit_call.h"
#include "kernels/augment/whole_image.h"
#include "kernels/runtime/launcher.h"
#include "kernels/runtime/memory_plan.h"

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace wellspring {

/// Memory and launches of the passes after emission. Without extra passes, emission writes directly
/// into the batch and finish() enqueues nothing.
class AugmentationPasses {
 public:
  /// Plans the memory. The augmentation plan contains the image sizes.
  void plan(MemoryPlan& memory, const std::string& group, std::int64_t rows, SampleShape shape,
            const AugmentationPlan& plan) {
    plan_ = plan;
    if (!plan.goes_on()) return;
    const auto values = static_cast<std::size_t>(rows * shape.elements());
    drawn_ = memory.reserve<Augmentation>(group, "augmentations", static_cast<std::size_t>(rows));
    first_ = memory.reserve<float>(group, "images as emitted", values);
    second_ = memory.reserve<float>(group, "images between passes", values);
    mix_ = {};
    for (int i = 0; i < plan.colour_count; ++i)
      if (plan.colour[i].op == op_of<augment::AugMix>) mix_ = plan.colour[i];
    if (!mixes()) return;
    others_ = memory.reserve<float>(group, "copies of augmix", values);
    sums_ = memory.reserve<float>(group, "sums of augmix", values);
  }
  /// Number of launches after the emission pass.
  int count() const {
    if (!plan_.goes_on()) return 0;
    return 1 + (mixes() ? 1 : 0) + (plan_.whole_images ? 1 : 0) + (plan_.blurs() ? 2 : 0) +
           (plan_.whole_after_blur ? 1 : 0);
  }

  /// Batch that the emission pass writes to.
  BatchView target(BatchView batch) const {
    if (!plan_.goes_on()) return batch;
    if (static_cast<std::int64_t>(first_.size()) < batch.size * batch.layout.elements()) {
      throw std::logic_error("the batch has more rows than planned");
    }
    batch.x = first_.data();
    batch.dtype = DType::f32;
    return batch;
  }
  /// Enqueues the remaining passes. `call.seed` is the key of the augmentation, as in emission.
  template <class Launcher>
  void finish(const Launcher& launch, const EmitCall& call) const {
    if (!plan_.goes_on()) return;
    const SampleShape shape = call.batch.layout.shape();
    launch.map("augmentations of the passes", call.batch.size,
               DrawAugmentations{plan_, call.slots, call.source, call.seed, drawn_.data(), shape,
                                 call.batch.mask, call.batch.layout.patches});
    if (mixes()) mix_chains(launch, call, shape);
    visit_float(call.batch.dtype, [&]<class T>(T) {
      auto* const x = static_cast<T*>(call.batch.x);
      if (plan_.whole_images)
        finish_whole<T>(launch, call, shape, plan_.blurs() ? nullptr : x, false);
      if (plan_.whole_after_blur) {
        blur<float>(launch, call, shape, first_.data());
        finish_whole<T>(launch, call, shape, x, true);
      } else if (plan_.blurs()) {
        blur<T>(launch, call, shape, x);
      }
    });
  }

 private:
  bool mixes() const { return mix_.op != AugmentOp::none; }
  template <class Launcher>
  void mix_chains(const Launcher& launch, const EmitCall& call, SampleShape shape) const {
    const TeamShape team{MixChains::kLaunchBound.threads,
                         sizeof(detail::MixedSample) + alignof(detail::MixedSample)};
    const FinishWholeImages<float> whole = {drawn_.data(), call.slots,     call.source, shape,
                                            first_.data(), second_.data(), nullptr};
    launch.league("augmix", call.batch.size, team,
                  MixChains{plan_, mix_, call.seed, whole, others_.data(), sums_.data()});
  }
  template <class T, class Launcher>
  void finish_whole(const Launcher& launch, const EmitCall& call, SampleShape shape, T* out,
                    bool after_blur) const {
    const TeamShape team{FinishWholeImages<T>::kLaunchBound.threads,
                         sizeof(detail::WholeImage) + alignof(detail::WholeImage)};
    launch.league("operations on whole images", call.batch.size, team,
                  FinishWholeImages<T>{drawn_.data(), call.slots, call.source, shape, first_.data(),
                                       second_.data(), out, after_blur});
  }
  template <class T, class Launcher>
  void blur(const Launcher& launch, const EmitCall& call, SampleShape shape, T* out) const {
    const Tiling tiling = detail::bands_for(launch.device(), shape);
    const TeamShape team{detail::members_of(tiling),
                         sizeof(detail::BlurredSample) + alignof(detail::BlurredSample)};
    const std::int64_t teams = call.batch.size * tiling.count();
    const auto pass = [&](const float* in) {
      return detail::BlurPass{
          drawn_.data(), plan_.blur_radius, call.slots, call.source, shape, tiling, in};
    };
    launch.league("blur along rows", teams, team, BlurRows{pass(first_.data()), second_.data()});
    launch.league("blur along columns", teams, team,
                  BlurColumns<T>{pass(second_.data()), out, !plan_.whole_after_blur});
  }

  AugmentationPlan plan_;
  AugmentStep mix_;  ///< augmix, if the list has it
  Planned<Augmentation> drawn_;
  Planned<float> first_, second_;
  Planned<float> others_, sums_;  ///< only for augmix
};

}  // namespace wellspring
