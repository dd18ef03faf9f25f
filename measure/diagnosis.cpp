#include "measure/diagnosis.h"

#include "core/text/parse.h"

#include <algorithm>

namespace wellspring {
namespace {

constexpr double kHeadroom = 1.25;  ///< least rate of the data path over the ceiling
constexpr double kExplained = 0.5;  ///< least share of the lost time that the data path takes

/// `value` of each turn.
template <class Value>
std::vector<double> by_turn(const Ladder& ladder, Value value) {
  std::vector<double> values;
  for (std::size_t t = 0; t < ladder.ceiling().rates.size(); ++t) values.push_back(value(t));
  return values;
}

std::vector<Cause> causes_of(const Ladder& ladder) {
  std::vector<Cause> causes;
  const std::vector<double>& ceiling = ladder.ceiling().rates;
  const RungResult* above = &ladder.ceiling();
  for (const RungResult& rung : ladder.rungs) {
    if (rung.apart || &rung == above) continue;
    const std::vector<double> drops = by_turn(
        ladder, [&](std::size_t t) { return (above->rates[t] - rung.rates[t]) / ceiling[t]; });
    const double drop = spread_of(drops).median;
    const std::optional<Interval> interval = median_interval(drops);
    if (interval && interval->low > 0 && drop >= kModerately)
      causes.push_back({rung.stage, drop, *interval, above->rate / ladder.configured().rate});
    above = &rung;
  }
  std::ranges::stable_sort(causes, std::ranges::greater{}, &Cause::drop);
  for (std::size_t i = 1; i < causes.size(); ++i)
    causes[i].level = causes[i].interval.high >= causes[i - 1].interval.low;
  return causes;
}

}  // namespace

std::string verdict_text(const Diagnosis& diagnosis) {
  return input_text(diagnosis.bound, diagnosis.lost_interval, "turns");
}

Diagnosis diagnose(const Ladder& ladder) {
  const RungResult &ceiling = ladder.ceiling(), &configured = ladder.configured();
  Diagnosis result;
  const std::vector<double> lost =
      by_turn(ladder, [&](std::size_t t) { return 1 - configured.rates[t] / ceiling.rates[t]; });
  result.lost = spread_of(lost).median;
  result.lost_interval = median_interval(lost);
  const std::vector<double> speed_ups =
      by_turn(ladder, [&](std::size_t t) { return ceiling.rates[t] / configured.rates[t]; });
  result.speed_up = spread_of(speed_ups).median;
  result.speed_up_interval = median_interval(speed_ups);
  result.bound = judge_input(result.lost_interval);
  result.lost_seconds = 1 / configured.rate - 1 / ceiling.rate;
  for (const RungResult& rung : ladder.rungs)
    if (rung.apart) result.data_seconds = 1 / rung.rate;
  if (result.lost_interval && result.lost_interval->low >= kModerately)
    result.causes = causes_of(ladder);
  if (result.data_seconds > 0) {
    for (Cause& cause : result.causes)
      cause.confirmed = result.data_seconds >= kExplained * result.lost_seconds;
    result.tipping_point =
        result.bound == InputBound::not_bound && 1 / result.data_seconds < kHeadroom * ceiling.rate;
  }
  return result;
}

std::vector<std::string> stages_of(std::string text) {
  for (const std::string separator : {", ", " and "})
    for (std::size_t at = 0; (at = text.find(separator, at)) != std::string::npos;)
      text.replace(at, separator.size(), "\n");
  const std::vector<std::string_view> stages = split(text, '\n');
  return {stages.begin(), stages.end()};
}

bool Counterfactual::tests(const Cause& cause) const {
  return std::ranges::any_of(stages_of(cause.stage), [&](const std::string& stage) {
    return std::ranges::find(stages, stage) != stages.end();
  });
}

void confirm(std::vector<Cause>& causes, const std::vector<Counterfactual>& tried) {
  for (Cause& cause : causes) {
    const bool helped = std::ranges::any_of(
        tried, [&](const Counterfactual& one) { return one.tests(cause) && one.helps(); });
    const bool all_tested =
        std::ranges::all_of(stages_of(cause.stage), [&](const std::string& stage) {
          return std::ranges::any_of(tried, [&](const Counterfactual& one) {
            return one.interval && std::ranges::find(one.stages, stage) != one.stages.end();
          });
        });
    cause.confirmed = helped || (cause.confirmed && !all_tested);
  }
}

}  // namespace wellspring
