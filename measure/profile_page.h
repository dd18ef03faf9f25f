// The page of `wellspring stats --html`: a profile with its histograms, and pictures of samples. Called
// by the command line; host only.
#pragma once

#include "measure/data_profile.h"
#include "train/report/report.h"

#include <string>
#include <vector>

namespace wellspring {

/// A self-contained page. `drift`: null, or from compare().
std::string to_html(const DataProfile& profile, const Drift* drift,
                    const std::vector<ReportPicture>& pictures);

}  // namespace wellspring
