// `wellspring bench`: rates of generators, operations and training steps, each beside its ceiling.
#include "bench/machine.h"
#include "bench/measure.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "core/counted.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "core/version.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <string>

namespace wellspring::cli {
namespace {

struct Options {
  std::string group = "all";
  std::string filter, json, device = "auto";
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
  const auto group = [&](const char* name, void (*add)(bench::Report&, const bench::Filter&)) {
    if (options.group != "all" && options.group != name) return;
    fmt::print("{}\n", paint(Colour::bold, name));
    add(report, filter);
  };
  group("generators", bench::bench_generators);
  group("ops", bench::bench_ops);
  group("train", bench::bench_train);
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
  CLI::App* app = parent.add_subcommand(
      "bench", "measure rates of generators, operations and training steps, beside their ceilings");
  auto options = std::make_shared<Options>();
  app->add_option("what", options->group, "generators, ops or train; all without it")
      ->check(CLI::IsMember({"all", "generators", "ops", "train"}));
  app->add_option("--filter", options->filter, "only rows whose name matches (extended regex)");
  app->add_option("--json", options->json, "write the rows to this file, too");
  app->add_option("--device", options->device, "cpu, cuda, cuda:N or auto")->capture_default_str();
  return {app, [options] { return run(*options); }};
}

}  // namespace wellspring::cli
