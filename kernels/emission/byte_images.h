// Stored images as image functors: uint8 images in device memory. Each pixel is read at the
// position that the augmentation maps it to, with a filter if the augmentation shrinks the image.
// Used by data sets; host and device.
#pragma once

#include "kernels/emission/pixels.h"

#include <cstdint>

namespace wellspring {

/// Index of the image of a slot.
enum class ImageIndex : std::uint8_t {
  sample,  ///< slot.sample, in a resident data set
  row,     ///< slot.row, in a staging buffer
};

/// Returns the correctly rounded byte / 255 without a division: one Newton step on the rounded
/// product.
WS_INLINE float unit_from_byte(std::uint8_t byte) {
  constexpr float kInverse = 1.f / 255.f;
  const auto value = static_cast<float>(byte);
  const float quotient = value * kInverse;
  return math::fma(math::fma(-quotient, 255.f, value), kInverse, quotient);
}

/// HxWxC uint8 images, C = 1 or 3, tightly packed, all of one shape. Pixels are bytes / 255; flips
/// and whole-pixel shifts copy them exactly. Other geometry interpolates bilinearly. If an output
/// pixel covers more than one pixel of the image, it is the mean over the square that it covers. At
/// a footprint of 1 the two methods agree, so there is no seam between them. Bicubic interpolation
/// follows R. Keys, "Cubic convolution interpolation for digital image processing", IEEE Trans.
/// ASSP 29, 1981, with slope -1/2. When the image shrinks, its kernel widens in proportion (like
/// torchvision's resize with antialias=True). Values outside [0, 1] are clamped.
struct ByteImages {
  static constexpr int kLatents = 0;
  static constexpr forms::Pixels kForm = {.draw = forms::Draw::seen};

  const std::uint8_t* pixels = nullptr;
  const std::int32_t* labels = nullptr;  ///< one per image
  SampleShape shape;
  ImageIndex index = ImageIndex::sample;

  struct Scene {
    const std::uint8_t* pixels;
    Padding padding;
    bool on_grid;
    Interpolation interpolation = Interpolation::bilinear;
  };

  WS_INLINE Scene draw(const SampleKey& key, const Augmentation& view, Truth<0>& truth) const {
    const std::uint64_t i = index == ImageIndex::sample ? key.slot.sample : key.slot.row;
    truth.label = labels[i];
    return {pixels + i * static_cast<std::uint64_t>(shape.elements()), view.padding, view.on_grid,
            view.interpolation};
  }

  template <int N>
  WS_INLINE void shade(const Scene& scene, const PixelRun<N>& run, ColourRun<N>& colour) const {
    if (scene.on_grid) {  // copies the pixel: both weights are 0
      for (int i = 0; i < N; ++i) {
        colour.set(i, texel(scene, floor_int(run.x[i]), floor_int(run.y[i])));
      }
    } else if (scene.interpolation == Interpolation::bicubic) {
      for (int i = 0; i < N; ++i) colour.set(i, bicubic(scene, run.x[i], run.y[i], run.footprint));
    } else if (run.footprint > 1) {
      for (int i = 0; i < N; ++i) colour.set(i, mean(scene, run.x[i], run.y[i], run.footprint));
    } else {
      for (int i = 0; i < N; ++i) colour.set(i, bilinear(scene, run.x[i], run.y[i]));
    }
  }

 private:
  WS_INLINE static int floor_int(float x) { return static_cast<int>(math::floor(x)); }

  WS_INLINE Rgb bilinear(const Scene& scene, float x, float y) const {
    return between_pixels(x, y, [&](int ix, int iy) { return texel(scene, ix, iy); });
  }

  WS_INLINE static float cubic(float distance) {
    const float d = math::abs(distance);
    if (d >= 2) return 0;
    if (d >= 1) return math::fma(math::fma(math::fma(-0.5f, d, 2.5f), d, -4.f), d, 2.f);
    return math::fma(math::fma(1.5f, d, -2.5f), d * d, 1.f);
  }
  WS_INLINE Rgb bicubic(const Scene& scene, float x, float y, float footprint) const {
    const float scale = math::max(footprint, 1.f), inverse = 1 / scale, reach = 2 * scale;
    const int first_x = floor_int(x - reach + 0.5f), end_x = floor_int(x + reach + 0.5f);
    const int first_y = floor_int(y - reach + 0.5f), end_y = floor_int(y + reach + 0.5f);
    Rgb sum;
    float whole = 0;
    for (int iy = first_y; iy < end_y; ++iy) {
      const float down = cubic((static_cast<float>(iy) + 0.5f - y) * inverse);
      for (int ix = first_x; ix < end_x; ++ix) {
        const float weight = down * cubic((static_cast<float>(ix) + 0.5f - x) * inverse);
        const Rgb c = texel(scene, ix, iy);
        sum.r = math::fma(weight, c.r, sum.r);
        sum.g = math::fma(weight, c.g, sum.g);
        sum.b = math::fma(weight, c.b, sum.b);
        whole += weight;
      }
    }
    return {math::clamp(sum.r / whole, 0.f, 1.f), math::clamp(sum.g / whole, 0.f, 1.f),
            math::clamp(sum.b / whole, 0.f, 1.f)};
  }

  /// The mean over the square of side `side` centred at (x, y), with sides parallel to the image.
  /// Each pixel is weighted by the area that is inside. A rotated footprint is treated as upright.
  WS_INLINE Rgb mean(const Scene& scene, float x, float y, float side) const {
    const float left = x - 0.5f * side, right = left + side;
    const float top = y - 0.5f * side, bottom = top + side;
    const int first_x = floor_int(left), end_x = floor_int(right) + 1;
    const int end_y = floor_int(bottom) + 1;
    Rgb sum;
    for (int iy = floor_int(top); iy < end_y; ++iy) {
      const float height = overlap(iy, top, bottom);
      for (int ix = first_x; ix < end_x; ++ix) {
        const float area = height * overlap(ix, left, right);
        const Rgb c = texel(scene, ix, iy);
        sum.r = math::fma(area, c.r, sum.r);
        sum.g = math::fma(area, c.g, sum.g);
        sum.b = math::fma(area, c.b, sum.b);
      }
    }
    const float whole = (right - left) * (bottom - top);
    return {sum.r / whole, sum.g / whole, sum.b / whole};
  }
  /// Length of the part of [cell, cell + 1] that is in [low, high].
  WS_INLINE static float overlap(int cell, float low, float high) {
    const auto begin = static_cast<float>(cell), end = begin + 1;
    const float length = (end < high ? end : high) - (begin > low ? begin : low);
    return length > 0 ? length : 0;
  }

  WS_INLINE Rgb texel(const Scene& scene, int x, int y) const {
    const int cx = x < 0 ? 0 : (x >= shape.width ? shape.width - 1 : x);
    const int cy = y < 0 ? 0 : (y >= shape.height ? shape.height - 1 : y);
    if (scene.padding == Padding::zero && (cx != x || cy != y)) return {};
    const std::uint8_t* const p =
        scene.pixels + static_cast<std::int64_t>(cy * shape.width + cx) * shape.channels;
    const float r = unit_from_byte(p[0]);
    if (shape.channels == 1) return {r, r, r};
    return {r, unit_from_byte(p[1]), unit_from_byte(p[2])};
  }
};

}  // namespace wellspring
