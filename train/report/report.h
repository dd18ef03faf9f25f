// report.html of a run: curves, throughput, plan, configuration and preview in a single
// self-contained file. Called by the run folder; host only.
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
  std::vector<ReportPicture> pictures;  ///< first batch of each source, predictions
};

/// A page in the style of the report: `body` is HTML, the other texts are escaped.
std::string page_html(const std::string& title, const std::string& lead, const std::string& body);

/// A heading and the pictures with their captions; "" without pictures.
std::string pictures_html(const std::vector<ReportPicture>& pictures);

/// The complete page, with a light and a dark style, for screens at least 360 pixels wide.
std::string report_html(const ReportInput& input);

}  // namespace wellspring
