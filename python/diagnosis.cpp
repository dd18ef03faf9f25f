// The throughput ladder of a step and a loader that are Python functions.
#include "kernels/runtime/device.h"
#include "measure/diagnosis_report.h"

#include <nlohmann/json.hpp>

#include "python/bindings.h"
#include <algorithm>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <tuple>
#include <utility>

namespace nb = nanobind;

namespace wellspring::python {
namespace {

/// name, stage, samples per step, apart, and a function: number of steps -> (seconds of each step,
/// seconds of each wait, seconds of all, processor time of this process).
using RungArguments = std::tuple<std::string, std::string, double, bool, nb::callable>;
using Times = std::tuple<std::vector<double>, std::vector<double>, double, double>;

constexpr double kOfTests = 0.2;  ///< share of the time that tests of causes may take

/// Measures without the GIL and takes it only to call Python, whose exceptions end the measurement.
/// The arguments keep the functions alive: copies of handles do not count references.
Ladder measure(const std::vector<RungArguments>& arguments, double seconds, double part,
               nb::handle clock, LadderLimits limits = {}) {
  std::vector<Rung> rungs;
  for (const auto& [name, stage, samples, apart, function] : arguments) {
    Rung& rung = rungs.emplace_back(Rung{name, stage, samples});
    rung.apart = apart;
    rung.processors = usable_cpu_count();
    rung.run = [run = nb::handle(function)](std::int64_t steps) {
      wait_until_idle();
      const nb::gil_scoped_acquire acquire;
      auto [each, waits, wall, processor] = nb::cast<Times>(run(steps));
      return StepTimes{std::move(each), std::move(waits), wall, processor};
    };
  }
  limits.seconds = part * seconds;
  limits.part = part;
  limits.option = "seconds=";
  limits.clock = [clock] {
    const nb::gil_scoped_acquire acquire;
    return nb::cast<double>(clock());
  };
  const nb::gil_scoped_release release;
  return measure_ladder(rungs, limits);
}

/// Measures the tests of these causes with the configuration. A test's stage is the one in which it
/// has less work.
std::vector<Counterfactual> test_causes(const std::vector<Cause>& causes,
                                        const RungArguments& configured,
                                        const std::vector<RungArguments>& tests, double seconds,
                                        nb::handle clock) {
  std::vector<RungArguments> rungs = {configured};
  std::vector<Counterfactual> tried;
  for (const RungArguments& test : tests) {
    const Counterfactual one{std::get<0>(test), {std::get<1>(test)}};
    if (std::ranges::none_of(causes, [&](const Cause& cause) { return one.tests(cause); }))
      continue;
    rungs.push_back(test);
    tried.push_back(one);
  }
  if (tried.empty()) return tried;
  LadderLimits limits;
  limits.window = 0.1;  // enough turns for intervals
  limits.at_least_one_turn = true;
  const Ladder ladder = measure(rungs, seconds, kOfTests, clock, limits);
  for (std::size_t i = 0; i < tried.size(); ++i) {
    tried[i].gain = ladder.rungs[i + 1].share;
    tried[i].interval = ladder.rungs[i + 1].share_interval;
  }
  return tried;
}

/// The report as text, JSON and HTML. `tests` have less work in one stage than the last rung of the
/// ladder. `notes` is called after the measurement.
std::tuple<std::string, std::string, std::string> diagnose(
    const std::string& title, const std::string& lead, const std::vector<RungArguments>& rungs,
    const std::vector<RungArguments>& tests, double seconds, const nb::callable& clock,
    const nb::callable& notes) {
  DiagnosisReport report;
  report.title = title;
  report.lead = lead;
  report.ladder = measure(rungs, seconds, tests.empty() ? 1 : 1 - kOfTests, clock);
  report.diagnosis = wellspring::diagnose(report.ladder);
  const auto configured = std::ranges::find_if(rungs, [&](const RungArguments& rung) {
    return std::get<0>(rung) == report.ladder.configured().name;
  });
  report.tried = test_causes(report.diagnosis.causes, *configured, tests, seconds, clock);
  confirm(report.diagnosis.causes, report.tried);
  report.notes = nb::cast<std::vector<std::string>>(notes());
  return {to_text(report), to_json(report).dump(), to_html(report)};
}

}  // namespace

void bind_diagnosis(nb::module_& module) {
  module.def("diagnose", diagnose);
}

}  // namespace wellspring::python
