// `wellspring bench`: rates of generators, augmentation, operations and training steps, each beside
// what bounds it.
#include "bench/machine.h"
#include "bench/measure.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/io/files.h"
#include "core/text/plural.h"
#include "core/text/text.h"
#include "core/version.h"
#include "generators/generator.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <string>

namespace wellspring::cli {
namespace {

struct Options {
  std::string group = "all";
  std::string filter, json, device = "auto";
  bench::LaunchChoice launch;
};

void print_header(Device device) {
  const bench::Machine machine = bench::this_machine();
  fmt::print("{}, {}, {} ({})\n", machine.processor, counted(machine.threads, "thread"),
             machine.system, machine.instruction_sets);
  fmt::print("device {} ({}), wellspring {} {} {}\n\n", device.to_string(), describe(device).name,
             kVersion, kBuildType, kHostArchitecture);
}

void print_row(const bench::Row& row) {
  fmt::print("{}\n", bench::to_string(row));
}

int run(const Options& options) {
  bench::Report report{Device::parse(options.device), print_row};
  const bench::Filter filter(options.filter);
  if (!options.json.empty()) require_creatable(options.json);
  print_header(report.device);
  const bool of_train = options.group == "train" && !options.launch.threads;
  if (options.launch.any() && options.group != "generators" && !of_train) {
    fail(
        ErrorKind::config,
        {"command line: --batch and --size are of generators and of train, --threads of generators",
         "", "write wellspring bench generators --batch ..."});
  }
  const auto group = [&](const char* name, const auto& add) {
    if (options.group != "all" && options.group != name) return;
    fmt::print("{}\n", paint(Colour::bold, name));
    add();
  };
  group("generators", [&] { bench::bench_generators(report, filter, options.launch); });
  group("augmentation", [&] { bench::bench_augmentation(report, filter); });
  group("ops", [&] { bench::bench_ops(report, filter); });
  group("train", [&] { bench::bench_train(report, filter, options.launch); });
  if (report.rows.empty()) {
    fail(ErrorKind::config, {fmt::format("no benchmark matches '{}'", options.filter), "",
                             "without --filter all of them run and show their names"});
  }
  fmt::print(
      "\nmedians, with their 95 % intervals; shares and times are medians, too, of pairs of "
      "windows "
      "in which a row and what stands beside it met the same load\n");
  if (!options.json.empty()) {
    OutputFile file(options.json, OutputFile::Mode::replace);
    file.write(bench::to_json(report).dump(2) + "\n");
    file.finish();
  }
  return 0;
}

}  // namespace

Command add_bench(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand("bench",
                                        "measure rates of generators, augmentation, operations and "
                                        "training steps, beside what bounds "
                                        "them");
  auto options = std::make_shared<Options>();
  app->add_option("what", options->group, "generators, augmentation, ops or train; all without it")
      ->check(CLI::IsMember({"all", "generators", "augmentation", "ops", "train"}));
  app->add_option("--filter", options->filter, "only rows whose name matches (extended regex)");
  app->add_option("--json", options->json, "write the rows to this file, too");
  app->add_option("--device", options->device, "cpu, cuda, cuda:N or auto")->capture_default_str();
  bench::LaunchChoice& launch = options->launch;
  add_optional_whole(
      *app, "--batch", launch.batch, 1, 1 << 26,
      "of generators: samples a launch, in place of the usual launches; of train: a step");
  add_optional_whole(
      *app, "--size", launch.size, 1, kLargestImageSide,
      "of generators and train: side of images in pixels, likewise (of generators 64 "
      "with --batch alone)");
  add_optional_whole(*app, "--threads", launch.threads, 0, 1024,
                     "of generators: CPU threads, likewise; 0: as `doctor` says");
  add_whole_option(
      *app, "--repeats", launch.repeats, 1, 1000,
      "pairs of windows a generator's row is the median of; below 6 it has no interval");
  return {app, [options] { return run(*options); }};
}

}  // namespace wellspring::cli
