// The rungs of a configuration: its training step with more and more of its data path. Called by
// `diagnose`; host only.
#pragma once

#include "measure/diagnosis.h"
#include "measure/ladder.h"
#include "measure/page_cache.h"
#include "train/config/run_config.h"
#include "train/metrics/observer.h"
#include "train/trainer.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace wellspring {

/// Files read from storage instead of the page cache.
struct ColdFiles {
  std::optional<RungResult> rung;  ///< nullopt: not possible here
  std::string reason;              ///< why not
};

/// Files of a data set.
struct FileCount {
  std::uint64_t count = 0, bytes = 0;
};

class TrainingLadder {
 public:
  /// Builds one trainer for each way to store the rows. Evaluates nothing and writes nothing;
  /// initial weights, limits of the run and the learning rate do not matter. A schedule is replaced
  /// by its mean weights. Errors: as in Trainer; (config) if train.graph is check.
  TrainingLadder(RunConfig config, TrainObserver& observer);

  /// From resident batches to the configuration, and the data path alone. Valid while this lives.
  std::vector<Rung> rungs();
  /// Changes that reduce the work of one stage, as far as the causes need and the configuration
  /// allows: twice the reading threads, half of the rows in memory (decoded, or as they are stored),
  /// no augmentation. Measures them together with the configuration.
  std::vector<Counterfactual> test_causes(const std::vector<Cause>& causes, LadderLimits limits);
  /// The configuration as it is, then with half and twice its batch size and threads and, if rows are
  /// streamed, its reading threads and batches ahead. Each rung is named after its setting.
  std::vector<Rung> sweep();
  /// Measures the configuration while the page cache has none of its files, with the ceiling.
  ColdFiles measure_cold(LadderLimits limits);
  /// Rates of reading the streamed files; nullopt if nothing is streamed.
  std::optional<ReadingRates> reading_rates() const;
  /// Samples per second that one thread reads and decodes; nullopt if nothing is encoded.
  std::optional<double> decoding_rate() const;

  const RunConfig& config() const { return config_; }
  const PlanReport& plan() const { return configured_->plan(); }
  /// Number and size of the streamed files; nullopt if nothing is streamed.
  std::optional<FileCount> files() const;
  /// Rungs that were left out and why, what the schedule became and, after the ceiling was measured,
  /// whether its batches fit into the caches.
  std::vector<std::string> notes() const;
  bool streams() const;

 private:
  std::unique_ptr<Trainer> trainer(const RunConfig& config, const KeepBatches& keep = {}) const;
  std::unique_ptr<Trainer> possible_trainer(const std::string& what, const RunConfig& config);
  /// The configuration with these settings of the sources that `configured_` streams.
  /// `fraction`: of the rows, in the cache.
  RunConfig streamed_as(Storage storage, std::optional<RowForm> cache, double fraction = 1) const;
  void add_cached();
  Rung rung(std::string name, std::string stage, Trainer& trainer,
            TimedPart part = TimedPart::whole) const;
  std::string device_stage() const;
  bool augments() const;
  bool fits(double bytes, std::uint64_t available, const std::string& where);
  std::vector<std::filesystem::path> streamed_files() const;
  std::int64_t reading_threads_of(const SourceSpec& spec) const;

  std::vector<std::string> notes_;  // before config_, whose initialisation adds notes
  RunConfig config_;
  TrainObserver& observer_;
  std::unique_ptr<Trainer> configured_, resident_, decoded_, encoded_;
  std::vector<std::unique_ptr<Trainer>> swept_;
};

}  // namespace wellspring
