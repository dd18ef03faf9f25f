#include "train/finished_run.h"

#include "core/config/config_values.h"
#include "core/error.h"
#include "train/checkpoint/checkpoint.h"
#include "train/metrics/metrics_log.h"
#include "train/run_folder.h"

namespace wellspring {
namespace {

namespace fs = std::filesystem;

/// The header of a checkpoint that is complete and belongs to this run; otherwise nullopt, and the
/// code that resumes reports the problem.
std::optional<CheckpointHeader> header_of(const RunConfig& config, const fs::path& checkpoint) {
  try {
    CheckpointHeader header = read_checkpoint_header(checkpoint);
    if (!config_differences(header.identity, config.identity_yaml()).empty()) return std::nullopt;
    for (const auto& entry : header.files) check_digest(checkpoint / entry.first, header);
    return header;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

std::optional<EvaluationReport> evaluation_at(const fs::path& folder, std::uint64_t step) {
  const std::vector<EvaluationReport> all = read_metrics(folder, step).evaluations;
  if (all.empty() || all.back().step != step) return std::nullopt;
  return all.back();
}

std::optional<FinishReport> finished_run(const RunConfig& config) {
  FinishReport finish;
  finish.status = RunStatus::already_finished;
  finish.step = static_cast<std::uint64_t>(config.train.steps);
  finish.folder = config.folder();
  finish.report = finish.folder / kReportFile;
  const CheckpointStore store(finish.folder);
  const fs::path last = store.path_of(finish.step);
  if (store.newest() != last || !fs::exists(finish.report)) return std::nullopt;
  const std::optional<CheckpointHeader> header = header_of(config, last);
  if (!header) return std::nullopt;
  finish.evaluation = evaluation_at(finish.folder, finish.step);
  if (!finish.evaluation && !config.evaluation.sources.empty()) return std::nullopt;
  finish.checkpoint = CheckpointReport{finish.step, last, 0, 0};
  finish.best = header->progress.best;
  if (fs::exists(store.best())) finish.best_checkpoint = store.best();
  if (fs::exists(finish.folder / kPreviewFile)) finish.preview = finish.folder / kPreviewFile;
  return finish;
}

}  // namespace wellspring
