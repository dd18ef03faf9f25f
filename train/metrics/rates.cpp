#include "train/metrics/rates.h"

#include "core/measure/clocks.h"
#include "core/text/plural.h"
#include "core/text/text.h"

#include <fmt/format.h>

namespace wellspring {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

Throughput summarise_rates(const std::vector<double>& rates) {
  return {spread_of(rates).median, rates.size(), median_interval(rates)};
}

std::string rate_text(const Throughput& throughput) {
  const std::string median = human_count(throughput.samples_per_second);
  if (!throughput.interval)
    return fmt::format("{} ({}; an interval needs {})", median,
                       counted(throughput.windows, "window"), kFewestForInterval);
  return fmt::format("{} (95 %: {} to {}; median of {} windows)", median,
                     human_count(throughput.interval->low), human_count(throughput.interval->high),
                     throughput.windows);
}

std::string wall_clock_text(const FinishReport& report) {
  const double ratio = report.time.clocks;
  std::string text = clock_text(report.throughput.samples_per_second * ratio, ratio);
  if (clocks_disagree(ratio)) text += ": " + disagreement_text(ratio);
  return text;
}

}  // namespace wellspring
