// Evaluation on held-out samples. Called by the trainer and the command line; host only.
#pragma once

#include "generators/sample_info.h"
#include "sources/mixture.h"
#include "train/config/run_config.h"
#include "train/evaluation/classifier_scores.h"
#include "train/evaluation/network_pass.h"
#include "train/evaluation/prediction_file.h"
#include "train/evaluation/regression_scores.h"
#include "train/heads/head_losses.h"
#include "train/metrics/observer.h"
#include "train/step/run_context.h"
#include "train/step/supervised_task.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace wellspring {

/// Describes held-out samples that training also uses: ", 12 of them also in the training data" or
/// ", drawn from the same 737280 distinct samples as the training data"; "" without overlap.
std::string seen_text(const EvaluationResult& result);

/// Images, their dense labels, and the classes that a head predicts for their pixels; on the host.
struct DensePredictions {
  int source = 0;  ///< held-out source
  std::string head;
  SampleLayout layout;
  std::int64_t count = 0;
  std::vector<float> x, truth, predicted;  ///< [count, ...]
  std::vector<std::int32_t> label;
};

/// The held-out sources that training evaluates: none if the heads have no loss on them.
Mixture open_evaluated(const RunConfig& config, const std::vector<HeadSpec>& heads,
                       const WorkWatch& watch = {});

/// Evaluates a network on the held-out sources of a run. Uses its own batch, so that the training
/// batch is unchanged. Forward passes run eagerly, outside the recorded step. Each rank evaluates
/// its part of the samples, and all ranks report the results on all samples.
class Evaluator {
 public:
  /// Plans the memory. `mixture`: the held-out sources, from RunConfig::open_held_out. Errors: data
  /// if the classes of a source differ from its head's; config if a source has no head.
  Evaluator(const RunConfig& config, Mixture mixture, SupervisedTask& task, RunContext& context);
  /// Finds held-out rows that are also in `training`. Returns notes(), and one line per pair of
  /// data sets that share rows. Error (data) if the two data sets of a pair read the same files.
  std::vector<std::string> compare(const Mixture& training, const WorkWatch& watch = {});
  void load();
  /// Evaluates each source, starting with its first held-out sample. Blocks. A rank that receives a
  /// signal stops between two batches; then all ranks throw Interrupted. `use`, if given, receives
  /// this rank's samples in order.
  EvaluationReport evaluate(std::uint64_t step, const WorkWatch& watch = {},
                            const std::function<void(const PredictedRows&)>& use = {});

  /// Predicts up to `most` samples, from the start of the first held-out source with a per-pixel
  /// head; nullopt if no source has one. Blocks. Throws Interrupted after a signal.
  std::optional<DensePredictions> predict_pixels(std::int64_t most);

  bool empty() const { return mixture_.size() == 0; }
  /// The samples of evaluate(). The evaluator must outlive them.
  PredictedSamples samples() const { return {&mixture_, samples_, &task_.heads(), truth_, feeds_}; }
  /// Scores that are left out, and the reasons.
  std::vector<std::string> notes() const;

 private:
  void plan_scores(const std::vector<std::size_t>& signals);
  EvaluationResult evaluate_source(int source, const WorkWatch& watch,
                                   const std::function<void(const PredictedRows&)>& use);
  void pass_samples(int source, HeldOutRange samples, const WorkWatch& watch,
                    const std::function<void(const PredictedRows&)>& use);
  EvaluationResult summarise(int source);
  DensePredictions predict_pixels(const HeadSpec& head, int source, std::int64_t most);
  bool is_fed(std::size_t head, std::size_t source) const {
    return ((feeds_[head].sources >> source) & 1u) != 0;
  }

  RunContext& context_;
  SupervisedTask& task_;
  Mixture mixture_;
  std::vector<std::uint64_t> samples_;                    ///< by source, on all ranks
  std::vector<std::optional<std::uint64_t>> trained_on_;  ///< by source; found by compare()
  std::vector<std::string> head_names_;
  std::vector<SampleInfo> known_;     ///< by source; empty for files
  std::vector<SourceTruth> truth_;    ///< by source
  std::vector<HeadSources> feeds_;    ///< by head
  std::optional<HeadLosses> losses_;  ///< nullopt without sources
  NetworkPass pass_;
  Planned<double> sums_, host_sums_;
  // By head, for heads with held-out sources.
  std::vector<std::optional<ClassifierScores>> classifiers_;
  std::vector<std::optional<RegressionScores>> regressions_;
};

/// Evaluates the network of a checkpoint, optionally on the data of another configuration. `where`:
/// as for find_model_file. If the file has no metadata from this program, `config` defines the
/// network and its heads. `predictions`: path of a file to write (PredictionFile), or "".
EvaluationReport evaluate_checkpoint(const std::filesystem::path& where, RunConfig config,
                                     TrainObserver& observer,
                                     const std::filesystem::path& predictions = {});
}  // namespace wellspring
