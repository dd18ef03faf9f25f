// The section of a run's report that says where the time went. Called by train/report/report; host
// only.
#pragma once

#include "train/report/report.h"

#include <string>

namespace wellspring {

/// HTML: the verdict on the data, the command that measures more, and the time of all recorded
/// processes of the run.
std::string time_html(const ReportInput& input);

}  // namespace wellspring
