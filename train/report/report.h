// report.html of a run: curves, throughput, plan, configuration and preview in one file that needs
// nothing else. Host only.
#pragma once

#include "train/metrics/metrics_log.h"
#include "train/metrics/observer.h"

#include <filesystem>
#include <string>
#include <vector>

namespace wellspring {

struct ReportPicture {
  std::vector<std::byte> png;
  std::string caption;
};

struct ReportInput {
  PlanReport plan;
  FinishReport finish;
  MetricsHistory history;
  std::string config_yaml;
  std::string version;
  std::vector<ReportPicture> pictures;  ///< of first batches
};

/// The whole page: for screens from 360 pixels of width on, light and dark.
std::string report_html(const ReportInput& input);

}  // namespace wellspring
