// The samples of a configuration as its run sees them: of all its sources, augmented and
// normalised, files included; before data.mix blends them. For export, preview and digest; host
// only.
#pragma once

#include "export/preview.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/stream.h"
#include "sources/mixture.h"
#include "train/config/run_config.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace wellspring {

/// Which of them.
struct RunSampleRange {
  enum class Split : std::uint8_t {
    train,      ///< the rows of the batches of step 0, 1, ..., as one rank alone makes them
    evaluation  ///< what is held out, source after source in the order of `eval.sources`
  };
  Split split = Split::train;
  std::uint64_t step = 0;              ///< train: the first one
  std::optional<std::uint64_t> count;  ///< all there are where it is not given
  DenseTruth dense = DenseTruth::none;
};

/// Makes a batch of the run at a time, and never more rows of one than are asked for. x is f32,
/// whatever the type the network computes in.
class RunSamples final : public SampleReader {
 public:
  /// Opens the data. Errors: config where the run has fewer samples, or where nothing is held out;
  /// data as RunConfig::open_training.
  RunSamples(RunConfig config, const RunSampleRange& range);

  /// Before make(): no more than `most` samples.
  void limit(std::uint64_t most);

  std::uint64_t count() const override { return count_; }
  SampleLayout layout() const override { return mixture_.layout(); }
  const std::vector<SampleOrigin>& origins() const override { return origins_; }
  /// Below `data.root`.
  std::string location(const Slot& slot) const override;
  std::size_t longest_location() const override;
  void make(const std::function<void(const HostSamples&)>& take) override;
  SetOverflow overflow() const override { return batch_.overflow(); }
  std::vector<std::string> notes() const override;
  SampleHeading heading() const override;
  std::string summary() const override;
  nlohmann::ordered_json identity() const override;
  nlohmann::ordered_json making() const override;

 private:
  bool held_out() const { return range_.split == RunSampleRange::Split::evaluation; }
  std::uint64_t available() const;
  /// Of the configuration: what source `index` of the mixture is, or was held out of.
  const SourceSpec& spec(int index) const;
  std::uint64_t held_out_samples(int source) const;
  /// "steps 0 to 3": whose samples are made, the last ones perhaps in part.
  std::string steps() const;
  void make_training(Stream& stream, const std::function<void(const HostSamples&)>& take);
  void make_held_out(Stream& stream, const std::function<void(const HostSamples&)>& take);

  RunConfig config_;
  RunSampleRange range_;
  std::uint64_t count_ = 0;
  std::uint64_t rows_ = 0;  ///< made at once
  HostBatch batch_;
  Planned<StepState> state_;
  std::optional<Stream> stream_;
  std::optional<MemoryPlan> memory_;  ///< outlives the mixture, whose threads write to it
  Mixture mixture_;
  std::vector<SampleOrigin> origins_;
};

/// Those of a run's training sources, by index.
std::vector<SampleOrigin> training_origins(const RunConfig& config, const Mixture& mixture);

/// Whether some source gives samples in the batch of `step` for the first time. After plan().
bool brings_a_source(const Mixture& mixture, std::uint64_t step);

/// The training batch of `step` on its device as a picture, as the network saw it: images of every
/// source in it, histograms of events. Blocks.
Preview preview_batch(const RunConfig& config, const Mixture& mixture, Stream& stream,
                      const BatchView& batch, std::uint64_t step);

}  // namespace wellspring
