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

/// The figure that train.keep_best names; nullopt without one. Error (config), with the known
/// figures, if there is no such figure.
std::optional<HeldOutFigure> figure_to_keep(const RunConfig& config,
                                            const std::vector<HeadSpec>& heads);

/// Follows the figure over the evaluations of a run.
class BestKeeper {
 public:
  BestKeeper(const RunConfig& config, const std::vector<HeadSpec>& heads)
      : figure_(figure_to_keep(config, heads)),
        every_(static_cast<std::uint64_t>(config.evaluation.every)),
        patience_(static_cast<std::uint64_t>(config.train.patience)) {}

  /// Continues a run; starts over if the run followed another figure. Returns a note, or "".
  std::string resume(const RunProgress& progress);
  /// Compares an evaluation with the best one, unless that was done before. Returns true if it is
  /// better. Only evaluations at multiples of eval.every use up patience, so an additional one at a
  /// time limit does not change when the run stops.
  bool compare(const EvaluationReport& report);
  bool out_of_patience() const { return patience_ > 0 && progress_.since_best >= patience_; }
  /// Without training_seconds.
  const RunProgress& progress() const { return progress_; }

 private:
  std::optional<HeldOutFigure> figure_;
  std::uint64_t every_, patience_;
  RunProgress progress_;
};

}  // namespace wellspring
