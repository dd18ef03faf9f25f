#include "train/finished_run.h"

#include "core/config/config_values.h"
#include "core/error.h"
#include "train/checkpoint/checkpoint.h"
#include "train/metrics/metrics_log.h"
#include "train/optimizer/learning_rate.h"
#include "train/run_folder.h"
#include "train/step/step.h"

#include <algorithm>

namespace wellspring {
namespace {

namespace fs = std::filesystem;

/// True if the checkpoint is complete and belongs to this run. Resuming reports what is wrong.
bool is_of(const RunConfig& config, const fs::path& checkpoint) {
  try {
    const CheckpointHeader header = read_checkpoint_header(checkpoint);
    if (!config_differences(header.identity, config.identity_yaml()).empty()) return false;
    for (const auto& entry : header.files) check_digest(checkpoint / entry.first, header);
    return true;
  } catch (const Error&) {
    return false;
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
  finish.step = static_cast<std::uint64_t>(config.train.steps);
  finish.folder = config.folder();
  finish.report = finish.folder / kReportFile;
  const CheckpointStore store(finish.folder);
  const fs::path last = store.path_of(finish.step);
  if (store.newest() != last || !fs::exists(finish.report) || !is_of(config, last))
    return std::nullopt;
  finish.evaluation = evaluation_at(finish.folder, finish.step);
  if (!finish.evaluation && !config.evaluation.sources.empty()) return std::nullopt;
  finish.checkpoint = CheckpointReport{finish.step, last, 0, 0};
  if (fs::exists(finish.folder / kPreviewFile)) finish.preview = finish.folder / kPreviewFile;
  return finish;
}

bool may_be_longer(const RunConfig& config) {
  const ops::ScheduleSpec rates = learning_rate_schedule(config);
  const auto constant = [&](const SchedulePoint& point) {
    return point.weights == config.data.schedule.front().weights;
  };
  return rates.warmup == 0 && rates.floor == rates.peak &&
         std::ranges::all_of(config.data.schedule, constant);
}

}  // namespace wellspring
