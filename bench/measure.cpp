#include "bench/measure.h"

#include "bench/machine.h"
#include "core/error.h"
#include "core/measure/ceiling_json.h"
#include "core/measure/clocks.h"
#include "core/text/text.h"
#include "core/version.h"
#include "kernels/random/random_memory.h"
#include "kernels/runtime/launch.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <memory>
#include <regex.h>

namespace wellspring::bench {
namespace {

constexpr int kWarmUpLimit = 20;

double seconds_of(const Work& work, int times) {
  if (work.seconds) return work.seconds(times);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) work.run();
  if (work.wait) work.wait();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Runs until two consecutive times agree within 5 %; returns the last.
double warm_up(const Work& work) {
  double previous = seconds_of(work, 1);
  for (int i = 1; i < kWarmUpLimit; ++i) {
    const double now = seconds_of(work, 1);
    if (std::abs(now - previous) <= 0.05 * now) return now;
    previous = now;
  }
  return previous;
}

/// Number of runs that fill a window of this length, if one takes `once` seconds.
int times_in(double window, double once) {
  return std::max(1, static_cast<int>(std::round(window / std::max(once, 1e-9))));
}

struct Pairs {
  std::vector<double> rates, reference;  ///< per window
  ProcessorLoad load;
};

Pairs measure_pairs(const Work& work, const Work& reference, int repeats) {
  const double work_once = warm_up(work), reference_once = warm_up(reference);
  const double window = std::max({kShortestWindow, work_once, reference_once});
  struct Timed {
    const Work& work;
    int times;
    std::vector<double> rates = {};
    void window() { rates.push_back(work.work * times / seconds_of(work, times)); }
  };
  Timed work_part{work, times_in(window, work_once)};
  Timed reference_part{reference, times_in(window, reference_once)};
  const ProcessorTimes before = processor_times();
  for (int i = 0; i < repeats; ++i) {
    Timed& first = i % 2 == 0 ? work_part : reference_part;
    Timed& second = i % 2 == 0 ? reference_part : work_part;
    first.window();
    second.window();
  }
  return {std::move(work_part.rates), std::move(reference_part.rates),
          load_between(before, processor_times())};
}

Row row_of(const std::string& name, const std::string& unit, const Pairs& pairs) {
  const Spread spread = spread_of(pairs.rates);
  Row row{name,
          unit,
          spread.median,
          spread.spread,
          static_cast<int>(pairs.rates.size()),
          median_interval(pairs.rates)};
  row.slowdown = slowdown_of(pairs.rates);
  return row;
}

}  // namespace

double slowdown_of(const std::vector<double>& rates) {
  constexpr double kSmallest = 0.05;
  const auto third = static_cast<std::ptrdiff_t>(rates.size() / 3);
  if (third < 3) return 0;  // too few to tell it from noise
  const std::vector<double> first(rates.begin(), rates.begin() + third);
  const std::vector<double> last(rates.end() - third, rates.end());
  if (std::ranges::max(last) >= std::ranges::min(first)) return 0;
  const double drop = 1 - spread_of(last).median / spread_of(first).median;
  return drop > kSmallest ? drop : 0;
}

double rate_of(const Work& work) {
  const int times = times_in(kShortestWindow, warm_up(work));
  std::vector<double> rates;
  for (int i = 0; i < kUsualPairs; ++i)
    rates.push_back(work.work * times / seconds_of(work, times));
  return spread_of(rates).median;
}

Row measure(const std::string& name, const std::string& unit, const Work& work,
            const Reference& bound, int repeats) {
  const Pairs measured = measure_pairs(work, bound.work, repeats);
  std::vector<RatePair> pairs;
  for (std::size_t i = 0; i < measured.rates.size(); ++i)
    pairs.push_back({measured.rates[i], measured.reference[i]});
  Row row = row_of(name, unit, measured);
  row.ceiling =
      Ceiling{bound.what, spread_of(measured.reference).median, median_interval(measured.reference),
              share_of_ceiling(pairs), measured.load};
  return row;
}

Row compare(const std::string& name, const std::string& unit, const Work& work,
            const Reference& rival, int repeats) {
  const Pairs measured = measure_pairs(work, rival.work, repeats);
  std::vector<double> times;
  for (std::size_t i = 0; i < measured.rates.size(); ++i)
    times.push_back(measured.rates[i] / measured.reference[i]);
  Row row = row_of(name, unit, measured);
  row.rival = Rival{rival.what,
                    spread_of(measured.reference).median,
                    median_interval(measured.reference),
                    spread_of(times).median,
                    median_interval(times),
                    measured.load};
  return row;
}

MemoryTraffic::MemoryTraffic(Device device, Kind kind, std::size_t bytes)
    : kind_(kind), stream_(device), memory_(device) {
  constexpr std::size_t kUnit = 2 * sizeof(WriteWords::Words);
  block_ = memory_.reserve<std::byte>("bench", "traffic", (bytes / kUnit + 1) * kUnit);
  tile_ = memory_.reserve<WriteWords::Words>("bench", "words", WriteWords::kTile);
  memory_.commit();
  fill();
}

/// Fills the buffers with a short repeated block of random numbers, because some devices copy
/// untouched memory and zeros faster.
void MemoryTraffic::fill() {
  constexpr std::size_t kNumbers = std::size_t{1} << 20;
  const std::vector<std::uint16_t> numbers = ordinary_numbers(kNumbers, 0);
  const CopyDirection direction =
      stream_.device().is_cuda() ? CopyDirection::host_to_device : CopyDirection::on_device;
  for (std::size_t at = 0; at < block_.bytes(); at += kNumbers) {
    stream_.copy(block_.data() + at, numbers.data(), std::min(kNumbers, block_.bytes() - at),
                 direction, "values");
  }
  stream_.copy(tile_.data(), numbers.data(), tile_.bytes(), direction, "values");
  stream_.synchronize();
}

Work MemoryTraffic::work(double per_run) {
  return {[this] { run(); }, per_run, [this] { stream_.synchronize(); }};
}

void MemoryTraffic::run() {
  std::byte* const data = block_.data();
  const std::size_t half = block_.bytes() / 2;
  if (kind_ == Kind::write) {
    auto* const to = reinterpret_cast<WriteWords::Words*>(data);
    const auto count = static_cast<std::int64_t>(block_.bytes() / sizeof *to);
    league(stream_, "write", (count - 1) / WriteWords::kTile + 1, {256, 0},
           WriteWords{tile_.data(), to, count});
  } else if (stream_.device().is_cuda()) {
    stream_.copy(data + half, data, half, CopyDirection::on_device, "copy");
  } else {
    const auto count = static_cast<std::int64_t>(half / sizeof(float));
    const auto* const from = reinterpret_cast<const float*>(data);
    auto* const to = reinterpret_cast<float*>(data + half);
#pragma omp parallel for simd schedule(static)
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i];
  }
}

