// The part of painting on a host that does not depend on the generator: drawing augmentations,
// placing runs of pixels and storing them. It is compiled once (host_paint.cpp) instead of in every
// generator. Used by the forms of emission; host only.
#pragma once

#include "kernels/augment/apply_augmentation.h"
#include "kernels/augment/augmentation.h"
#include "kernels/augment/latent_map.h"
#include "kernels/batch/batch.h"
#include "kernels/batch/pixel_run.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

#if !WS_DEVICE_CODE
namespace wellspring::host {

Augmentation draw_augmentation(const AugmentationPlan& plan, SampleRng rng, FrameSize source);
void map_latents(const Augmentation& view, const LatentRoles& roles, float* latents);

/// Places runs of N pixels in row b of a batch, and writes their colours in the batch's type.
template <int N>
class RunPainter {
 public:
  RunPainter(const Augmentation& view, const BatchView& batch, std::int64_t b);

  PixelRun<N> place(const PixelTile& tile, int px, int py) const;
  /// Writes the first `count` pixels of a run that starts at (px, py).
  void write(int px, int py, int count, ColourRun<N>& colour) const;

 private:
  const Augmentation& view_;
  const BatchView& batch_;
  std::int64_t offset_;  ///< first element of the row in x
  detail::GreyStore grey_;
};

template <int N>
RunPainter<N>::RunPainter(const Augmentation& view, const BatchView& batch, std::int64_t b)
    : view_(view),
      batch_(batch),
      offset_(b * batch.layout.elements()),
      grey_(view.gain, view.bias) {}

template <int N>
PixelRun<N> RunPainter<N>::place(const PixelTile& tile, int px, int py) const {
  return detail::place_run<N>(view_, tile, px, py);
}

template <int N>
void RunPainter<N>::write(int px, int py, int count, ColourRun<N>& colour) const {
  const int channels = batch_.layout.channels;
  const std::int64_t first = offset_ + (std::int64_t{py} * batch_.layout.width + px) * channels;
  const auto store = [&](const auto& store_as) {
    if (batch_.dtype == DType::bf16) {
      store_as(static_cast<bf16*>(batch_.x) + first);
    } else {
      store_as(static_cast<float*>(batch_.x) + first);
    }
  };
  if (colour.grey && channels == 3 && count == N && detail::only_normalises(view_, py)) {
    store([&](auto* out) { grey_.store(colour.r, out); });
    return;
  }
  if (channels == 1) detail::keep_luma(colour);
  colour.spread();
  detail::apply_augmentation(view_, px, py, colour);
  store([&](auto* out) { detail::store_run(colour, channels, count, out); });
}

extern template class RunPainter<32>;  // WS_RUN_LENGTH on hosts

}  // namespace wellspring::host
#endif
