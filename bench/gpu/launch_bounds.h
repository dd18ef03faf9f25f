// Kernels with other launch bounds, team sizes and band sizes. Called by launch_bounds.cpp; host
// and device.
#pragma once

#include "kernels/emission/emitter.h"
#include "kernels/runtime/dtype.h"
#include "kernels/runtime/launch.h"
#include "kernels/runtime/launch_bound.h"

#include <cstdint>
#include <string_view>

namespace wellspring::bench {

/// The same functor and block size, compiled for another number of blocks per multiprocessor.
template <class F, int blocks>
struct Bounded : F {
  static constexpr LaunchBound kLaunchBound = {launch_bound<F>().threads, blocks};
};
/// Largest number of blocks per multiprocessor to try: more than 1024 threads would leave each
/// fewer than 64 registers.
template <class F>
inline constexpr int kMostBlocks = 1024 / launch_bound<F>().threads;

/// True for the kernels that emit samples in bf16, the type that training uses.
template <class F>
inline constexpr bool kVaries = false;
template <class F>
inline constexpr bool kVaries<PaintImages<F, bf16>> = true;
template <class F>
inline constexpr bool kVaries<PaintBandInScratch<F, bf16>> = true;
template <class F>
inline constexpr bool kVaries<PaintCanvasInScratch<F, bf16>> = true;
template <class F>
inline constexpr bool kVaries<MakeEventsInTeams<F, bf16>> = true;

/// How to launch such a kernel. 0 means the program's own value.
struct Variant {
  int blocks = 0;       ///< blocks per multiprocessor of its launch bound
  int members = 0;      ///< threads per team
  int band_pixels = 0;  ///< for kernels that paint bands of rows
};

/// A launcher of emissions, see kernels/runtime/launcher.h.
struct VariantLauncher {
  Stream& stream;
  Variant variant = {};

  Device device() const { return stream.device(); }
  template <class F>
  void map(std::string_view name, std::int64_t n, const F& f) const {
    wellspring::map(stream, name, n, f);
  }
  template <class F>
  void league(std::string_view name, std::int64_t n, TeamShape shape, F f) const {
    if constexpr (kVaries<F>) {
      if constexpr (requires { f.tiling; }) {
        if (variant.band_pixels > 0) {
          const std::int64_t rows = n / f.tiling.count();
          f.tiling = Tiling::bands(f.batch.layout.shape(), variant.band_pixels);
          n = rows * f.tiling.count();
          shape.size = wellspring::detail::members_of(f.tiling);
        }
      }
      if (variant.members > 0) shape.size = variant.members;
      launch<0>(name, n, shape, f);
    } else {
      wellspring::league(stream, name, n, shape, f);
    }
  }
  void zero(std::string_view name, void* data, std::size_t bytes) const {
    stream.fill_zero(data, bytes, name);
  }

 private:
  template <int blocks, class F>
  void launch(std::string_view name, std::int64_t n, TeamShape shape, const F& f) const {
    if constexpr (blocks <= kMostBlocks<F>) {
      if (variant.blocks != blocks) return launch<blocks + 1>(name, n, shape, f);
      if constexpr (blocks == 0) {
        wellspring::league(stream, name, n, shape, f);
      } else {
        wellspring::league(stream, name, n, shape, Bounded<F, blocks>{f});
      }
    }
  }
};

}  // namespace wellspring::bench