Work cold(const Work& work, MemoryTraffic* flush) {
  if (flush == nullptr) return work;
  const Work other = flush->work(1);
  return {{}, work.work, {}, [work, other](int times) {
            constexpr int kMostRuns = 5;
            const int runs = std::min(times, kMostRuns);
            double seconds = 0;
            for (int i = 0; i < runs; ++i) {
              seconds_of(other, 1);
              seconds += seconds_of(work, 1);
            }
            return seconds / runs * times;
          }};
}

Filter::Filter(const std::string& pattern) {
  if (pattern.empty()) {
    matches_ = [](const std::string&) { return true; };
    return;
  }
  // glibc's compiler recurses for each parenthesis. (std::regex also recurses while matching, and
  // takes exponential time for some patterns.)
  constexpr std::size_t kLongest = 256;
  if (pattern.size() > kLongest) {
    fail(ErrorKind::config, {fmt::format("--filter: the pattern has {} bytes", pattern.size()),
                             fmt::format("at most {} are allowed", kLongest),
                             "use a part of a name: --filter shapes"});
  }
  auto compiled = std::make_unique<regex_t>();
  if (const int error = ::regcomp(compiled.get(), pattern.c_str(), REG_EXTENDED | REG_NOSUB)) {
    std::array<char, 128> why{};
    ::regerror(error, compiled.get(), why.data(), why.size());
    fail(ErrorKind::config, {"--filter: '" + pattern + "' is not a regular expression", why.data(),
                             "use extended syntax, as in grep -E"});
  }
  const std::shared_ptr<regex_t> regex(compiled.release(), [](regex_t* owned) {
    ::regfree(owned);
    delete owned;
  });
  matches_ = [regex](const std::string& name) {
    return ::regexec(regex.get(), name.c_str(), 0, nullptr, 0) == 0;
  };
}

