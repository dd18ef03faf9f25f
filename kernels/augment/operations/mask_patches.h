// mask_patches: masks a fixed share of the patches of an image, and sets them to the mean. K. He, X. Chen, S. Xie,
// Y. Li, P. Dollar, R. Girshick, "Masked autoencoders are scalable vision learners", CVPR 2022.
// Listed in operations.h; host and device.
#pragma once

#include "kernels/augment/operation.h"
#include "kernels/batch/batch.h"
#include "kernels/batch/pixel_run.h"
#include "kernels/random/philox.h"

#include <cstdint>

namespace wellspring::augment {

/// The masked patches of a sample, row by row.
struct PatchMask {
  static constexpr int kMostPatches = 1024;

  std::int32_t patch;   ///< side in pixels; 0: nothing is masked
  bool only;            ///< true: masked patches keep their pixels
  std::int32_t across;  ///< patches per row
  std::uint32_t bits[kMostPatches / 32];

  /// Selects `mask_count` patches: all sets of that size are equally probable. Patch i, counted row
  /// by row, uses word i of the sample's key. D. Knuth, "The art of computer programming", volume 2,
  /// 3.4.2, algorithm S.
  WS_HD void draw(const Augmentation& a, SampleShape shape) {
    patch = a.mask_patch;
    only = a.mask_only;
    if (patch == 0) return;
    across = shape.width / patch;
    const int patches = across * (shape.height / patch);
    const SampleRng rng{a.erase_key[0] | std::uint64_t{a.erase_key[1]} << 32, 0};
    auto left = static_cast<std::uint32_t>(a.mask_count);
    for (int word = 0; word < kMostPatches / 32; ++word) bits[word] = 0;
    for (int first = 0; first < patches; first += 4) {
      const Philox4 block = rng.block(Purpose::augment, static_cast<std::uint32_t>(first / 4));
      const int end = first + 4 < patches ? first + 4 : patches;
      for (int i = first; i < end; ++i) {
        if (below(block.word[i - first], static_cast<std::uint32_t>(patches - i)) >= left) continue;
        bits[i >> 5] |= 1u << (i & 31);
        --left;
      }
    }
  }
  WS_INLINE bool masks(int index) const { return (bits[index >> 5] >> (index & 31) & 1u) != 0; }
  /// Writes 1 for each masked patch of an image, row by row, and 0 for the rest of `count`.
  WS_HD void write(std::uint8_t* to, int count, SampleShape shape) const {
    const int own = patch == 0 ? 0 : across * (shape.height / patch);
    for (int i = 0; i < count; ++i) to[i] = i < own && masks(i) ? 1 : 0;
  }
  /// Sets masked pixels to 0, the mean after normalisation. The run starts at output pixel (x, y).
  template <int N>
  WS_INLINE void apply(int x, int y, ColourRun<N>& colour) const {
    if (patch == 0 || only) return;
    const int row = y / patch * across;
    for (int i = 0; i < N; ++i) {
      const int column = (x + i) / patch;
      if (column < across && masks(row + column)) colour.r[i] = colour.g[i] = colour.b[i] = 0;
    }
  }
};

/// Content of masked patches.
enum class MaskFill : std::uint8_t { mean, none };

struct MaskPatches {
  static constexpr auto kInfo = OperationInfo(
      42, AugmentStage::erase, "mask_patches", "ratio",
      "mask floor(ratio * patches) patches: set them to the mean, after normalisation",
      "masked autoencoders: He et al., CVPR 2022");

  template <class Reals>
  struct Params {
    double probability = 1;
    int patch = 16;
    double ratio = 0.75;
    MaskFill fill = MaskFill::mean;

    static void describe(ParamTable<Params>& table) {
      table
          .integer("patch", &Params::patch, {1, 4096}, "pixel",
                   "side of the square patches; it divides the sides of the image")
          .real("ratio", &Params::ratio, {0, 1}, "of the patches", "masked patches, rounded down")
          .choice("fill", &Params::fill, {{"mean", MaskFill::mean}, {"none", MaskFill::none}},
                  "mean: masked patches become the mean; none: they keep their pixels, for loss "
                  "masked_patches, which hides them from the network");
    }
    bool needs_pass() const { return true; }
    template <class Check>
    StepValues plan(FrameSize out, const Check& check) const {
      if (out.width % patch != 0 || out.height % patch != 0)
        check.refuse(".patch is {}, and the image has {} x {} pixels",
                     "the image consists of whole patches", "use a divisor of both sides", patch,
                     out.width, out.height);
      const int patches = (out.width / patch) * (out.height / patch);
      if (patches > PatchMask::kMostPatches)
        check.refuse(".patch = {} gives {} patches", "at most 1024 are masked one by one",
                     "use larger patches", patch, patches);
      return {patch, Planning::whole_pixels(ratio, patches), fill == MaskFill::none ? 1 : 0};
    }
  };

  WS_HD static void draw(const AugmentStep& step, FrameSize, AugmentRng& words, Augmentation& a) {
    words.key(a.erase_key);
    a.mask_patch = static_cast<std::int32_t>(step.value[0]);
    a.mask_count = static_cast<std::int32_t>(step.value[1]);
    a.mask_only = step.value[2] == 1;
  }
};

}  // namespace wellspring::augment
