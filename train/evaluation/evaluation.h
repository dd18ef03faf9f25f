// Evaluation on held-out samples. Called by the trainer and the command line; host only.
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

/// Overlap of the held-out samples with training as text: ", 12 of them also in the training data"
/// or ", drawn from the same 737280 distinct samples as the training data"; "" without overlap.
std::string seen_text(const EvaluationResult& result);

/// Evaluates a network on the held-out sources of a run. Uses its own batch, so that the training
/// batch stays unchanged. Forward passes run eagerly, outside the recorded step.
class Evaluator {
 public:
  /// Plans the memory. `mixture`: the held-out sources, from RunConfig::open_held_out. Errors: data
  /// if the classes of a source differ from its head's; config if a source has no head.
  Evaluator(const RunConfig& config, Mixture mixture, const SupervisedTask& task,
            MemoryPlan& memory);
  /// Finds held-out rows that are also in `training`; returns a line for each pair of data sets
  /// with such rows. Error (data) if both read the same files.
  std::vector<std::string> compare(const Mixture& training, int threads,
                                   const WorkWatch& watch = {});
  void load(Stream& stream);
  /// Evaluates each source from its first held-out sample. Blocks. Throws Interrupted between
  /// batches after a signal.
  EvaluationReport evaluate(Stream& stream, SupervisedTask& task, std::uint64_t step,
                            const WorkWatch& watch = {});

  bool empty() const { return mixture_.size() == 0; }

 private:
  EvaluationResult evaluate_source(Stream& stream, SupervisedTask& task, int source,
                                   const WorkWatch& watch);

  /// Scores that a two-class head gives to the samples of one source, for the area under the curve.
  struct Ranking {
    std::size_t head;
    Planned<ops::ScoredSample> device, host;
  };

  Mixture mixture_;
  std::vector<std::uint64_t> samples_;
  std::vector<std::uint64_t> trained_on_;  ///< by source; found by compare()
  std::vector<std::string> head_names_;
  std::vector<SampleInfo> known_;     ///< by source; empty for files
  std::optional<HeadLosses> losses_;  ///< nullopt without sources
  BatchColumns batch_;
  Planned<double> sums_, host_sums_;
  std::vector<Ranking> rankings_;
};

/// Evaluates the network of a checkpoint, optionally on the data of another configuration. `where`:
/// run folder, checkpoint folder or safetensors file. If the file has no metadata of this program,
/// `config` defines the network and its heads.
EvaluationReport evaluate_checkpoint(const std::filesystem::path& where, RunConfig config,
                                     TrainObserver& observer);
/// The configuration stored with a checkpoint.
RunConfig config_of_checkpoint(const std::filesystem::path& where);

}  // namespace wellspring
