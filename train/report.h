// report.html of a run: curves, throughput, plan, configuration and preview in one file that needs
// nothing else. Host only.
#pragma once

#include "train/metrics_log.h"
#include "train/observer.h"

#include <filesystem>
#include <string>
#include <vector>

namespace wellspring {

struct ReportInput {
  PlanReport plan;
  FinishReport finish;
  MetricsHistory history;
  std::string config_yaml;
  std::string version;
  std::vector<std::byte> preview_png;  ///< empty: no picture
  std::string preview_caption;
};

/// The whole page.
std::string report_html(const ReportInput& input);

}  // namespace wellspring
