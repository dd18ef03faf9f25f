// Evaluation on samples that training never sees. Host only.
#pragma once

#include "generators/sample_info.h"
#include "kernels/batch/batch_columns.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/stream.h"
#include "sources/mixture.h"
#include "train/config/run_config.h"
#include "train/heads/head_losses.h"
#include "train/metrics/observer.h"
#include "train/step/supervised_task.h"

#include <filesystem>
#include <string>
#include <vector>

namespace wellspring {

/// Whether its samples were trained on: ", 12 of them trained on", ", of 737280 different ones,
/// which training draws, too"; "" where none was.
std::string seen_text(const EvaluationResult& result);

/// The held-out sources of a run. Has a batch of its own, so that the training batch stays where it
/// is. Forward passes are eager: evaluation is no part of the recorded step.
class Evaluator {
 public:
  /// Plans. `mixture`: the held-out sources, RunConfig::open_held_out. Error (data) where a
  /// source's classes are not those of its head; config where no head is for a source.
  Evaluator(const RunConfig& config, Mixture mixture, const SupervisedTask& task,
            MemoryPlan& memory);
  /// Looks for held-out rows that `training` has, too, and says what it found, a line each pair of
  /// data sets where there is something to say. Error (data) where the very files are the same.
  std::vector<std::string> compare(const Mixture& training, int threads,
                                   const WorkWatch& watch = {});
  void load(Stream& stream);
  /// Every source from its first held-out sample on. Blocks. Interrupted, between batches, once a
  /// signal has come.
  EvaluationReport evaluate(Stream& stream, SupervisedTask& task, std::uint64_t step,
                            const WorkWatch& watch = {});

  bool empty() const { return mixture_.size() == 0; }

 private:
  EvaluationResult evaluate_source(Stream& stream, SupervisedTask& task, int source,
                                   const WorkWatch& watch);

  /// A head of two classes, and the samples of one source as it scores them, whose order tells the
  /// area under the curve.
  struct Ranking {
    std::size_t head;
    Planned<ops::ScoredSample> device, host;
  };

  Mixture mixture_;
  std::vector<std::uint64_t> samples_;
  std::vector<std::uint64_t> trained_on_;  ///< of them, as far as compare() found
  std::vector<std::string> head_names_;
  std::vector<SampleInfo> known_;     ///< of each source; of files nothing
  std::optional<HeadLosses> losses_;  ///< none without sources
  BatchColumns batch_;
  Planned<double> sums_, host_sums_;
  std::vector<Ranking> rankings_;
};

/// A trained network, made from a checkpoint alone or with another configuration's data: evaluates
/// it without training. `where`: run folder, checkpoint folder or model.safetensors.
EvaluationReport evaluate_checkpoint(const std::filesystem::path& where, RunConfig config,
                                     TrainObserver& observer);
/// The configuration that a checkpoint was made with.
RunConfig config_of_checkpoint(const std::filesystem::path& where);

}  // namespace wellspring
