// Runs of adjacent output pixels: how an image is divided into runs and how their colours are
// stored. Used by all forms that emit images. Host and device.
#pragma once

#include "kernels/batch/batch.h"
#include "kernels/random/math.h"
#include "kernels/runtime/dtype.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/simd.h"

#include <cstdint>

// A run has 8 pixels on a device (16-byte stores of 8 bf16 values) and 32 pixels on the host
// (several vector registers in flight). Use WS_RUN_LENGTH only inside functions: both compilers
// must see the same types. A test that uses the device's run length on the host defines
// WS_RUN_LENGTH before including this header.
#if defined(WS_RUN_LENGTH)
#elif WS_DEVICE_CODE
#define WS_RUN_LENGTH 8
#else
#define WS_RUN_LENGTH 32
#endif

namespace wellspring {

/// A colour with channels in [0, 1].
struct Rgb {
  float r = 0, g = 0, b = 0;
};

/// a + t (b - a), per channel.
WS_INLINE Rgb lerp(Rgb a, Rgb b, float t) {
  return {math::lerp(a.r, b.r, t), math::lerp(a.g, b.g, t), math::lerp(a.b, b.b, t)};
}

/// Bilinear interpolation between the four pixels nearest to (x, y), in source pixels.
/// `texel(column, row)` is the colour of a pixel.
template <class Texel>
WS_INLINE Rgb between_pixels(float x, float y, const Texel& texel) {
  const float fx = x - 0.5f, fy = y - 0.5f;
  const float x0 = math::floor(fx), y0 = math::floor(fy);
  const int ix = static_cast<int>(x0), iy = static_cast<int>(y0);
  const float u = fx - x0, v = fy - y0;
  const Rgb top = lerp(texel(ix, iy), texel(ix + 1, iy), u);
  const Rgb bottom = lerp(texel(ix, iy + 1), texel(ix + 1, iy + 1), u);
  return lerp(top, bottom, v);
}

/// Source coordinates of a pixel, in source pixels: the centre of the top-left pixel is (0.5, 0.5).
/// `footprint` is the side of the output pixel in source pixels (1 without zoom); edges are
/// anti-aliased over this width.
struct PixelCoordinate {
  float x = 0, y = 0;
  float footprint = 1;
};

/// Source coordinates of N adjacent pixels of an output row.
template <int N>
struct PixelRun {
  float x[N], y[N];
  float footprint;       ///< side of an output pixel in source pixels, for anti-aliasing
  int column, row;       ///< position of lane 0 in its tile
  bool in_step = false;  ///< true: each lane is one source pixel to the right of the previous lane
  bool bicubic =
      false;  ///< true: pictures are read with a bicubic kernel instead of a bilinear one
};

/// Colours of N pixels, in [0, 1] unless the generator's documentation says otherwise.
template <int N>
struct ColourRun {
  float r[N], g[N], b[N];
  bool grey = false;  ///< true: r holds all three channels; g and b are not set

  WS_INLINE void set(int i, Rgb c) {
    r[i] = c.r;
    g[i] = c.g;
    b[i] = c.b;
  }
  /// Copies r to all three channels of a grey run.
  WS_INLINE void spread() {
    if (!grey) return;
    WS_LANES
    for (int i = 0; i < N; ++i) g[i] = b[i] = r[i];
    grey = false;
  }
};

/// A rectangle of output pixels, painted by one team.
struct PixelTile {
  int x0 = 0, y0 = 0, width = 0, height = 0;

  /// The square of `side` pixels at (x, y), relative to the tile's corner, clipped to the tile.
  WS_INLINE constexpr PixelTile part(int x, int y, int side) const {
    return {x0 + x, y0 + y, width - x < side ? width - x : side,
            height - y < side ? height - y : side};
  }
};

/// Division of an image into tiles.
struct Tiling {
  int width = 1, height = 1;  ///< extents of a full tile
  int across = 1, down = 1;

  static constexpr Tiling of(SampleShape shape, int width, int height) {
    return {width, height, (shape.width + width - 1) / width, (shape.height + height - 1) / height};
  }
  /// Bands of whole rows, each with about `pixels` pixels.
  static constexpr Tiling bands(SampleShape shape, int pixels) {
    const int rows = pixels / shape.width;
    return of(shape, shape.width, rows < 1 ? 1 : (rows > shape.height ? shape.height : rows));
  }
  WS_INLINE constexpr int count() const { return across * down; }
  WS_INLINE constexpr PixelTile tile(int index, SampleShape shape) const {
    const int x0 = index % across * width, y0 = index / across * height;
    return {x0, y0, shape.width - x0 < width ? shape.width - x0 : width,
            shape.height - y0 < height ? shape.height - y0 : height};
  }
};

/// The runs of a pixel rectangle that are assigned to one team member: every size-th run, row by
/// row. The last run of a row may have fewer than `kLength` pixels. The class avoids a division per
/// run, which takes about a dozen instructions on a device.
template <int kLength>
class OwnRuns {
 public:
  template <class Team>
  WS_INLINE OwnRuns(const Team& team, int width, int height)
      : height_(height),
        across_((width + kLength - 1) / kLength),
        down_(team.size() / across_),
        along_(team.size() - down_ * across_),
        row_(team.rank() / across_),
        place_(team.rank() - row_ * across_) {}

