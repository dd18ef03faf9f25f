// Emission: the one pass that makes a batch. Per output pixel: warp the coordinate, evaluate a
// formula or read a stored image, colour operations, normalise, cast, NHWC write; no intermediate
// image in memory. Called by generators and sources through emit_images / emit_events; host and
// device.
//
// An image functor is a trivially copyable type that says what is seen where:
//
//     struct Scene;                                     one sample's parameters, shared by the team
//     static constexpr int kLatents;
//     Scene draw(const SampleKey&, Truth<kLatents>&) const;               by one thread per team
//     Rgb at(const Scene&, PixelCoordinate) const;                        a colour per pixel, or
//     template <int N> void shade(const Scene&, const PixelRun<N>&, ColourRun<N>&) const;
//
// `shade` sees a run of neighbouring pixels at once, so that decisions that hold for the whole
// sample are taken outside of the pixel loop, which then vectorises. A functor whose pixels need
// common work first (a list of objects, say) adds
//
//     static constexpr int kTile;                       side of the square tile made by one team
//     static std::size_t scratch_bytes();
//     template <class Team> Prepared prepare(Team&, const Scene&, const View&, PixelTile) const;
//     template <int N> void shade(const Scene&, const Prepared&, const PixelRun<N>&, ColourRun<N>&)
//
// Results must not depend on N, on the tile or on the size of the team.
#pragma once

#include "kernels/emission/batch.h"
#include "kernels/launch.h"
#include "kernels/macros.h"
#include "kernels/view.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

/// Before a loop over the pixels of a run: a SIMD loop on the host, unrolled registers on a device.
/// WS_LANES_SUM(n): the same for a loop that adds to the integer n.
#if WS_DEVICE_CODE
#define WS_LANES _Pragma("unroll")
#define WS_LANES_SUM(n) _Pragma("unroll")
#elif defined(__CUDACC__)
#define WS_LANES
#define WS_LANES_SUM(n)
#else
#define WS_LANES _Pragma("omp simd")
#define WS_LANES_SUM(n) WS_LANES_TEXT(omp simd reduction(+ : n))
#define WS_LANES_TEXT(text) _Pragma(#text)
#endif

namespace wellspring {

/// Which sample is being made, as its functor sees it. Generators use `rng` and `shape` alone.
struct SampleKey {
  SampleRng rng;      ///< seed and sample id
  Slot slot;          ///< the place in the batch; row and sample index stored images
  SampleShape shape;  ///< of what is looked at, in source pixels
};

/// What is known about a sample, written beside it.
template <int Latents>
struct Truth {
  std::int32_t label = 0;
  float weight = 1;
  float latents[Latents > 0 ? Latents : 1] = {};
};

/// N neighbouring pixels of one output row: where each is looked up.
template <int N>
struct PixelRun {
  float x[N], y[N];
  float footprint;
  int column, row;  ///< of lane 0 within its tile
};

template <int N>
struct ColourRun {
  float r[N], g[N], b[N];
};

/// A rectangle of output pixels, made by one team.
struct PixelTile {
  int x0 = 0, y0 = 0, width = 0, height = 0;
};

/// How an image is cut into tiles.
struct Tiling {
  int width = 1, height = 1;  ///< of a full tile
  int across = 1, down = 1;

