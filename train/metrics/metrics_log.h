// metrics.jsonl and TensorBoard events of a run folder. Host only.
#pragma once

#include "core/io/files.h"
#include "core/io/tensorboard.h"
#include "train/metrics/observer.h"
#include "train/metrics/run_record.h"

#include <filesystem>
#include <vector>

namespace wellspring {

/// Appends to a run folder's metrics: a JSON object a line, "kind" is run (a process began, or went
/// on), step, evaluation or rates (a process ended). Opened at a step, it first drops the lines and
/// TensorBoard's points after it, which a run that was killed may have left, and what is said of
/// processes of which no step is left.
class MetricsLog {
 public:
  MetricsLog(const std::filesystem::path& folder, std::uint64_t step);
  void write(const RunRecord& record);
  void write(const StepReport& report);
  void write(const EvaluationReport& report);
  /// The run's rate and its ceiling.
  void write(const FinishReport& report);
  /// Brings everything to the disk: before a checkpoint, so that none is ahead of its metrics.
  void sync();

 private:
  std::filesystem::path path_;
  OutputFile file_;
  TensorBoardWriter events_;
};

/// What metrics.jsonl holds.
struct MetricsHistory {
  std::vector<RunRecord> runs;  ///< one a process
  std::vector<StepReport> steps;
  std::vector<EvaluationReport> evaluations;
};
/// Up to and with `last_step`; a last line that was cut short by the end of a process is left out.
/// Error (data) naming any other line that is not one of ours. No file: an empty history.
MetricsHistory read_metrics(const std::filesystem::path& folder,
                            std::uint64_t last_step = UINT64_MAX);

}  // namespace wellspring
