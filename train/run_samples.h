// The samples of a configured run as its network reads them: from all its sources, augmented,
// normalised and, in training, mixed by data.mix. For export, preview and digest; host only.
#pragma once

#include "export/preview.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/stream.h"
#include "sources/mixing/mixup_pass.h"
#include "sources/mixture.h"
#include "train/config/run_config.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace wellspring {

struct DensePredictions;

/// The selected samples.
struct RunSampleRange {
  enum class Split : std::uint8_t {
    train,      ///< the batches of steps 0, 1, ..., as a single rank makes them
    evaluation  ///< held-out samples, source by source in the order of `eval.sources`
  };
  Split split = Split::train;
  std::uint64_t step = 0;              ///< train: the first step
  std::optional<std::uint64_t> count;  ///< default: all
  DenseLabels dense = DenseLabels::none;
};

/// Makes one batch of the run at a time, and no more rows than requested. x is f32, regardless of
/// the network's compute type.
class RunSamples final : public SampleReader {
 public:
  /// Opens the data. Errors: config if the run has fewer samples or nothing is held out; data as in
  /// RunConfig::open_training.
  RunSamples(RunConfig config, const RunSampleRange& range);

  /// Limits the number of samples. Call before make().
  void limit(std::uint64_t most);

  std::uint64_t count() const override { return count_; }
  SampleLayout layout() const override;
  const std::vector<SampleOrigin>& origins() const override { return origins_; }
  /// Relative to `data.root`.
  std::string location(const Slot& slot) const override;
  std::size_t longest_location() const override;
  /// Skips whole steps.
  std::uint64_t skip(std::uint64_t samples) override;
  void make(const std::function<void(const HostSamples&)>& take) override;
  SetOverflow overflow() const override { return batch_.overflow(); }
  std::vector<std::string> notes() const override;
  SampleHeading heading() const override;
  std::string summary() const override;
  nlohmann::ordered_json identity() const override;
  std::vector<std::string> generators() const override { return config_.generators(); }
  nlohmann::ordered_json making() const override;

 private:
  bool held_out() const { return range_.split == RunSampleRange::Split::evaluation; }
  std::uint64_t available() const;
  /// Configuration of the mixture's source `index`, or of the source that it is held out from.
  const SourceSpec& spec(int index) const;
  std::uint64_t held_out_samples(int source) const;
  /// The steps that the samples belong to, such as "steps 0 to 3"; the last one may be partial.
  std::string steps() const;
  /// Makes mix_; names the columns of `target` after the classes whose shares they hold.
  void plan_mixing();
  void make_training(Stream& stream, const std::function<void(const HostSamples&)>& take);
  void make_held_out(Stream& stream, const std::function<void(const HostSamples&)>& take);

  RunConfig config_;
  RunSampleRange range_;
  std::uint64_t count_ = 0;
  std::uint64_t rows_ = 0;  ///< rows per batch
  std::uint64_t skipped_steps_ = 0;
  HostBatch batch_;
  Planned<StepState> state_;
  std::optional<Stream> stream_;
  std::optional<MemoryPlan> memory_;  ///< outlives the mixture, whose threads write to it
  Mixture mixture_;
  std::vector<SampleOrigin> origins_;
  std::optional<BatchMix> mix_;  ///< data.mix, for training batches
};

/// Origins of the training sources, by index.
std::vector<SampleOrigin> training_origins(const RunConfig& config, const Mixture& mixture);

/// True if a source provides its first samples in the batch of `step`. Call after plan().
bool brings_a_source(const Mixture& mixture, std::uint64_t step);

/// A picture of the training batch of `step`, as the network sees it: images of each source,
/// or histograms of events. Blocks.
Preview preview_batch(const RunConfig& config, const Mixture& mixture, Stream& stream,
                      const BatchView& batch, std::uint64_t step);
/// A picture of held-out samples at `step`: each one twice, first with its dense labels, then with
/// the predicted classes. `held_out`: the held-out sources.
RgbImage picture_of(const DensePredictions& predictions, const RunConfig& config,
                    const Mixture& held_out, std::uint64_t step);

}  // namespace wellspring
