// Numbers along the axes of charts and pictures. Used by reports and previews; host only.
#pragma once

#include <string>
#include <vector>

namespace wellspring {

/// Round numbers that cover [low, high] in about `wanted` steps: 1, 2 or 5 times a power of ten.
std::vector<double> axis_ticks(double low, double high, int wanted);

/// A tick as a person writes it, with the digits that `step`, the distance between ticks, asks for:
/// "0.25", "1500", "20 k", "1.5 M"; below a ten thousandth "2e-5". ASCII.
std::string tick_text(double value, double step);

}  // namespace wellspring