  static constexpr Tiling of(SampleShape shape, int width, int height) {
    return {width, height, (shape.width + width - 1) / width, (shape.height + height - 1) / height};
  }
  WS_INLINE constexpr int count() const { return across * down; }
  WS_INLINE constexpr PixelTile tile(int index, SampleShape shape) const {
    const int x0 = index % across * width, y0 = index / across * height;
    return {x0, y0, shape.width - x0 < width ? shape.width - x0 : width,
            shape.height - y0 < height ? shape.height - y0 : height};
  }
};

template <class F>
concept PreparesTiles = requires {
  F::kTile;
};
/// Stored images: what their scene is depends on how it is looked at.
template <class F>
concept DrawsUnderView = requires(const F& image, const SampleKey& key, const View& view,
                                  Truth<F::kLatents>& truth) {
  image.draw(key, view, truth);
};

namespace detail {

// Runs of 8 pixels on a device (16-byte stores of 8 bf16 values), of 32 on the host (several vector
// registers in flight). Used inside of functions only: both compilers must see the same types.
// Defined from outside by the test that makes a device's runs on the host.
#if defined(WS_RUN_LENGTH)
#elif WS_DEVICE_CODE
#define WS_RUN_LENGTH 8
#else
#define WS_RUN_LENGTH 32
#endif

template <int N>
WS_INLINE PixelRun<N> place_run(const View& view, const PixelTile& tile, int x, int y) {
  PixelRun<N> run;
  run.footprint = view.footprint;
  run.column = x - tile.x0;
  run.row = y - tile.y0;
  const float dy = (static_cast<float>(y) + 0.5f) - view.centre_y;
  const float row_x = view.m01 * dy, row_y = view.m11 * dy;
  WS_LANES
  for (int i = 0; i < N; ++i) {
    const float dx = (static_cast<float>(x + i) + 0.5f) - view.centre_x;
    run.x[i] = (view.m00 * dx + row_x) + view.origin_x;
    run.y[i] = (view.m10 * dx + row_y) + view.origin_y;
  }
  return run;
}

template <int N>
WS_INLINE void apply_colour(const View& view, ColourRun<N>& colour) {
  if (view.saturation != 1) {
    // Weights of luma, ITU-R BT.601.
    WS_LANES
    for (int i = 0; i < N; ++i) {
      const float luma = 0.299f * colour.r[i] + 0.587f * colour.g[i] + 0.114f * colour.b[i];
      colour.r[i] = luma + view.saturation * (colour.r[i] - luma);
      colour.g[i] = luma + view.saturation * (colour.g[i] - luma);
      colour.b[i] = luma + view.saturation * (colour.b[i] - luma);
    }
  }
  WS_LANES
  for (int i = 0; i < N; ++i) {
    colour.r[i] = view.gain[0] * colour.r[i] + view.bias[0];
    colour.g[i] = view.gain[1] * colour.g[i] + view.bias[1];
    colour.b[i] = view.gain[2] * colour.b[i] + view.bias[2];
  }
}

template <int N>
WS_INLINE void erase_square(const View& view, int x, int y, ColourRun<N>& colour) {
  if (y < view.erase_y0 || y >= view.erase_y1) return;
  WS_LANES
  for (int i = 0; i < N; ++i) {
    const bool inside = x + i >= view.erase_x0 && x + i < view.erase_x1;
    colour.r[i] = inside ? 0.f : colour.r[i];
    colour.g[i] = inside ? 0.f : colour.g[i];
    colour.b[i] = inside ? 0.f : colour.b[i];
  }
}

#if WS_DEVICE_CODE
/// Two bf16 in a word, `low` first in memory: one instruction, rounding as bf16::round does.
WS_INLINE std::uint32_t pack_pair(float low, float high) {
  std::uint32_t word;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
}

/// The 24 values of a run of 8 RGB pixels as 16-byte stores: 3 for bf16, 6 for f32.
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
#pragma unroll  // constant indices: the colours stay in registers
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

/// What the members of a team share.
template <class F>
struct SharedSample {
  typename F::Scene scene;
  View view;
};

/// The latents of sample `b`; the rest of its row is 0.
template <int Latents>
WS_INLINE void write_latents(const BatchView& batch, std::int64_t b, const Truth<Latents>& truth) {
  if (batch.latents == nullptr) return;
  float* const row = batch.latents + b * batch.layout.latents;
  WS_UNROLL(16)  // constant indices: the truth stays in registers
  for (int i = 0; i < Latents; ++i) {
    if (i < batch.layout.latents) row[i] = truth.latents[i];
  }
  for (int i = Latents; i < batch.layout.latents; ++i) row[i] = 0;
}

/// Scratch of one team, with room for the alignment of SharedSample.
template <class F>
std::size_t scratch_of() {
  const std::size_t shared = sizeof(SharedSample<F>) + alignof(SharedSample<F>);
  if constexpr (PreparesTiles<F>) return shared + F::scratch_bytes();
  return shared;
}

/// On a GPU: enough teams to fill it from a small batch, enough pixels a thread (four runs) to pay
/// for drawing the scene once a team.
inline constexpr int kDeviceBandPixels = 8192;

/// Square tiles where the functor asks for them, otherwise bands of about `band_pixels` pixels.
template <class F>
Tiling tiling_of(SampleShape shape, int band_pixels) {
  if constexpr (PreparesTiles<F>) return Tiling::of(shape, F::kTile, F::kTile);
  const int rows = std::clamp(band_pixels / shape.width, 1, shape.height);
  return Tiling::of(shape, shape.width, rows);
}

/// A thread a run of 8 pixels, up to 256.
constexpr int members_of(const Tiling& tiling) {
  const int runs = (tiling.width + 7) / 8 * tiling.height;
  return runs >= 256 ? 256 : (runs + 31) / 32 * 32;
}

}  // namespace detail

/// Team functor behind emit_images: one team a tile of a sample.
template <class F, class T>
struct ImageEmitter {
  F image;
  const Slot* slots;
  std::uint32_t source;
  std::uint64_t seed;
  ViewSpec spec;
  BatchView batch;
  SampleShape looked_at;
  Tiling tiling;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t index) const {
    const std::int64_t b = index / tiling.count();
    const int part = static_cast<int>(index % tiling.count());
    const Slot slot = slots[b];
    if (slot.source != source) return;  // the same for every member, so none waits in vain
    auto* shared = team.template scratch<detail::SharedSample<F>>(1);
    // Both take hundreds of dependent instructions: on a GPU, warps of their own draw them at once.
    const int viewer = !DrawsUnderView<F> && team.size() > kWarp ? kWarp : 0;
    if (team.rank() == viewer) {
      shared->view = draw_view(spec, looked_at, batch.layout.shape(), {seed, slot.ordinal});
    }
    if (team.rank() == 0) {
      Truth<F::kLatents> truth;
      const SampleKey key{{seed, slot.sample}, slot, looked_at};
      if constexpr (DrawsUnderView<F>) {
        shared->scene = image.draw(key, shared->view, truth);  // stored images
      } else {
        shared->scene = image.draw(key, truth);
      }
      if (part == 0) write_truth(b, truth);
    }
    team.sync();
    const detail::SharedSample<F>& sample = *shared;
    const PixelTile tile = tiling.tile(part, batch.layout.shape());
    T* const x = static_cast<T*>(batch.x) + b * batch.layout.elements();
    if constexpr (PreparesTiles<F>) {
      const auto prepared = image.prepare(team, sample.scene, sample.view, tile);
      paint(team, sample, tile, x, [&](const auto& run, auto& colour) {
        image.shade(sample.scene, prepared, run, colour);
      });
    } else {
      paint(team, sample, tile, x,
            [&](const auto& run, auto& colour) { shade_each(sample.scene, run, colour); });
    }
  }

