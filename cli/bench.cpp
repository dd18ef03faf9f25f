// `wellspring bench`: rates of generators, augmentation, operations and training steps, each with
// its upper bound.
#include "bench/machine.h"
#include "bench/measure.h"
#include "cli/bench_compare.h"
#include "cli/bench_ranks.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "cli/work_bar.h"
#include "core/error.h"
#include "core/io/files.h"
#include "core/text/plural.h"
#include "core/text/text.h"
#include "core/version.h"
#include "generators/generator.h"
#include "kernels/runtime/caches.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace wellspring::cli {
namespace {

struct BenchArguments {
  std::string group = "all", config;
  std::vector<std::string> settings;  ///< key=value, override the configuration
  std::string filter, json;
  std::optional<std::string> device, threshold;
  bench::LaunchChoice launch;
  std::optional<int> ranks;
  bool weak = false, cold = false;
};

void print_header(Device device) {
  const bench::Machine machine = bench::this_machine();
  fmt::print("{}, {}, {} ({})\n", machine.processor, counted(machine.threads, "thread"),
             machine.system, machine.instruction_sets);
  fmt::print("device {} ({}), wellspring {} {} {}\n\n", device.to_string(), describe(device).name,
             kVersion, kBuildType, kHostArchitecture);
}

void print_row(const bench::Row& row) {
  fmt::print("{}\n", fit(bench::to_string(row), STDOUT_FILENO, 4));
}

/// Shows the progress of reading data.
class ReadingView final : public TrainObserver {
 public:
  void on_work(const std::string& what, std::uint64_t done, std::uint64_t total) override {
    work_.show(what, done, total);
  }

 private:
  WorkBar work_{STDERR_FILENO};
};

/// Refuses the options of another group.
void expect_own_options(const BenchArguments& options) {
  const auto only_of = [&](const std::string& group, const std::string& option, bool given) {
    if (given && options.group != group)
      fail(ErrorKind::config,
           {fmt::format("command line: {} applies to 'bench {}'", option, group), "",
            fmt::format("leave it out, or name the group: wellspring bench {}", group)});
  };
  only_of("ops", "--cold", options.cold);
  only_of("ranks", "--ranks", options.ranks.has_value());
  only_of("ranks", "--weak", options.weak);
  only_of("compare", "--threshold", options.threshold.has_value());
}

/// True for `bench generators NAME`.
bool names_generator(const BenchArguments& options) {
  return options.group == "generators" && !options.config.empty() && !has_yaml_name(options.config);
}

/// Measures the generator on the command line.
void measure_generator(bench::Report& report, const BenchArguments& options) {
  if (!options.filter.empty())
    fail(ErrorKind::config, {"command line: --filter cannot be used with a generator's name", "",
                             "leave out one of them"});
  std::vector<ParamSetting> settings;
  for (const std::string& text : options.settings)
    settings.push_back(parse_setting(text, "contrast=0.5"));
  bench::bench_generator(report, find_generator(options.config, {"command line"}), settings,
                         options.launch);
}

/// The configuration to measure; nullopt: the built-in cases.
std::optional<RunConfig> config_of(const BenchArguments& options) {
  if (options.config.empty() || names_generator(options)) return std::nullopt;
  if (options.group != "train")
    fail(ErrorKind::config,
         {fmt::format("command line: bench {} takes no configuration", options.group), "",
          "write wellspring bench train " + options.config});
  if (options.launch.any() || !options.filter.empty())
    fail(ErrorKind::config,
         {"command line: --batch, --size, --threads and --filter do not apply to a configuration",
          "", "change its settings with key=value, such as train.batch=64"});
  std::vector<std::string> overrides = options.settings;
  if (options.device) overrides.push_back("device=" + *options.device);
  return RunConfig::load(options.config, overrides);
}

void write_json(const bench::Report& report, const std::string& path) {
  OutputFile file(path, OutputFile::Mode::replace);
  file.write(bench::to_json(report).dump(2) + "\n");
  file.finish();
}

int run_ranks(const BenchArguments& options) {
  if (options.launch.any() || !options.filter.empty())
    fail(ErrorKind::config,
         {"command line: bench ranks takes none of --batch, --size, --threads and --filter", "",
          "change the configuration with key=value, such as train.batch=64 or threads=1"});
  RankBench bench{.config = options.config,
                  .settings = options.settings,
                  .most = options.ranks.value_or(2),
                  .weak = options.weak,
                  .json = options.json};
  if (options.device) bench.settings.push_back("device=" + *options.device);
  if (options.launch.repeats) bench.turns = *options.launch.repeats;
  return bench_ranks(bench);
}

int run_comparison(const BenchArguments& options) {
  if (options.launch.any() || options.launch.repeats || !options.filter.empty() || options.device)
    fail(ErrorKind::config, {"command line: bench compare takes only --threshold and --json", "",
                             "leave out the other options"});
  if (options.settings.size() > 1)
    fail(ErrorKind::config,
         {"command line: bench compare takes two files", "", "leave out " + options.settings[1]});
  return bench_compare(options.config, options.settings.empty() ? "" : options.settings[0],
                       options.threshold.value_or("5%"), options.json);
}

int run(const BenchArguments& options) {
  expect_own_options(options);
  if (options.group == "ranks") return run_ranks(options);
  if (options.group == "compare") return run_comparison(options);
  const std::optional<RunConfig> config = config_of(options);
  bench::Report report{Device::parse(config ? config->device : options.device.value_or("auto")),
                       print_row};
  report.repeats = options.launch.repeats.value_or(bench::kUsualPairs);
  if (!options.json.empty()) {
    // After each row, so that nothing is lost when the time runs out.
    report.on_row = [&](const bench::Row& row) {
      print_row(row);
      write_json(report, options.json);
    };
  }
  const bench::Filter filter(options.filter);
  if (!options.json.empty()) require_creatable(options.json);
  print_header(report.device);
  const bool of_train = options.group == "train" && !options.launch.threads;
  if (options.launch.any() && options.group != "generators" && !of_train) {
    fail(ErrorKind::config,
         {"command line: --batch and --size apply to 'bench generators' and 'bench train', "
          "--threads only to 'bench generators'",
          "", "name the group, for example: wellspring bench generators --batch 4096"});
  }
  std::optional<bench::MemoryTraffic> flush;
  if (options.cold)
    report.flush = &flush.emplace(report.device, bench::MemoryTraffic::Kind::write,
                                  beyond_caches(report.device));
  const auto group = [&](const char* name, const auto& add) {
    if (options.group != "all" && options.group != name) return;
    fmt::print("{}\n", paint(Colour::bold, name));
    add();
  };
  group("generators", [&] {
    if (names_generator(options)) return measure_generator(report, options);
    bench::bench_generators(report, filter, options.launch);
  });
  group("augmentation", [&] { bench::bench_augmentation(report, filter); });
  group("ops", [&] { bench::bench_ops(report, filter); });
  group("files", [&] { bench::bench_files(report, filter); });
  group("train", [&] {
    ReadingView reading;
    if (config) {
      bench::bench_run(report, *config, reading, options.launch.repeats);
    } else {
      bench::bench_train(report, filter, options.launch);
    }
  });
  if (report.rows.empty()) {
    fail(ErrorKind::config, {fmt::format("no benchmark matches '{}'", options.filter), "",
                             "run it without --filter to see all names"});
  }
  fmt::print("\n{}\n",
             fit("rates: medians with 95 % intervals; shares and times: medians over pairs of "
                 "adjacent windows, so that a row and its bound run under the same load",
                 STDOUT_FILENO, 0));
  return 0;
}

}  // namespace

