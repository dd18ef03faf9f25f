// The held-out figure of train.keep_best, its best value so far, and early stopping. Called by the
// trainer and by checks of configurations; host only.
#pragma once

#include "train/checkpoint/checkpoint_header.h"
#include "train/config/run_config.h"
#include "train/heads/heads.h"
#include "train/metrics/observer.h"

#include <optional>
#include <string>
#include <vector>

namespace wellspring {

class CheckpointStore;

/// A figure of one held-out source.
struct HeldOutFigure {
  enum class Better : std::uint8_t { smaller, larger };

  std::string source;
  std::string head;  ///< "": the first head with this score
  std::string what;  ///< "loss", or Score::what
  Better better = Better::larger;

  std::string name() const;  ///< "shapes.accuracy", "shapes.digit/accuracy"
  /// nullopt if the evaluation lacks the figure or its value is not finite.
  std::optional<double> value_in(const EvaluationReport& report) const;
};

/// The figure that train.keep_best names; nullopt without one. `config` has been through
/// settle_epochs. Errors (config): an unknown figure (the error lists the known ones), or one that
/// can be absent from an evaluation; train.patience in a run that is shorter than eval.every.
std::optional<HeldOutFigure> figure_to_keep(const RunConfig& config,
                                            const std::vector<HeadSpec>& heads);

/// Follows the figure over the evaluations of a run.
class BestKeeper {
 public:
  BestKeeper(const RunConfig& config, const std::vector<HeadSpec>& heads);

  /// Continues a run at `step`. Starts over, with a note, if the run followed another figure or had
  /// other held-out sets, or if its best checkpoint is not in `own`, the checkpoints of this run's
  /// folder (null: there is no folder).
  void resume(const RunProgress& progress, std::uint64_t step, const CheckpointStore* own,
              std::vector<std::string>& notes);
  /// Returns true if an evaluation is better than the best one so far. Skips evaluations that were
  /// compared before, and the additional one at a time limit, so that a run that continues from
  /// there equals an uninterrupted one. Error (data) if the figure cannot appear, or has not
  /// appeared by the last step.
  bool compare(const EvaluationReport& report);
  bool out_of_patience() const { return patience_ > 0 && progress_.since_best >= patience_; }
  /// Leaves training_seconds unset.
  const RunProgress& progress() const { return progress_; }

 private:
  std::optional<HeldOutFigure> figure_;
  std::uint64_t every_, patience_, steps_;
  RunProgress progress_;
};

}  // namespace wellspring
