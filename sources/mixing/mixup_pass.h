// Mixup and cutmix in training: a pass over a whole batch after its emission, for any sources.
// Called by the training step; host only.
//
//     BatchMix mix(config, seed, labels);
//     mix.plan(memory, share, layout);
//     [recorded: mixture.emit(...), mix.enqueue(stream, state, mixture.slots(), batch)]
#pragma once

#include "core/config/params.h"
#include "kernels/batch/batch.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/step_state.h"
#include "kernels/runtime/stream.h"
#include "sources/mixing/mixup_cutmix.h"

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring {

/// The section `data.mix` of a configuration. As in timm, a pair is mixed with `probability`; if
/// both methods are enabled, they are equally likely.
struct MixConfig {
  double mixup = 0;  ///< a in Beta(a, a), the share's distribution; 0: off
  double cutmix = 0;
  double probability = 1;
  ConfigLocation place = {};

  bool on() const { return probability > 0 && (mixup > 0 || cutmix > 0); }
};
const ParamTable<MixConfig>& mix_table();

/// Throws a config error if `mix` does not suit samples of this kind. `whose`: "source 'jets'".
void expect_mixable(const MixConfig& mix, SampleKind kind, const std::string& whose);
/// Throws a config error if `rows`, the size of a batch or of a rank's share, is odd.
void expect_pairs(const MixConfig& mix, std::int64_t rows, const std::string& whose);

class BatchMix {
 public:
  /// `seed`: seed of the run. `labels`: by source index.
  BatchMix(const MixConfig& config, std::uint64_t seed, const std::vector<MixedLabels>& labels);

  /// Number of columns of `target` that the batch must have.
  int targets() const;
  /// Reserves the draws of this rank's pairs. Throws config errors for samples that cannot be
  /// mixed, or an odd share.
  void plan(MemoryPlan& memory, const Share& share, const SampleLayout& layout);

  /// Enqueues the mixing of `batch`. `target` of each row becomes the shares of its classes; label,
  /// weight and latents do not change. The draws depend on the seed, the step and the pair's number
  /// in the global batch.
  void enqueue(Stream& stream, const StepState* state, const Slot* slots,
               const BatchView& batch) const;

  /// [rows / 2] on the device: the latest draws.
  const PairMix* pairs() const { return pairs_.data(); }

 private:
  MixConfig config_;
  MixLaw law_;
  std::uint64_t seed_;
  MixedLabels labels_[kMaxSources];
  Share share_;
  Planned<PairMix> pairs_;
};

}  // namespace wellspring
