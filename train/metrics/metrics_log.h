// metrics.jsonl and TensorBoard events of a run folder. Called by the trainer; host only.
#pragma once

#include "core/io/files.h"
#include "core/io/tensorboard.h"
#include "train/metrics/observer.h"
#include "train/metrics/run_record.h"

#include <filesystem>
#include <string>
#include <vector>

namespace wellspring {

/// Appends to a run folder's metrics, one JSON object per line; "kind" is run (a process began or
/// resumed), step, evaluation or rate (a process ended). The constructor removes what a killed
/// process left after `step`: lines, TensorBoard points, and records of processes that have no
/// steps left.
class MetricsLog {
 public:
  MetricsLog(const std::filesystem::path& folder, std::uint64_t step);
  void write(const RunRecord& record);
  void write(const StepReport& report);
  void write(const EvaluationReport& report);
  /// Writes the process's rate and what its time was spent on.
  void write(const FinishReport& report);
  /// Flushes everything to disk. Called before a checkpoint, which must never be ahead of its
  /// metrics.
  void sync();

 private:
  std::filesystem::path path_;
  OutputFile file_;
  TensorBoardWriter events_;
};

/// The report as a line of metrics.jsonl.
std::string to_line(const EvaluationReport& report);
std::string to_line(const StepReport& report);

/// The content of metrics.jsonl.
struct MetricsHistory {
  std::vector<RunRecord> runs;  ///< one per process
  std::vector<StepReport> steps;
  std::vector<EvaluationReport> evaluations;
  std::vector<RunTime> times;  ///< one per process that ended in order
};
/// Reads the metrics up to and including `last_step` and ignores an incomplete last line. Error
/// (data), with the line number, for any other malformed line. Without a file, the history is
/// empty.
MetricsHistory read_metrics(const std::filesystem::path& folder,
                            std::uint64_t last_step = UINT64_MAX);
/// RunRecord::instruction_set of the process that made the step before `step`; "" if it is unknown
/// or the metrics are damaged.
std::string instruction_set_before(const std::filesystem::path& folder, std::uint64_t step);

}  // namespace wellspring
