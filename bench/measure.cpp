#include "bench/measure.h"

#include "bench/machine.h"
#include "core/error.h"
#include "core/spread.h"
#include "core/version.h"
#include "kernels/memory_plan.h"
#include "kernels/stream.h"

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

constexpr double kShortest = 0.02;  // seconds; clock and scheduler then matter less than 1 %
constexpr int kWarmUpLimit = 20;

double seconds_of(const Work& work, int times) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) work.run();
  if (work.wait) work.wait();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Runs until two in a row take the same time within 5 %; returns the last.
double warm_up(const Work& work) {
  double previous = seconds_of(work, 1);
  for (int i = 1; i < kWarmUpLimit; ++i) {
    const double now = seconds_of(work, 1);
    if (std::abs(now - previous) <= 0.05 * now) return now;
    previous = now;
  }
  return previous;
}

}  // namespace

Row measure(const std::string& name, const std::string& unit, const Work& work, int repeats) {
  const double once = warm_up(work);
  const int times = std::max(1, static_cast<int>(std::ceil(kShortest / std::max(once, 1e-9))));
  std::vector<double> rates;
  for (int i = 0; i < repeats; ++i) rates.push_back(work.work * times / seconds_of(work, times));
  const Spread spread = spread_of(rates);
  return {name, unit, spread.median, spread.spread, repeats, std::nullopt};
}

double write_bandwidth(Device device, std::size_t bytes) {
  Stream stream(device);
  MemoryPlan memory(device);
  const auto block = memory.reserve<std::byte>("bench", "written", bytes);
  memory.commit();
  std::byte* data = block.data();
  const auto write = [&] {
    if (device.is_cuda()) {
      stream.fill_zero(data, bytes, "write");
      return;
    }
    // As our kernels write: every thread a part, ordinary stores.
    auto* words = reinterpret_cast<float*>(data);
    const auto count = static_cast<std::int64_t>(bytes / sizeof(float));
#pragma omp parallel for simd schedule(static)
    for (std::int64_t i = 0; i < count; ++i) words[i] = 0.5f;
  };
  return measure("", "", {write, static_cast<double>(bytes), [&] { stream.synchronize(); }}).rate;
}

Filter::Filter(const std::string& pattern) {
  if (pattern.empty()) {
    matches_ = [](const std::string&) { return true; };
    return;
  }
  // glibc compiles a call deeper for each parenthesis. (std::regex does so while it matches, too,
  // and takes for ever over some patterns.)
  constexpr std::size_t kLongest = 256;
  if (pattern.size() > kLongest) {
    fail(ErrorKind::config,
         {fmt::format("--filter: {} bytes", pattern.size()),
          fmt::format("it may have {}", kLongest), "a part of a name is enough: --filter shapes"});
  }
  auto compiled = std::make_unique<regex_t>();
  if (const int error = ::regcomp(compiled.get(), pattern.c_str(), REG_EXTENDED | REG_NOSUB)) {
    std::array<char, 128> why{};
    ::regerror(error, compiled.get(), why.data(), why.size());
    fail(ErrorKind::config, {"--filter: '" + pattern + "' is not a regular expression", why.data(),
                             "extended syntax, as in grep -E"});
  }
  const std::shared_ptr<regex_t> regex(compiled.release(), [](regex_t* owned) {
    ::regfree(owned);
    delete owned;
  });
  matches_ = [regex](const std::string& name) {
    return ::regexec(regex.get(), name.c_str(), 0, nullptr, 0) == 0;
  };
}

nlohmann::json to_json(const Report& report) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Row& row : report.rows) {
    nlohmann::json entry = {{"name", row.name},
                            {"unit", row.unit},
                            {"rate", row.rate},
                            {"spread", row.spread},
                            {"repeats", row.repeats}};
    if (row.ceiling) {
      entry["ceiling"] = {{"what", row.ceiling->what}, {"rate", row.ceiling->rate}};
    }
    rows.push_back(std::move(entry));
  }
  return {{"version", kVersion},
          {"build", kBuildType},
          {"device", report.device.to_string()},
          {"device_name", describe(report.device).name},
          {"machine", to_json(this_machine())},
          {"rows", std::move(rows)}};
}

}  // namespace wellspring::bench
