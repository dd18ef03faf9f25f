// The throughput ladder of a step and a loader that are Python functions.
#include "measure/diagnosis_report.h"

#include <nlohmann/json.hpp>

#include "python/bindings.h"
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <tuple>
#include <utility>

namespace nb = nanobind;

namespace wellspring::python {
namespace {

/// name, stage, samples per step, apart, and a function: number of steps -> (seconds of each step,
/// seconds of each wait, seconds of all).
using RungArguments = std::tuple<std::string, std::string, double, bool, nb::callable>;
using Times = std::tuple<std::vector<double>, std::vector<double>, double>;

/// Measures without the GIL and takes it only to call Python, whose exceptions end the measurement.
/// The arguments keep the functions alive: copies of handles do not count references.
Ladder measure(const std::vector<RungArguments>& arguments, double seconds, nb::handle clock) {
  std::vector<Rung> rungs;
  for (const auto& [name, stage, samples, apart, function] : arguments) {
    Rung& rung = rungs.emplace_back(Rung{name, stage, samples});
    rung.apart = apart;
    rung.run = [run = nb::handle(function)](std::int64_t steps) {
      wait_until_idle();
      const nb::gil_scoped_acquire acquire;
      auto [each, waits, wall] = nb::cast<Times>(run(steps));
      return StepTimes{std::move(each), std::move(waits), wall};
    };
  }
  LadderLimits limits;
  limits.seconds = seconds;
  limits.option = "seconds=";
  limits.clock = [clock] {
    const nb::gil_scoped_acquire acquire;
    return nb::cast<double>(clock());
  };
  const nb::gil_scoped_release release;
  return measure_ladder(rungs, limits);
}

/// The report as text, JSON and HTML. `notes` is called after the measurement.
std::tuple<std::string, std::string, std::string> diagnose(
    const std::string& title, const std::string& lead, const std::vector<RungArguments>& rungs,
    double seconds, const nb::callable& clock, const nb::callable& notes) {
  DiagnosisReport report;
  report.title = title;
  report.lead = lead;
  report.ladder = measure(rungs, seconds, clock);
  report.diagnosis = wellspring::diagnose(report.ladder);
  report.notes = nb::cast<std::vector<std::string>>(notes());
  return {to_text(report), to_json(report).dump(), to_html(report)};
}

}  // namespace

void bind_diagnosis(nb::module_& module) {
  module.def("diagnose", diagnose);
}

}  // namespace wellspring::python
