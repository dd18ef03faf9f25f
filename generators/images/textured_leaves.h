// Textured variant of generator `dead_leaves`: each leaf shows part of its fill, an image made by
// another generator. Leaves, labels, latents and dense labels are unchanged; only `shade`
// differs, so the plain kernels are not slowed down. The other generator makes the fills
// once, at load, on the device of the run. They stay in device memory, with the lower resolutions
// of fill_levels.h for leaves that show them at reduced size. Created by DeadLeaves::instead();
// host and device.
//
// After "dead leaves - textured" by M. Baradad et al., "Learning to See by Looking at Noise",
// NeurIPS 2021, where a texture replaces each leaf's colour. The placement of textures is our own:
// any position, angle and scale within a range, mirrored at the borders of the fill.
#pragma once

#include "generators/images/dead_leaves.h"
#include "generators/images/fill_levels.h"
#include "generators/table_cache.h"
#include "kernels/batch/batch.h"
#include "kernels/emission/pixels.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/stream.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace wellspring {

struct TexturedLeaves : DeadLeaves {
  class Tables;
  static constexpr forms::Pixels kForm = {
      .tiles = true, .host_tiles = true, .plane = true, .blocks = 2};  // needs 128 registers
  static constexpr GeneratorHooks kHooks = {
      .notes = true, .instead = true, .tables = true, .table_notes = true};

  /// Throws config errors if the fill is not an image generator, has invalid parameters or itself
  /// has fills; if the fills have too many pixels; or if a lower limit is above its upper limit.
  explicit TexturedLeaves(const Params& params);
  static SampleInfo describe(const Params& params);

  /// Maximum number of pixels of all fills together: 768 MiB, plus a third for their lower
  /// levels.
  static constexpr std::int64_t kMostTexels = std::int64_t{1} << 26;

  /// Placement of a leaf's fill: maps source pixels to fill pixels.
  struct Lie {
    std::uint32_t fill;
    float log_step;      ///< log2 of the number of fill pixels per source pixel
    float across, down;  ///< fill pixels per source pixel, along and across its rows
    float x, y;          ///< position of the image's corner, in fill pixels

    WS_INLINE float column(float px, float py) const {
      return math::fma(across, px, math::fma(-down, py, x));
    }
    WS_INLINE float row(float px, float py) const {
      return math::fma(down, px, math::fma(across, py, y));
    }
  };
  WS_INLINE Lie lie_of(const SampleRng& rng, std::uint32_t leaf) const {
    const Philox4 w = rng.block(Purpose::texture, kFillWords + leaf);
    const math::SinCos turned = math::sincos_turns(unit16(w.word[3] >> 16));
    const float octaves = -octaves_ * unit16(w.word[3] & 0xFFFF);
    const float step = steps_ * math::exp2(octaves), period = fills_.period();
    return {below(w.word[0], static_cast<std::uint32_t>(fills_.count())),
            log_steps_ + octaves,
            turned.cosine * step,
            turned.sine * step,
            period * unit_float(w.word[1]),
            period * unit_float(w.word[2])};
  }
  const FillLevels& fills() const { return fills_; }

  template <int N>
  WS_INLINE void shade(const Scene& scene, const Prepared& prepared, const PixelRun<N>& run,
                       ColourRun<N>& colour) const {
    const std::uint32_t* const front = prepared.front + run.row * prepared.pitch + run.column;
    const float log_footprint = math::log2(run.footprint);
    Lie lie = {};
    FillLevels::Cut cut = {};
    WS_UNROLL(1)  // device: full unroll, for registers; host: none, as reads dominate
    for (int i = 0; i < N; ++i) {
      if (i == 0 || front[i] != front[i - 1]) {
        lie = lie_of(scene.law.rng, front[i]);
        cut = fills_.cut(lie.fill, lie.log_step + log_footprint);
      }
      const float x = inside_x(scene, run.x[i]), y = inside_y(scene, run.y[i]);
      colour.set(i, fills_.read(cut, lie.column(x, y), lie.row(x, y)));
    }
  }

 private:
  /// Offset of the fills' random blocks. It is above all leaf numbers,
  /// whose blocks hold the leaves' colours.
  static constexpr std::uint32_t kFillWords = std::uint32_t{1} << 31;

  /// Maps a number below 2^16 to [0, 1).
  WS_INLINE static float unit16(std::uint32_t half) {
    return static_cast<float>(static_cast<std::int32_t>(half)) * 0x1p-16f;
  }

  FillLevels fills_;
  float steps_, log_steps_;  ///< largest number of fill pixels per source pixel, and its log2
  float octaves_;            ///< octaves between the scales
};

/// The fills, in the memory of the run's device.
class TexturedLeaves::Tables {
 public:
  explicit Tables(const Params& params);
  ~Tables();
  std::vector<std::string> prepare(TableCache&) const { return {}; }
  void plan(MemoryPlan& memory);
  void load(Stream& stream);
  void bind(TexturedLeaves& functor) const { functor.fills_.bind(pixels_.data()); }
  /// Notes from the fills' generator; call after plan().
  const std::vector<std::string>& notes() const;

 private:
  FillLevels levels_;
  std::uint64_t seed_;
  std::unique_ptr<Generator> fill_;
  Planned<float> pixels_;
  Planned<Slot> slots_;
};

}  // namespace wellspring
