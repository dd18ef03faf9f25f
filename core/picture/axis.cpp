#include "core/picture/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace wellspring {
namespace {

/// Decimals that distinguish multiples of `step`.
int decimals_of(double step) {
  // For steps of 1, 2 or 5 times a power of ten; 1e-9 compensates for inexact powers.
  return std::max(0, -static_cast<int>(std::floor(std::log10(step) + 1e-9)));
}

}  // namespace

std::vector<double> axis_ticks(double low, double high, int wanted) {
  double span = high - low;
  if (!(span > 0)) span = std::abs(low) > 0 ? std::abs(low) : 1;
  const double rough = span / wanted;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough) {
      step = factor * power;
      break;
    }
  const auto first = static_cast<std::int64_t>(std::floor(low / step + 1e-9));
  const auto last = std::max(first + 1, static_cast<std::int64_t>(std::ceil(high / step - 1e-9)));
  std::vector<double> ticks;
  for (std::int64_t i = first; i <= last; ++i) ticks.push_back(static_cast<double>(i) * step);
  return ticks;
}

std::string tick_text(double value, double step) {
  if (!(step > 0) || !std::isfinite(value)) return fmt::format("{:g}", value);
  if (std::abs(value) < 1e-9 * step) return "0";
  if (step < 1e-4) {
    const auto power = static_cast<int>(std::floor(std::log10(step) + 1e-9));
    const double mantissa = value / std::pow(10.0, power);
    return fmt::format("{:g}e{}", std::round(mantissa * 1e6) / 1e6, power);
  }
  constexpr std::array units = {" k", " M", " G", " T"};
  double scale = 1;
  const char* unit = "";
  // Values below 10000 have no unit.
  for (std::size_t i = 0; i < units.size() && std::abs(value) >= 1000 * scale * (i == 0 ? 10 : 1);
       ++i) {
    scale *= 1000;
    unit = units[i];
  }
  return fmt::format("{:.{}f}{}", value / scale, decimals_of(step / scale), unit);
}

}  // namespace wellspring
