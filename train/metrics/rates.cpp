#include "train/metrics/rates.h"

#include "core/text/plural.h"
#include "core/text/text.h"

#include <fmt/format.h>

namespace wellspring {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

Throughput summarise_rates(const std::string& what, const std::vector<double>& rates) {
  const Spread spread = spread_of(rates);
  return {what, spread.median, spread.spread, rates.size(), median_interval(rates)};
}

MeasuredRates summarise_pairs(const std::vector<double>& rates, const std::vector<RatePair>& pairs,
                              const ProcessorLoad& load) {
  std::vector<double> ceilings;
  for (const RatePair& pair : pairs) ceilings.push_back(pair.ceiling);
  MeasuredRates measured;
  measured.as_configured = summarise_rates("as configured", rates);
  measured.resident = summarise_rates("resident batches (repeat)", ceilings);
  measured.share =
      share_of_ceiling(pairs, measured.as_configured.interval, measured.resident.interval);
  measured.load = load;
  return measured;
}

std::string rate_text(const Throughput& throughput) {
  const std::string median = human_count(throughput.samples_per_second);
  if (!throughput.interval)
    return fmt::format("{} ({}, too few for an interval)", median,
                       counted(throughput.windows, "window"));
  return fmt::format("{} (95 %: {} to {}; median of {} windows)", median,
                     human_count(throughput.interval->low), human_count(throughput.interval->high),
                     throughput.windows);
}

std::vector<std::pair<std::string, std::string>> ceiling_lines(const FinishReport& report) {
  if (report.as_configured.windows == 0) return {};
  const Throughput& ceiling = report.resident;
  if (ceiling.windows == 0)
    return {{"ceiling", fmt::format("not measured: {}", report.no_ceiling)}};
  const double whole = report.training_seconds + report.ceiling_seconds;
  return {
      {"ceiling",
       fmt::format(
           "{}; the same step on {}, interleaved with the run's windows ({:.1f} % of its time)",
           rate_text(ceiling), ceiling.what, whole > 0 ? 100 * report.ceiling_seconds / whole : 0)},
      {"reached", to_string(report.share, report.load)}};
}

}  // namespace wellspring
