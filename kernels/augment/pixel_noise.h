// Normal numbers per pixel: noise, and the fill of an erased box. Only for the passes after
// emission: in the generators' kernels they would cost registers even if unused. Host and device.
#pragma once

#include "kernels/augment/augmentation.h"
#include "kernels/batch/pixel_run.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring {

namespace detail {

/// Three independent standard normal numbers of output pixel (x, y): a Philox block per pixel, from
/// a stream per sample. x and y below 2^16.
WS_INLINE void pixel_normals(const std::uint32_t (&key)[2], int x, int y, float (&normal)[3]) {
  const std::uint32_t place = static_cast<std::uint32_t>(y) << 16 | static_cast<std::uint32_t>(x);
  const SampleRng rng{key[0] | std::uint64_t{key[1]} << 32, 0};
  const Philox4 block = rng.block(Purpose::augment, place);
  const math::NormalPair pair = math::box_muller(block.word[0], block.word[1]);
  normal[0] = pair.first;
  normal[1] = pair.second;
  normal[2] = math::box_muller(block.word[2], block.word[3]).first;
}

/// Calls visit(lane, normal numbers) for the lanes in [from, to) of the run from (x, y) on.
template <class Visit>
WS_INLINE void for_noise(const std::uint32_t (&key)[2], int x, int y, int from, int to,
                         const Visit& visit) {
#if WS_DEVICE_CODE
#pragma unroll 1  // long code, rarely executed
#endif
  for (int i = from; i < to; ++i) {
    float normal[3];
    pixel_normals(key, x + i, y, normal);
    visit(i, normal);
  }
}

}  // namespace detail

/// Adds noise to the pixels from (x, y) on, clamped as in torchvision's GaussianNoise.
template <int N>
WS_INLINE void add_noise(const Augmentation& a, float deviation, int x, int y,
                         ColourRun<N>& colour) {
  detail::for_noise(a.noise_key, x, y, 0, N, [&](int i, const float(&normal)[3]) {
    colour.r[i] = math::clamp(math::fma(deviation, normal[0], colour.r[i]), 0.f, 1.f);
    colour.g[i] = math::clamp(math::fma(deviation, normal[1], colour.g[i]), 0.f, 1.f);
    colour.b[i] = math::clamp(math::fma(deviation, normal[2], colour.b[i]), 0.f, 1.f);
  });
}

/// Fills the part of the erased box in the run from (x, y) on, if `erase_noise` is set, with
/// standard normal values, the spread of a normalised data set.
template <int N>
WS_INLINE void fill_box(const Augmentation& a, int x, int y, ColourRun<N>& colour) {
  if (!a.erase_noise || y < a.erase_y0 || y >= a.erase_y1) return;
  const int from = a.erase_x0 > x ? a.erase_x0 - x : 0;
  const int to = a.erase_x1 < x + N ? a.erase_x1 - x : N;
  detail::for_noise(a.erase_key, x, y, from, to, [&](int i, const float(&normal)[3]) {
    colour.r[i] = normal[0];
    colour.g[i] = normal[1];
    colour.b[i] = normal[2];
  });
}

}  // namespace wellspring