 private:
  static constexpr int kWarp = 32;  ///< threads of a GPU that run in step

  template <int N>
  WS_INLINE void shade_each(const typename F::Scene& scene, const PixelRun<N>& run,
                            ColourRun<N>& colour) const {
    if constexpr (requires { image.shade(scene, run, colour); }) {
      image.shade(scene, run, colour);
    } else {
      WS_LANES
      for (int i = 0; i < N; ++i) {
        const Rgb c = image.at(scene, {run.x[i], run.y[i], run.footprint});
        colour.r[i] = c.r;
        colour.g[i] = c.g;
        colour.b[i] = c.b;
      }
    }
  }

  template <class Team, class Shade>
  WS_INLINE void paint(Team& team, const detail::SharedSample<F>& sample, const PixelTile& tile,
                       T* x, const Shade& shade) const {
    constexpr int kRun = WS_RUN_LENGTH;
    const int across = (tile.width + kRun - 1) / kRun;
    for (int i = team.rank(); i < across * tile.height; i += team.size()) {
      const int row = i / across, column = (i - row * across) * kRun;
      const int px = tile.x0 + column, py = tile.y0 + row;
      const int count = tile.width - column < kRun ? tile.width - column : kRun;
      const PixelRun<kRun> run = detail::place_run<kRun>(sample.view, tile, px, py);
      ColourRun<kRun> colour;
      shade(run, colour);
      detail::apply_colour(sample.view, colour);
      detail::erase_square(sample.view, px, py, colour);
      detail::store_run(
          colour, batch.layout.channels, count,
          x + (static_cast<std::int64_t>(py) * batch.layout.width + px) * batch.layout.channels);
    }
  }

