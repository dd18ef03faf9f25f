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
/// continued), step, evaluation or rate (a process ended). Opened at a step, it first drops all
/// lines and TensorBoard points after it, left by a killed run, and the records of processes
/// without any steps left.
class MetricsLog {
 public:
  MetricsLog(const std::filesystem::path& folder, std::uint64_t step);
  void write(const RunRecord& record);
  void write(const StepReport& report);
  void write(const EvaluationReport& report);
  /// Writes the run's rate.
  void write(const FinishReport& report);
  /// Flushes everything to disk. Called before a checkpoint, which must never be ahead of its
  /// metrics.
  void sync();

 private:
  std::filesystem::path path_;
  OutputFile file_;
  TensorBoardWriter events_;
};

/// The line of metrics.jsonl.
std::string to_line(const EvaluationReport& report);

/// The content of metrics.jsonl.
struct MetricsHistory {
  std::vector<RunRecord> runs;  ///< one per process
  std::vector<StepReport> steps;
  std::vector<EvaluationReport> evaluations;
};
/// Reads the metrics up to and including `last_step`, without an incomplete last line. Error (data)
/// for any other malformed line, with its number. No file: an empty history.
MetricsHistory read_metrics(const std::filesystem::path& folder,
                            std::uint64_t last_step = UINT64_MAX);
/// RunRecord::instruction_set of the process that made the step before `step`; "" if unknown, also
/// with damaged metrics, which do not matter then.
std::string instruction_set_before(const std::filesystem::path& folder, std::uint64_t step);

}  // namespace wellspring