Command add_bench(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand(
      "bench",
      "measure generators, augmentation, operations and training steps against their upper bounds");
  auto options = std::make_shared<BenchArguments>();
  app->add_option(
         "what", options->group,
         "generators, augmentation, ops, files or train (default: all); ranks: the training step "
         "of a configuration with 1, 2, 4, ... processes on this machine, or with the "
         "ranks of a launcher; compare: the rates in two files of --json")
      ->check(CLI::IsMember(
          {"all", "generators", "augmentation", "ops", "files", "train", "ranks", "compare"}));
  app->add_option("config", options->config,
                  "train: configuration file (YAML) whose training step is measured on its "
                  "data, alternating with the same step on a resident batch (default: built-in "
                  "cases); generators: one generator, built in or ./NAME.h, which is compared with "
                  "the built-in one of the same name; compare: the earlier file");
  app->add_option("settings", options->settings,
                  "key=value: overrides of the configuration, or parameters of the generator; "
                  "compare: the later file");
  app->add_option("--filter", options->filter,
                  "only rows whose names match this extended regular expression");
  app->add_option("--json", options->json, "also write the rows to this JSON file");
  app->add_option("--threshold", options->threshold,
                  "compare: smallest change that counts if it is also beyond the noise (default: "
                  "5%); if a row is slower, the exit code is 5");
  app->add_option("--device", options->device,
                  "cpu, cuda, cuda:N or auto (default: device of the configuration, or auto)");
  bench::LaunchChoice& launch = options->launch;
  add_optional_whole(
      *app, "--batch", launch.batch, 1, 1 << 26,
      "generators: samples per launch (default: a set of standard launches); train: samples per "
      "step");
  add_optional_whole(
      *app, "--size", launch.size, 1, kLargestImageSide,
      "generators and train: image side in pixels (generators with --batch: default 64)");
  add_optional_whole(*app, "--threads", launch.threads, 0, 1024,
                     "generators: CPU threads (0: as shown by `wellspring doctor`)");
  add_optional_whole(
      *app, "--repeats", launch.repeats, 1, 1000,
      "pairs of windows per row, except of augmentation (default: 11; train: more if they fit in 6 "
      "seconds); fewer than 6 give no interval; ranks: runs per number of processes (default: 3)");
  constexpr double kMostRanks = 4096;
  add_optional_whole(*app, "--ranks", options->ranks, 1, kMostRanks,
                     "ranks: most processes (default: 2)");
  app->add_flag("--cold", options->cold,
                "ops: empty the caches before each run; times then include one wait per run");
  app->add_flag("--weak", options->weak,
                "ranks: train.batch is the batch of one process, not of all together");
  return {app, [options] { return run(*options); }};
}

}  // namespace wellspring::cli