  WS_INLINE void write_truth(std::int64_t b, const Truth<F::kLatents>& truth) const {
    batch.label[b] = truth.label;
    batch.weight[b] = truth.weight;
    detail::write_latents(batch, b, truth);
  }
};

/// Enqueues the emission of every slot whose source is `source`. `looked_at`: shape of what the
/// functor describes; equal to the layout's shape for formulas.
template <class F>
void emit_images(Stream& stream, std::string_view name, const F& image, SampleShape looked_at,
                 const Slot* slots, std::uint32_t source, std::uint64_t seed, const ViewSpec& view,
                 const BatchView& batch) {
  // On a CPU, a team a sample.
  const SampleShape shape = batch.layout.shape();
  const int sample_pixels = shape.height * shape.width;
  const int band_pixels = stream.device().is_cuda() ? detail::kDeviceBandPixels : sample_pixels;
  const Tiling tiling = detail::tiling_of<F>(shape, band_pixels);
  const TeamShape team{detail::members_of(tiling), detail::scratch_of<F>()};
  visit_float(batch.dtype, [&]<class T>(T) {
    league(stream, name, batch.size * tiling.count(), team,
           ImageEmitter<F, T>{image, slots, source, seed, view, batch, looked_at, tiling});
  });
}

/// Map functor behind emit_events. An event functor is a trivially copyable type with
///
///     static constexpr int kFeatures, kLatents;
///     void draw(const SampleKey&, float (&features)[kFeatures], Truth<kLatents>&) const;
template <class F, class T>
struct EventEmitter {
  F event;
  const Slot* slots;
  std::uint32_t source;
  std::uint64_t seed;
  BatchView batch;

  WS_HD void operator()(std::int64_t b) const {
    const Slot slot = slots[b];
    if (slot.source != source) return;
    float features[F::kFeatures];
    Truth<F::kLatents> truth;
    event.draw(SampleKey{{seed, slot.sample}, slot, batch.layout.shape()}, features, truth);
    T* const x = static_cast<T*>(batch.x) + b * F::kFeatures;
    WS_UNROLL(16)
    for (int i = 0; i < F::kFeatures; ++i) x[i] = static_cast<T>(features[i]);
    batch.label[b] = truth.label;
    batch.weight[b] = truth.weight;
    detail::write_latents(batch, b, truth);
  }
};

/// Event functors fill features; all others colour pixels.
template <class F>
concept EventFunctor = requires {
  F::kFeatures;
};

template <class F>
void emit_events(Stream& stream, std::string_view name, const F& event, const Slot* slots,
                 std::uint32_t source, std::uint64_t seed, const BatchView& batch) {
  visit_float(batch.dtype, [&]<class T>(T) {
    map(stream, name, batch.size, EventEmitter<F, T>{event, slots, source, seed, batch});
  });
}

}  // namespace wellspring

namespace wellspring::cuda {
/// What launches the emission of a generator's functor as T. Asking for it makes it.
template <class F, class T>
auto emission_launcher() {
  if constexpr (EventFunctor<F>) {
    return &launch_map<EventEmitter<F, T>>;
  } else {
    return &launch_team<ImageEmitter<F, T>>;
  }
}
}  // namespace wellspring::cuda

/// In a .cu file, outside of any namespace: both output types of a generator's functor, whatever
/// its form; of an image or event functor that is no generator's.
#define WS_CUDA_GENERATOR(F)                                     \
  template auto wellspring::cuda::emission_launcher<F, float>(); \
  template auto wellspring::cuda::emission_launcher<F, wellspring::bf16>()
#define WS_CUDA_IMAGES(F)                           \
  WS_CUDA_TEAM(wellspring::ImageEmitter<F, float>); \
  WS_CUDA_TEAM(wellspring::ImageEmitter<F, wellspring::bf16>)
#define WS_CUDA_EVENTS(F)                          \
  WS_CUDA_MAP(wellspring::EventEmitter<F, float>); \
  WS_CUDA_MAP(wellspring::EventEmitter<F, wellspring::bf16>)
