#include "kernels/ops/masked_patches.h"

#include "core/expect.h"
#include "kernels/runtime/launch.h"

namespace wellspring::ops {

void hide_patches(Stream& stream, const BatchView& batch, std::int32_t side, void* visible) {
  const PatchPixels patches = {batch.layout.shape(), side};
  WS_EXPECT(batch.mask != nullptr && batch.layout.patches == patches.count());
  visit_float(batch.dtype, [&]<class T>(T) {
    map(stream, "hide_patches", batch.size * patches.shape.height * patches.shape.width,
        HidePatches<T>{static_cast<const T*>(batch.x), static_cast<T*>(visible), patches,
                       batch.mask});
  });
}

void masked_patch_loss(Stream& stream, const HeadSlice& head, const LossInput& in,
                       const PatchPixels& patches, const void* x, const std::uint8_t* mask,
                       const LossResult& out) {
  WS_EXPECT(head.outputs == patches.count() * patches.values());
  visit_float(head.gradient, [&]<class T>(T) {
    using Loss = MaskedPatchLoss<T>;
    league(stream, "masked_patch_loss", head.launched(),
           {Loss::kLaunchBound.threads, Loss::scratch_bytes(patches.count(), head.outputs)},
           Loss{{head, in.outputs, in.slots, in.weights, out.loss, out.scores,
                 static_cast<T*>(out.gradient)},
                patches,
                static_cast<const T*>(x),
                mask});
  });
}

}  // namespace wellspring::ops
