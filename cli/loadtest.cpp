// `wellspring loadtest`: measures the rate at which a data set yields samples without training, and
// how long an emulated accelerator waits for them.
#include "cli/command.h"
#include "cli/options.h"
#include "cli/samples.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/signals.h"
#include "core/text/parse.h"
#include "core/text/text.h"
#include "kernels/runtime/threads.h"
#include "measure/load_test.h"
#include "measure/table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace wellspring::cli {
namespace {

struct LoadTestArguments {
  SampleOptions samples;
  std::optional<std::string> consumer;
  std::int64_t seconds = 10;
  bool json = false, sweep = false;
};

/// The rate in "images_per_second=1800" or "samples_per_second=1800".
std::optional<double> consumer_rate(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  const std::string example = "images_per_second=1800";
  const ParamSetting setting = parse_setting(*text, example);
  const double rate = parse_number<double>(setting.value).value_or(0);
  const bool named = setting.name == "images_per_second" || setting.name == "samples_per_second";
  if (!named || !std::isfinite(rate) || rate <= 0)
    fail(ErrorKind::config, {fmt::format("--consumer '{}' is not a rate", *text),
                             "it takes a number of images or samples per second above 0",
                             "write, for example, --consumer " + example});
  return rate;
}

LoadTest measure(SampleOptions samples, const LoadTestArguments& options,
                 const std::optional<int>& threads) {
  if (threads && names_configuration(samples))
    samples.settings.push_back(fmt::format("threads={}", *threads));
  else
    samples.threads = threads;
  constexpr std::uint64_t kEndless = std::uint64_t{1} << 62;
  const auto reader = open_samples(samples, [](SampleKind) { return kEndless; });
  return load_test(*reader, static_cast<double>(options.seconds), consumer_rate(options.consumer));
}

int run(const LoadTestArguments& options) {
  consumer_rate(options.consumer);  // refuses a bad rate before data is opened
  const bool sets_threads = std::ranges::any_of(
      options.samples.settings,
      [](const std::string& setting) { return setting.starts_with("threads="); });
  if (options.sweep && (options.samples.threads || sets_threads))
    fail(ErrorKind::config, {"--sweep does not take a number of threads",
                             "it measures 1, 2, 4, ... threads, up to all",
                             "leave out --sweep or the number of threads"});
  std::vector<std::optional<int>> all = {options.samples.threads};
  if (options.sweep) {
    all.clear();
    const int most = compute_threads(0).count;
    for (int threads = 1; threads < most; threads *= 2) all.emplace_back(threads);
    all.emplace_back(most);
  }
  std::vector<std::vector<std::string>> rows = {
      {"threads", "samples/s", "bytes/s", "wait p50 ms", "p99 ms", "waits", "batches"}};
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  const SignalGuard signals(
      {.stopping = "\nwellspring: stopping\n", .ended = "\nwellspring: aborted\n"});
  try {
    for (const std::optional<int>& threads : all) {
      const LoadTest test = measure(options.samples, options, threads);
      const double bytes = test.samples_per_second() * test.sample_bytes;
      rows.push_back({threads ? std::to_string(*threads) : "default",
                      human_count(test.samples_per_second()), human_count(bytes),
                      fmt::format("{:.3g}", 1e3 * test.p50), fmt::format("{:.3g}", 1e3 * test.p99),
                      fmt::format("{:.1f} %", 100 * test.wait), std::to_string(test.batches)});
      json.push_back({{"samples_per_second", test.samples_per_second()},
                      {"bytes_per_second", bytes},
                      {"wait_ms", {{"p50", 1e3 * test.p50}, {"p99", 1e3 * test.p99}}},
                      {"wait", test.wait},
                      {"batches", test.batches},
                      {"seconds", test.seconds}});
      if (threads) json.back()["threads"] = *threads;
    }
  } catch (const Interrupted&) {
    return kInterrupted;
  }
  if (options.json)
    tell(stdout, "{}\n", json.dump(2));
  else
    tell(stdout, "{}", table_text(rows));
  return 0;
}

}  // namespace

Command add_loadtest(CLI::App& parent) {
  CLI::App* app =
      parent.add_subcommand("loadtest", "measure the rate of a data set alone, without a network");
  auto options = std::make_shared<LoadTestArguments>();
  add_sample_options(*app, options->samples,
                     "maximum number of samples to read (default: as many as --seconds allows)");
  add_whole_option(*app, "--seconds", options->seconds, 1, 86'400,
                   "time limit of each measurement");
  app->add_option("--consumer", options->consumer,
                  "emulate an accelerator of this rate, such as images_per_second=1800, and report "
                  "the share of its time that it waits");
  app->add_flag("--sweep", options->sweep, "measure 1, 2, 4, ... threads, up to all");
  app->add_flag("--json", options->json, "print JSON");
  return {app, [options] { return run(*options); }};
}

}  // namespace wellspring::cli
