// The held-out samples in the report: confusion matrices, ROC and calibration curves. Called by
// train/report/report; host only.
#pragma once

#include "train/metrics/observer.h"

#include <string>

namespace wellspring {

/// HTML of all classifiers; "" without classifiers. Needs chart_style().
std::string held_out_html(const EvaluationReport& report);

}  // namespace wellspring
