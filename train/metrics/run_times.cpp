#include "train/metrics/run_times.h"

#include "core/text/text.h"
#include "train/metrics/rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace wellspring {
namespace {

std::string share_of_time(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string waited(const InputVerdict& input) {
  std::string text = "steps waited for rows in " + share_of_time(input.wait) + " of their time";
  if (input.interval)
    text += fmt::format(" (95 %: {:.1f} to {:.1f})", 100 * input.interval->low,
                        100 * input.interval->high);
  return text;
}

}  // namespace

void WindowTimes::add(const StepReport& report, double seconds, std::uint64_t timed, bool first) {
  if (first) {
    first_seconds_ += seconds;
    first_steps_ += timed;
  }
  if (!report.clean) return;
  rates_.push_back(report.samples_per_second);
  if (report.wait) waits_.push_back(*report.wait);
}

void WindowTimes::reported_since(std::chrono::steady_clock::time_point begin) {
  metrics_seconds_ += seconds_since(begin);
}

void WindowTimes::summarise(FinishReport& finish, const PlanReport& plan) const {
  finish.throughput = summarise_rates(rates_);
  finish.input = judge_waits(plan, waits_);
  finish.time.metrics = metrics_seconds_;
  const double rate = finish.throughput.samples_per_second;
  if (!(rate > 0)) return;
  const double usual = static_cast<double>(first_steps_) * static_cast<double>(plan.batch) / rate;
  finish.time.first_steps = std::max(0.0, first_seconds_ - usual);
}

InputVerdict judge_waits(const PlanReport& plan, const std::vector<double>& waits) {
  InputVerdict result;
  const bool streams = std::ranges::any_of(plan.sources, &PlanReport::Input::streamed);
  const bool computes = std::ranges::any_of(plan.sources, &PlanReport::Input::computed);
  if (!streams) {
    result.text =
        "INCONCLUSIVE: no step waits, because the rows are made or read inside it, at a "
        "cost that a run does not measure";
    return result;
  }
  result.wait = spread_of(waits).median;
  result.interval = median_interval(waits);
  result.bound = judge_input(result.interval);
  if (!result.interval) {
    result.text = input_text(result.bound, result.interval, "windows without interruptions");
    return result;
  }
  const std::string text = input_text(result.bound, result.interval, "windows");
  switch (result.bound) {
    case InputBound::highly:
    case InputBound::inconclusive:
      result.text = text + ": " + waited(result);
      break;
    case InputBound::moderately:
      result.text = "at least " + text + ": " + waited(result);
      break;
    case InputBound::not_bound:
      if (plan.device.starts_with("cuda") && !computes) {
        result.text = text + ": " + waited(result);
        break;
      }
      result.bound = InputBound::inconclusive;
      result.text = "INCONCLUSIVE: " + waited(result) + ", but " +
                    (computes ? "the run does not measure what generation and augmentation cost "
                                "inside the step"
                              : "the threads that read rows compete with the step for processors");
  }
  return result;
}

std::vector<std::pair<std::string, double>> parts_of(const RunTime& time) {
  std::vector<std::pair<std::string, double>> parts = {{kStepsPart, time.training},
                                                       {"evaluations", time.evaluations},
                                                       {"checkpoints", time.checkpoints},
                                                       {"pictures", time.pictures},
                                                       {"start", time.start}};
  std::erase_if(parts, [](const auto& part) { return !(part.second > 0); });
  std::ranges::stable_sort(parts, std::ranges::greater{}, &std::pair<std::string, double>::second);
  return parts;
}

std::string time_text(const RunTime& time) {
  std::string text = human_duration(time.total);
  const char* separator = ": ";
  for (const auto& [what, seconds] : parts_of(time)) {
    if (seconds < 0.0005 * time.total) continue;  // would be shown as 0.0 %
    text += separator + what + " " + share_of_time(seconds / time.total);
    separator = ", ";
  }
  return text;
}

RunTime operator+(const RunTime& a, const RunTime& b) {
  RunTime sum{a.total + b.total,
              a.training + b.training,
              a.start + b.start,
              a.evaluations + b.evaluations,
              a.checkpoints + b.checkpoints,
              a.pictures + b.pictures,
              a.metrics + b.metrics,
              a.first_steps + b.first_steps};
  if (sum.training > 0) sum.clocks = (a.clocks * a.training + b.clocks * b.training) / sum.training;
  return sum;
}

}  // namespace wellspring