  WS_INLINE bool inside() const { return row_ < height_; }
  WS_INLINE int row() const { return row_; }
  WS_INLINE int column() const { return place_ * kLength; }  ///< column of the run's first pixel
  WS_INLINE void go_on() {
    row_ += down_;
    place_ += along_;
    if (place_ < across_) return;
    place_ -= across_;
    ++row_;
  }

 private:
  int height_, across_;  ///< rows; runs per row
  int down_, along_;     ///< step between the member's runs
  int row_, place_;
};

namespace detail {

/// Pixels per band on a GPU: small enough for a small batch to fill the device, but large enough
/// (four runs per thread) for the loading of the scene, once per team, to cost little.
inline constexpr int kDeviceBandPixels = 8192;

/// Maximum size of a team that paints pixels.
inline constexpr int kPixelMembers = 256;

/// One thread per run of 8 pixels, up to kPixelMembers.
constexpr int members_of(const Tiling& tiling) {
  const int runs = (tiling.width + 7) / 8 * tiling.height;
  return runs >= kPixelMembers ? kPixelMembers : (runs + 31) / 32 * 32;
}

#if WS_DEVICE_CODE
/// Packs two bf16 into a word, `low` first in memory. One instruction on the device; it rounds like
/// bf16::round.
WS_INLINE std::uint32_t pack_pair(float low, float high) {
  std::uint32_t word;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
}

/// Stores the 24 values of a run of 8 RGB pixels with 16-byte stores: 3 for bf16, 6 for f32.
WS_INLINE void store_wide(bf16* out, const float (&v)[24]) {
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    reinterpret_cast<uint4*>(out)[i] =
        make_uint4(pack_pair(v[8 * i], v[8 * i + 1]), pack_pair(v[8 * i + 2], v[8 * i + 3]),
                   pack_pair(v[8 * i + 4], v[8 * i + 5]), pack_pair(v[8 * i + 6], v[8 * i + 7]));
  }
}
WS_INLINE void store_wide(float* out, const float (&v)[24]) {
#pragma unroll
  for (int i = 0; i < 6; ++i) {
    reinterpret_cast<float4*>(out)[i] =
        make_float4(v[4 * i], v[4 * i + 1], v[4 * i + 2], v[4 * i + 3]);
  }
}
#endif

template <int N, class T>
WS_INLINE void store_pixel(const ColourRun<N>& colour, int channels, int i, T* out) {
  if (channels == 3) {
    out[3 * i] = static_cast<T>(colour.r[i]);
    out[3 * i + 1] = static_cast<T>(colour.g[i]);
    out[3 * i + 2] = static_cast<T>(colour.b[i]);
  } else {
    out[i] = static_cast<T>(colour.r[i]);
  }
}

/// Writes the first `count` pixels of a run.
template <int N, class T>
WS_INLINE void store_run(const ColourRun<N>& colour, int channels, int count, T* out) {
#if WS_DEVICE_CODE
  if (channels == 3 && count == N && reinterpret_cast<std::uintptr_t>(out) % 16 == 0) {
    float v[24];
#pragma unroll
    for (int i = 0; i < N; ++i) {
      v[3 * i] = colour.r[i];
      v[3 * i + 1] = colour.g[i];
      v[3 * i + 2] = colour.b[i];
    }
    store_wide(out, v);
    return;
  }
#pragma unroll  // constant indices keep the colours in registers
  for (int i = 0; i < N; ++i) {
    if (i < count) store_pixel(colour, channels, i, out);
  }
#else
  if (channels == 3 && count == N) {
    WS_LANES
    for (int i = 0; i < N; ++i) store_pixel(colour, 3, i, out);
  } else {
    for (int i = 0; i < count; ++i) store_pixel(colour, channels, i, out);
  }
#endif
}

#if !WS_DEVICE_CODE
/// On a host, expands grey pixels to three channels when they are stored, and not before.
class GreyStore {
 public:
  GreyStore(const float (&gain)[3], const float (&bias)[3]) {
    for (int j = 0; j < 3 * kPixels; ++j) {
      gain_[j] = gain[j % 3];
      bias_[j] = bias[j % 3];
    }
  }
  /// Writes a run: gain * value + bias in each channel.
  template <int N, class T>
  WS_INLINE void store(const float (&value)[N], T* out) const {
    static_assert(N % kPixels == 0);
    for (int i = 0; i < N; i += kPixels) {
      float thrice[3 * kPixels];
      for (int l = 0; l < kPixels; ++l)
        thrice[3 * l] = thrice[3 * l + 1] = thrice[3 * l + 2] = value[i + l];
      WS_LANES
      for (int j = 0; j < 3 * kPixels; ++j)
        out[3 * i + j] = static_cast<T>(math::fma(gain_[j], thrice[j], bias_[j]));
    }
  }

 private:
  static constexpr int kPixels = 8;  ///< fills whole vector registers of any width

  float gain_[3 * kPixels], bias_[3 * kPixels];
};
#endif

}  // namespace detail
}  // namespace wellspring
