#include "kernels/emission/host_paint.h"

#include "kernels/augment/augmentation_draw.h"

namespace wellspring::host {

template class RunPainter<32>;

Augmentation draw_augmentation(const AugmentationPlan& plan, SampleRng rng, FrameSize source) {
  return wellspring::draw_augmentation(plan, rng, source);
}

void map_latents(const Augmentation& view, const LatentRoles& roles, float* latents) {
  wellspring::map_latents(view, roles, latents);
}

}  // namespace wellspring::host
