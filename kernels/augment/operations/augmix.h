// augmix: a weighted mean of the image and of copies that chains of random operations transform. D.
// Hendrycks et al., "AugMix: a simple data processing method to improve robustness and
// uncertainty", ICLR 2020, with the operations and magnitudes of torchvision.transforms.v2.AugMix or
// of timm's `augmix` (timm/data/auto_augment.py). Emission is unchanged: augmix_pass.h draws and
// applies it afterwards. Listed in augmentation_config.h; host and device.
#pragma once

#include "kernels/augment/operations/rand_augment.h"
#include "kernels/random/beta.h"

#include <cstdint>

namespace wellspring::augment {

inline constexpr int kMostChains = 8;
inline constexpr int kMostDepth = 4;

/// The operations that a chain may have.
enum class MixOps : std::uint8_t {
  all,        ///< all 13 of the programs
  published,  ///< the 9 that the test set ImageNet-C does not contain
};

/// The chains and weights of a sample.
struct AugMixDraw {
  std::int32_t chains;  ///< 0: not applied
  std::int32_t depth[kMostChains];
  RandStep step[kMostChains][kMostDepth];
  float own;                  ///< weight of the image itself
  float weight[kMostChains];  ///< weights of the chains; the sum of all weights is 1
};

struct AugMix {
  static constexpr auto kInfo =
      OperationInfo(51, AugmentStage::whole, "augmix", "severity",
                    "weighted mean of the image and of randomly transformed copies",
                    "torchvision.transforms.v2.AugMix; Hendrycks et al., ICLR 2020");
  /// Marks operations whose result shows an object in several places.
  static constexpr bool kBlendsCopies = true;

  template <class Reals>
  struct Params {
    double probability = 1;
    int severity = 3;
    int chains = 3;
    int depth = 0;
    double alpha = 1;
    MixOps operations = MixOps::all;
    RandTable table = RandTable::torchvision;

    static void describe(ParamTable<Params>& table) {
      table
          .integer("severity", &Params::severity, {1, 10}, "",
                   "largest magnitude: torchvision draws one of the first `severity` of 10 bins, "
                   "timm a number up to `severity` of 10")
          .integer("chains", &Params::chains, {1, kMostChains}, "",
                   "transformed copies per sample (torchvision: mixture_width)")
          .integer("depth", &Params::depth, {0, kMostDepth}, "",
                   "operations per chain; 0: one to three, drawn per chain (torchvision: "
                   "chain_depth of -1)")
          .real("alpha", &Params::alpha, {0.01, 100}, "",
                "shape of the weights' distributions, Dirichlet and beta")
          .choice("operations", &Params::operations,
                  {{"all", MixOps::all}, {"published", MixOps::published}},
                  "published: without brightness, saturation, contrast and sharpness "
                  "(torchvision: all_ops=False)")
          .choice("table", &Params::table,
                  {{"torchvision", RandTable::torchvision}, {"timm", RandTable::timm}},
                  "magnitudes");
    }
    StepValues plan(FrameSize) const {
      return {
          severity, chains, depth, alpha, static_cast<int>(operations), static_cast<int>(table)};
    }
  };

  /// Draws the chains and weights of a sample; `step` is the plan's.
  WS_HD static void draw_chains(const AugmentStep& step, SampleRng rng, const DrawnGroups& groups,
                                AugMixDraw& mix) {
    AugmentRng words(rng, op_of<AugMix>);
    const bool happens = words.happens(step) && groups.include(step.place);
    mix.chains = happens ? static_cast<std::int32_t>(step.value[1]) : 0;
    if (!happens) return;
    for (int i = 0; i < mix.chains; ++i) {
      const int random_depth = 1 + static_cast<int>(words.whole(2));
      mix.depth[i] = step.value[2] > 0 ? static_cast<std::int32_t>(step.value[2]) : random_depth;
      for (int j = 0; j < mix.depth[i]; ++j) mix.step[i][j] = draw_step(step, words);
    }
    draw_weights(step.value[3], words, mix);
  }

 private:
  /// Takes one word each for the operation, the sign and the magnitude.
  WS_INLINE static RandStep draw_step(const AugmentStep& step, AugmentRng& words) {
    const auto ops = static_cast<MixOps>(static_cast<int>(step.value[4]));
    const auto table = static_cast<RandTable>(static_cast<int>(step.value[5]));
    // Both tables are torchvision's RandAugment without the identity, in its order.
    const std::uint32_t k = below(words.next(), ops == MixOps::all ? 13 : 9);
    const auto op = static_cast<RandOp>(ops == MixOps::all || k < 5 ? 1 + k : 5 + k);
    const float sign = words.uniform() < 0.5f ? -1.f : 1.f;
    if (table == RandTable::timm) return {op, words.uniform(0, step.value[0]) / 10, sign, table};
    const float strength = words.whole(step.value[0] - 1) / 9;
    // In units of RandAugment's table: a shift of at most a third of a side instead of 150/331, and
    // 4 bits less.
    if (op == RandOp::translate_x || op == RandOp::translate_y)
      return {op, strength * (331.f / 450), sign, table};
    return {op, op == RandOp::posterise ? 1 + strength : strength, sign, table};
  }
  /// A Dirichlet-distributed share per chain of the part that a beta-distributed number leaves.
  WS_INLINE static void draw_weights(float alpha, AugmentRng& words, AugMixDraw& mix) {
    mix.own = draw_beta(words, alpha, alpha);
    float most = -math::kInfinity, sum = 0;
    for (int i = 0; i < mix.chains; ++i) {
      mix.weight[i] = draw_log_gamma(words, alpha);
      most = math::max(most, mix.weight[i]);
    }
    for (int i = 0; i < mix.chains; ++i) {
      mix.weight[i] = math::exp(mix.weight[i] - most);
      sum += mix.weight[i];
    }
    for (int i = 0; i < mix.chains; ++i) mix.weight[i] *= (1 - mix.own) / sum;
  }
};

}  // namespace wellspring::augment
