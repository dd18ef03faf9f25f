// `wellspring diagnose`: the throughput ladder of a configuration, and what holds its training back.
#include "bench/machine.h"
#include "bench/machine_rates.h"
#include "cli/command.h"
#include "cli/local_ranks.h"
#include "cli/options.h"
#include "cli/run_trace.h"
#include "cli/terminal.h"
#include "cli/work_bar.h"
#include "core/io/files.h"
#include "core/version.h"
#include "measure/diagnosis_report.h"
#include "measure/gate.h"
#include "measure/training_ladder.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace wellspring::cli {
namespace {

constexpr int kGateFailed = 5;

struct DiagnoseArguments {
  std::string config, json, html, trace;
  std::vector<std::string> settings, conditions;
  std::int64_t seconds = 60;
  bool sweep = false;
};

std::vector<MachineRate> machine_rates(const TrainingLadder& training) {
  std::vector<MachineRate> rates = bench::machine_rates(Device::parse(training.config().device));
  if (const auto decoding = training.decoding_rate())
    rates.push_back({"reading and decoding, one thread", *decoding, "images/s"});
  if (const auto reading = training.reading_rates()) {
    rates.push_back({"storage, cold, one thread", reading->cold, "B/s", reading->not_cold});
    rates.push_back({"storage, warm, one thread", reading->warm, "B/s", reading->not_cold});
  }
  return rates;
}

DiagnosisReport measure(const DiagnoseArguments& options, RunConfig config) {
  WorkView view;
  TrainingLadder training(std::move(config), view);
  view.end();
  if (is_terminal(STDERR_FILENO))
    tell(stderr, "measuring for up to {} s\n", options.seconds * (options.sweep ? 2 : 1));
  const auto seconds = static_cast<double>(options.seconds);
  // The rest is for counterfactuals and, for streamed files, for the cold rung.
  LadderLimits limits;
  limits.part = training.streams() ? 0.6 : 0.8;
  limits.seconds = limits.part * seconds;
  LadderLimits rest;
  rest.part = 0.2;
  rest.seconds = rest.part * seconds;
  rest.at_least_one_turn = true;
  DiagnosisReport report;
  report.ladder = measure_ladder(training.rungs(), limits);
  report.diagnosis = diagnose(report.ladder);
  report.tried = training.test_causes(report.diagnosis.causes, rest);
  confirm(report.diagnosis.causes, report.tried);
  report.files = training.files();
  if (training.streams()) report.cold = training.measure_cold(rest);
  if (options.sweep) {
    LadderLimits all;
    all.seconds = seconds;
    all.at_least_one_turn = true;
    report.sweep = measure_ladder(training.sweep(), all);
  }
  report.machine = machine_rates(training);
  const PlanReport& plan = training.plan();
  report.title = plan.name;
  report.lead = fmt::format(
      "wellspring {}; {}, {}, graph {}; model {} with {} parameters; {} samples "
      "per step",
      kVersion, plan.device, plan.precision, plan.graph, plan.model, plan.parameters, plan.batch);
  report.sources = plan.sources;
  report.notes = training.notes();
  return report;
}

int run(const DiagnoseArguments& options) {
  expect_one_process("diagnose");
  std::vector<Gate> gates;
  for (const std::string& condition : options.conditions) gates.push_back(Gate::parse(condition));
  for (const std::string& path : {options.json, options.html})
    if (!path.empty()) require_creatable(path);
  RunConfig config = RunConfig::load(options.config, options.settings);
  RunTrace trace(options.trace, config.device);
  const DiagnosisReport report = measure(options, std::move(config));
  trace.write();
  tell(stdout, "{}", printable(to_text(report)));
  nlohmann::ordered_json json = to_json(report);
  json["version"] = kVersion;
  json["machine"] = bench::to_json(bench::this_machine());
  int code = 0;
  for (const Gate& gate : gates) {
    const bool fails = gate.fails(report.ladder, report.diagnosis);
    const double value = gate.value(report.ladder, report.diagnosis);
    tell(stdout, "\n--fail-if '{}': {:.4g}, {}\n", gate.text(), value, fails ? "FAILED" : "passed");
    json["gates"].push_back({{"condition", gate.text()}, {"value", value}, {"failed", fails}});
    if (fails) code = kGateFailed;
  }
  write_output(options.json, json.dump(2) + "\n");
  write_output(options.html, to_html(report));
  return code;
}

}  // namespace

Command add_diagnose(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand(
      "diagnose", "measure how fast training would be if data were free, and what holds it back");
  auto options = std::make_shared<DiagnoseArguments>();
  app->add_option("config", options->config, kConfigurationHelp)->required();
  app->add_option("settings", options->settings, "key=value: overrides a key of the configuration");
  constexpr double kDay = 86'400;
  add_whole_option(
      *app, "--seconds", options->seconds, 1, kDay,
      "time limit of the measurement (default: 60), of which a fifth (two fifths with streamed "
      "files) is for tests of causes; it ends earlier when all intervals are within 2 %");
  app->add_flag("--sweep", options->sweep,
                "also measure other batch sizes, threads and batches ahead, for as long again");
  add_output_option(*app, "--json", options->json, "also write the result to this JSON file");
  add_output_option(*app, "--html", options->html, "also write the result to this HTML file");
  add_output_option(*app, "--trace", options->trace, kTraceHelp);
  app->add_option("--fail-if", options->conditions,
                  "end with code 5 if this condition holds, such as 'share_of_ceiling < 0.9' or "
                  "'wait > 5%'; may be repeated; figures: " +
                      gate_names())
      ->allow_extra_args(false);
  return {app, [options] { return run(*options); }};
}

}  // namespace wellspring::cli
