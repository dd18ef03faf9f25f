// Terminal output of a training run: the plan, a progress bar, evaluation lines and the final
// report. Called by `train`; host only.
#pragma once

#include "cli/work_bar.h"
#include "core/text/progress.h"
#include "train/config/run_config.h"
#include "train/metrics/observer.h"

#include <optional>
#include <string>
#include <vector>

namespace wellspring::cli {

/// Subcommand `name` for this configuration and its overrides; `settings` replace those with the
/// same keys.
std::string command_with(const std::string& name, const std::string& file,
                         const std::vector<std::string>& overrides,
                         const std::vector<std::string>& settings);

class TrainView : public TrainObserver {
 public:
  /// `file`, `overrides`, `ranks` (--ranks): as given by the user, for suggested commands.
  TrainView(std::string file, std::vector<std::string> overrides, std::int64_t ranks,
            RunConfig config)
      : file_(std::move(file)),
        overrides_(std::move(overrides)),
        ranks_(ranks),
        config_(std::move(config)) {}

  void on_memory(const std::string& table) override;
  void on_work(const std::string& what, std::uint64_t done, std::uint64_t total) override;
  void on_plan(const PlanReport& plan) override;
  void on_graph(const GraphCensus& census, std::uint64_t steps) override;
  void on_step_metrics(const StepReport& report) override;
  void on_evaluation(const EvaluationReport& report) override;
  void on_checkpoint(const CheckpointReport& report) override;
  void on_finish(const FinishReport& report) override;
  /// Called instead of the above if the run has already finished; prints its results and options.
  void finished_before(const FinishReport& report);
  /// Called instead of the above if a signal arrives while the data is read.
  void stopped_before_the_first_step();

 private:
  void say(const std::string& line);  ///< above the bar, if shown
  /// Reports truncated sets, whose distribution is not the generator's: at the first one, and in
  /// total at the end.
  void say_overflow();

  /// command_with the arguments of `train`.
  std::string command(const std::string& name, const std::vector<std::string>& settings) const {
    const std::string text = command_with(name, file_, overrides_, settings);
    return name == "train" && ranks_ > 1 ? text + " --ranks " + std::to_string(ranks_) : text;
  }
  /// The command that trains this run for `steps` steps in total.
  std::string command_for_steps(std::uint64_t steps) const;
  /// Commands that continue a run that a limit stopped.
  void suggest_higher_limit(const FinishReport& report) const;
  /// Useful next commands; a test runs each of them.
  void suggest_next(const FinishReport& report) const;
  void suggest(const char* what, const std::string& text) const;

  std::string file_;
  std::vector<std::string> overrides_;
  std::int64_t ranks_;
  RunConfig config_;
  std::string memory_table_;          ///< printed with the plan, hence not for a refused run
  std::optional<Progress> progress_;  ///< from the plan to the finish
  WorkBar work_{STDOUT_FILENO};       ///< for work before and between steps
  SetOverflow overflow_, told_overflow_;
};

}  // namespace wellspring::cli
