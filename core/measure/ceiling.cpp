#include "core/measure/ceiling.h"

#include "core/text/plural.h"

#include <fmt/format.h>

namespace wellspring {

const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::too_few:
      return "too few pairs";
    case Verdict::conclusive:
      return "conclusive";
    case Verdict::scattered:
      return "scattered";
    case Verdict::contradicts:
      return "contradicts";
  }
  return "";
}

CeilingShare share_of_ceiling(const std::vector<RatePair>& pairs) {
  CeilingShare share;
  share.pairs = pairs.size();
  std::vector<double> ratios;
  for (const RatePair& pair : pairs) ratios.push_back(pair.rate / pair.ceiling);
  share.median = spread_of(ratios).median;
  share.interval = median_interval(std::move(ratios));
  if (!share.interval) return share;
  share.verdict = Verdict::conclusive;
  if (share.interval->high > kWidest * share.interval->low) share.verdict = Verdict::scattered;
  if (share.interval->low > 1 + kUnequalWindows) share.verdict = Verdict::contradicts;
  return share;
}

std::string to_string(const CeilingShare& share, const ProcessorLoad& load) {
  const std::string few = fmt::format("in {} of windows; an interval needs {}",
                                      counted(share.pairs, "pair"), kFewestForInterval);
  switch (share.verdict) {
    case Verdict::conclusive:
      return fmt::format("{:.1f} % (95 %: {:.1f} to {:.1f} %)", 100 * share.median,
                         100 * share.interval->low, 100 * share.interval->high);
    case Verdict::too_few:
      if (share.median <= 1 + kUnequalWindows)
        return fmt::format("{:.1f} % {}", 100 * share.median, few);
      return fmt::format("inconclusive: above the ceiling {} ({})", few, load.to_string());
    case Verdict::scattered:
      return fmt::format(
          "inconclusive: {} ({})",
          load.busy() ? "the machine was busy" : "the pairs of windows differ widely",
          load.to_string());
    case Verdict::contradicts:
      return fmt::format("inconclusive: {} ({})",
                         load.busy()    ? "the machine was busy"
                         : load.machine ? "above the ceiling, although the machine was not busy"
                                        : "above the ceiling",
                         load.to_string());
  }
  return "";
}

}  // namespace wellspring
