// Axis ticks and their labels. Called by reports and previews; host only.
#pragma once

#include <string>
#include <vector>

namespace wellspring {

/// Round numbers that cover [low, high] in about `wanted` steps of 1, 2 or 5 times a power of ten.
std::vector<double> axis_ticks(double low, double high, int wanted);

/// Label of a tick, with as many digits as the distance between ticks, `step`, requires: "0.25",
/// "1500", "20 k", "1.5 M"; for steps below 1e-4: "2e-5". ASCII.
std::string tick_text(double value, double step);

}  // namespace wellspring