std::string to_string(const Row& row) {
  const auto interval = [](const std::optional<Interval>& of) {
    return of ? fmt::format("({} to {})", human_count(of->low), human_count(of->high))
              : std::string("(too few for an interval)");
  };
  std::string text = fmt::format("{:<54} {:>8} {:<20} {:<9}", row.name, human_count(row.rate),
                                 interval(row.interval), row.unit);
  if (row.ceiling)
    text += fmt::format(" {} of {} {}, {}", to_string(row.ceiling->share, row.ceiling->load),
                        human_count(row.ceiling->rate), interval(row.ceiling->interval),
                        row.ceiling->what);
  if (row.rival)
    text +=
        fmt::format(" {:.2f} times{} the {} {} of {}{}", row.rival->times,
                    row.rival->times_interval
                        ? fmt::format(" (95 %: {:.2f} to {:.2f})", row.rival->times_interval->low,
                                      row.rival->times_interval->high)
                        : "",
                    human_count(row.rival->rate), interval(row.rival->interval), row.rival->what,
                    row.rival->load.busy()
                        ? fmt::format("; the machine was busy ({})", row.rival->load.to_string())
                        : "");
  if (row.clocks > 0) {
    text += "\n    by marks on the stream " + clock_text(row.rate / row.clocks, row.clocks);
    if (clocks_disagree(row.clocks)) text += ": " + disagreement_text(row.clocks);
  }
  if (row.slowdown > 0)
    text += fmt::format(
        "\n    its rate fell by {:.0f} % while it was measured: the device may throttle",
        100 * row.slowdown);
  if (row.bytes > 0) text += fmt::format("\n    {} bytes per sample", human_count(row.bytes));
  if (row.gpu) text += fmt::format("; {}", to_string(*row.gpu));
  return text;
}

namespace {

nlohmann::json to_json(const GpuCeilings& gpu) {
  return {{"gpu", gpu.gpu},
          {"from", "the compiler's listing: an estimate"},
          {"is_here", gpu.is_here},
          {"warp_instructions", gpu.warp_instructions},
          {"bytes", gpu.bytes},
          {"issue_rate", gpu.issue_rate},
          {"write_rate", gpu.write_rate},
          {"lower", gpu.issue_is_lower() ? "issue slots" : "writing"}};
}

nlohmann::json to_json(const Ceiling& ceiling) {
  return {{"what", ceiling.what},
          {"rate", ceiling.rate},
          {"interval", to_json(ceiling.interval)},
          {"share", ceiling.share.median},
          {"share_interval", to_json(ceiling.share.interval)},
          {"verdict", to_string(ceiling.share.verdict)},
          {"processors", to_json(ceiling.load)}};
}

nlohmann::json to_json(const Rival& rival) {
  return {{"what", rival.what},
          {"rate", rival.rate},
          {"interval", to_json(rival.interval)},
          {"times", rival.times},
          {"times_interval", to_json(rival.times_interval)},
          {"processors", to_json(rival.load)}};
}

}  // namespace

nlohmann::ordered_json describe_program() {
  return {{"version", kVersion},
          {"commit", kCommit},
          {"build", kBuildType},
          {"machine", to_json(this_machine())}};
}

nlohmann::ordered_json to_json(const Report& report) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Row& row : report.rows) {
    nlohmann::json entry = {{"name", row.name},     {"unit", row.unit},
                            {"rate", row.rate},     {"interval", to_json(row.interval)},
                            {"spread", row.spread}, {"repeats", row.repeats}};
    if (row.ceiling) entry["ceiling"] = to_json(*row.ceiling);
    if (row.rival) entry["rival"] = to_json(*row.rival);
    if (row.clocks > 0) entry["host_clock_over_marks"] = row.clocks;
    if (row.slowdown > 0) entry["slowdown"] = row.slowdown;
    if (row.bytes > 0) entry["bytes"] = row.bytes;
    if (row.gpu) entry["gpu_ceilings"] = to_json(*row.gpu);
    rows.push_back(std::move(entry));
  }
  nlohmann::ordered_json json = describe_program();
  json["device"] = report.device.to_string();
  json["device_name"] = describe(report.device).name;
  json["rows"] = std::move(rows);
  return json;
}

}  // namespace wellspring::bench
