#include "measure/ladder.h"

#include "core/error.h"
#include "core/measure/trace.h"
#include "core/signals.h"
#include "core/text/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <numeric>
#include <random>
#include <thread>
#include <utility>

namespace wellspring {
namespace {

constexpr int kMostWarmUps = 20;
constexpr double kMostSteps = 20'000;  ///< per window: their times are kept
constexpr double kWarm = 0.05;         ///< relative difference of two windows of a warm rung

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Processor time of the processes that this thread has started, of their first threads; 0 if the
/// system does not tell (proc_pid_schedstat(5): nanoseconds).
double seconds_of_children() {
  double seconds = 0;
  std::ifstream children("/proc/thread-self/children");
  for (std::string child; children >> child;) {
    double nanoseconds = 0;
    std::ifstream("/proc/" + child + "/schedstat") >> nanoseconds;
    seconds += 1e-9 * nanoseconds;
  }
  return seconds;
}

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

/// A rung and what it has measured.
struct Measured {
  const Rung& rung;
  std::int64_t steps = 1;  ///< per window
  std::vector<double> rates = {}, times = {};
  double wait = 0, wall = 0, processor = 0;

  double seconds_per_step(std::int64_t count) const {
    return sum(rung.run(count).steps) / static_cast<double>(count);
  }
  void warm_up(double window) {
    // Never fewer steps than before: with batches that are ready, the first steps are the fastest.
    std::int64_t count = 1;
    double before = seconds_per_step(count);
    for (int i = 1; i < kMostWarmUps; ++i) {
      stop_if_interrupted();
      steps = static_cast<std::int64_t>(
          std::clamp(std::ceil(window / std::max(before, 1e-7)), 1.0, kMostSteps));
      count = std::max(count, steps / 4);
      const double now = seconds_per_step(count);
      const bool warm = std::abs(now - before) <= kWarm * now;
      before = now;
      if (warm) break;
    }
  }
  void window() {
    const TraceSpan span(stages::kWindow, -1, rung.name);
    const StepTimes measured = rung.run(steps);
    const double seconds = sum(measured.steps);
    rates.push_back(static_cast<double>(measured.steps.size()) / seconds);
    times.insert(times.end(), measured.steps.begin(), measured.steps.end());
    wait += sum(measured.waits);
    wall += measured.wall;
    processor += measured.processor;
  }
  bool tight(double width) const {
    const std::optional<Interval> interval = median_interval(rates);
    return interval && interval->high - interval->low <= width * spread_of(rates).median;
  }
  RungResult result(const Measured& first) const {
    RungResult result{rung.name,
                      rung.stage,
                      rung.samples,
                      rung.bytes,
                      rung.apart,
                      rates,
                      spread_of(rates).median,
                      median_interval(rates)};
    result.p50 = quantile(times, 0.5);
    result.p99 = quantile(times, 0.99);
    result.wait = wait / sum(times);
    if (rung.processors == 0) {
      result.busy = 1 - result.wait;
    } else if (processor > 0 && wall > 0) {
      result.busy = processor / (wall * rung.processors);
    }
    result.clocks = wall > 0 ? sum(times) / wall : 1;
    std::vector<double> shares;
    for (std::size_t i = 0; i < rates.size(); ++i)
      shares.push_back(rates[i] * rung.samples / (first.rates[i] * first.rung.samples));
    result.share = spread_of(shares).median;
    result.share_interval = median_interval(shares);
    result.memory = rung.memory;
    return result;
  }
};

}  // namespace

const RungResult& Ladder::configured() const {
  return *std::find_if(rungs.rbegin(), rungs.rend(),
                       [](const RungResult& rung) { return !rung.apart; });
}

double quantile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  const auto rank =
      static_cast<std::ptrdiff_t>(std::ceil(part * static_cast<double>(values.size())));
  const auto at = values.begin() + std::max<std::ptrdiff_t>(0, rank - 1);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

Ladder measure_ladder(const std::vector<Rung>& rungs, const LadderLimits& limits) {
  const auto clock = limits.clock ? limits.clock : steady_seconds;
  const double begin = clock();
  const auto passed = [&] { return clock() - begin; };
  std::vector<Measured> all;
  for (const Rung& rung : rungs) all.push_back({rung});
  const auto rung_count = static_cast<double>(rungs.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].warm_up(limits.window);
    if (passed() <= limits.seconds || limits.at_least_one_turn) continue;
    const double of_all = passed() * rung_count / static_cast<double>(i + 1);
    fail(ErrorKind::config, {fmt::format("the time limit of {} was reached before the first turn",
                                         human_duration(limits.seconds)),
                             fmt::format("warming up {} of {} rungs took {}", i + 1, rungs.size(),
                                         human_duration(passed())),
                             fmt::format("use at least {}{:.0f}", limits.option,
                                         std::ceil(4 * of_all / limits.part))});
  }

  const ProcessorTimes before = processor_times();
  std::mt19937_64 random(limits.seed);
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  Ladder ladder;
  ladder.option = limits.option;
  do {
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t i : order) {
      stop_if_interrupted();
      all[i].window();
    }
    ladder.tight =
        std::ranges::all_of(all, [&](const Measured& rung) { return rung.tight(limits.tight); });
  } while (!ladder.tight && passed() < limits.seconds);
  ladder.seconds = passed();
  ladder.load = load_between(before, processor_times());
  for (const Measured& rung : all) ladder.rungs.push_back(rung.result(all.front()));
  return ladder;
}

void wait_until_idle() {
  constexpr double kMost = 1, kBusy = 0.1;  ///< seconds; share of a processor
  const auto used = [] { return processor_times().own + seconds_of_children(); };
  const double end = steady_seconds() + kMost;
  double time = steady_seconds(), before = used();
  while (time < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const double later = steady_seconds(), now = used();
    if (now - before < kBusy * (later - time)) return;
    time = later;
    before = now;
  }
}

}  // namespace wellspring
