// The folder of a training run: its lock, configuration, metrics, preview, report and checkpoints.
// Host only.
#pragma once

#include "core/io/files.h"
#include "core/picture/png.h"
#include "train/checkpoint/checkpoint.h"
#include "train/config/run_config.h"
#include "train/metrics/metrics_log.h"
#include "train/metrics/observer.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace wellspring {

inline constexpr const char* kPreviewFile = "preview.png";
inline constexpr const char* kPredictionsFile = "predictions.png";
inline constexpr const char* kReportFile = "report.html";

/// Locked for one process throughout the object's lifetime.
class RunFolder {
 public:
  /// Creates and locks the folder. Errors: runtime if another process trains in it; config if it is
  /// the root folder or holds files that belong neither to a run nor next to one.
  explicit RunFolder(const RunConfig& config);
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  ~RunFolder();

  /// False on a file system without locks, where nothing prevents a second run.
  bool locked() const { return lock_.held(); }
  const std::filesystem::path& path() const { return path_; }
  const CheckpointStore& checkpoints() const { return checkpoints_; }
  /// Error (runtime) if the path no longer leads to the folder in which the run began.
  void expect_in_place() const;

  /// Called before `step`, the first step of a process. Removes leftovers of a killed process and
  /// any earlier final report, marks the best checkpoint so far, writes the configuration and
  /// opens the metrics.
  void open(const RunConfig& config, const PlanReport& plan, std::uint64_t step,
            const std::optional<BestReport>& best);
  /// Null before open().
  MetricsLog* metrics() { return metrics_ ? &*metrics_ : nullptr; }

  /// Flushes the metrics, if open, to the disk before a checkpoint. Errors: as expect_in_place.
  void sync_metrics();

  /// Writes the batch of `step`: preview.png for step 0, preview-STEP.png for later ones.
  void write_preview(std::uint64_t step, const RgbImage& picture) const;
  /// Writes predictions.png and replaces an earlier one.
  void write_predictions(const RgbImage& picture) const;
  /// Writes the rates to the metrics and report.html, and fills in the paths of `finish`.
  void write_report(const RunConfig& config, const PlanReport& plan, FinishReport& finish);

 private:
  std::filesystem::path path_;
  FolderLock lock_;
  int descriptor_ = -1;  ///< the folder, wherever it is moved
  CheckpointStore checkpoints_;
  std::optional<MetricsLog> metrics_;
};

}  // namespace wellspring
