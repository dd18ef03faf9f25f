#include "core/text/measured_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace wellspring {
namespace {

bool is_known(double uncertainty) {
  return std::isfinite(uncertainty) && uncertainty > 0;
}

/// Decimals that show two significant digits of `uncertainty`. 0.0996 rounds to 0.10, so it needs
/// one decimal fewer than its power of ten suggests.
int decimals_for(double uncertainty, int most) {
  const int power = static_cast<int>(std::floor(std::log10(uncertainty)));
  const bool rounds_up = std::round(uncertainty * std::pow(10.0, 1 - power)) >= 100;
  return std::clamp(1 - power - (rounds_up ? 1 : 0), 0, most);
}

}  // namespace

std::string measured_text(double value, double uncertainty, const char* plus_minus,
                          int most_decimals) {
  if (!is_known(uncertainty)) return fmt::format("{:.4g}", value);
  const int decimals = decimals_for(uncertainty, most_decimals);
  return fmt::format("{:.{}f} {} {:.{}f}", value, decimals, plus_minus, uncertainty, decimals);
}

std::string share_text(double share, double error, const char* plus_minus) {
  if (!is_known(error)) return fmt::format("{:.2f} %", 100 * share);
  if (share >= 1 || share <= 0) {
    // Enough decimals that the bound does not round to the share.
    const int decimals = decimals_for(100 * error, 6);
    return share >= 1 ? fmt::format("100 % (1 sigma: above {:.{}f} %)", 100 * (1 - error), decimals)
                      : fmt::format("0 % (1 sigma: below {:.{}f} %)", 100 * error, decimals);
  }
  return measured_text(100 * share, 100 * error, plus_minus) + " %";
}

double share_error(double share, double count) {
  if (!(count > 0)) return 0;
  if (share <= 0 || share >= 1) return 1 / (count + 1);
  return std::sqrt(share * (1 - share) / count);
}

}  // namespace wellspring
