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
inline constexpr const char* kReportFile = "report.html";

/// Belongs to one process at a time, from its construction on.
class RunFolder {
 public:
  /// Makes and locks the folder. Errors: runtime where another process trains into it, config where
  /// it is the root folder or holds other files than a run's and those that lie beside one.
  explicit RunFolder(const RunConfig& config);

  /// False on a file system without locks: nothing then keeps a second run out.
  bool locked() const { return lock_.held(); }
  const std::filesystem::path& path() const { return path_; }
  const CheckpointStore& checkpoints() const { return checkpoints_; }

  /// Before the first step of a process, which goes on at `step`: removes what a killed one left,
  /// and the report of an earlier end, writes the configuration and opens the metrics.
  void open(const RunConfig& config, const PlanReport& plan, std::uint64_t step);
  /// Null before open().
  MetricsLog* metrics() { return metrics_ ? &*metrics_ : nullptr; }

  /// The batch of a step: preview.png of step 0, preview-STEP.png of a later one.
  void write_preview(std::uint64_t step, const RgbImage& picture) const;
  /// Writes the rates into the metrics, report.html, and what is where into `finish`.
  void write_report(const RunConfig& config, const PlanReport& plan, FinishReport& finish);

 private:
  std::filesystem::path path_;
  FolderLock lock_;
  CheckpointStore checkpoints_;
  std::optional<MetricsLog> metrics_;
};

}  // namespace wellspring
