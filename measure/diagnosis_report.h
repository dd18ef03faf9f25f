// The result of `diagnose` as text, JSON and HTML, with advice. Called by the command line and
// the Python module; host only.
#pragma once

#include "measure/diagnosis.h"
#include "measure/training_ladder.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

namespace wellspring {

/// A rate of this machine, measured in the same run.
struct MachineRate {
  std::string what;            ///< "memory copy, read and written"
  std::optional<double> rate;  ///< nullopt: see `reason`
  std::string unit;            ///< "B/s", "FLOP/s", "images/s"
  std::string reason = {};     ///< without a rate
};

struct DiagnosisReport {
  std::string title;  ///< name of the configuration
  std::string lead;   ///< device, precision, model, batch
  Ladder ladder;
  Diagnosis diagnosis;
  std::vector<Counterfactual> tried;  ///< from TrainingLadder::test_causes
  std::optional<ColdFiles> cold;      ///< only for streamed files
  std::optional<FileCount> files;     ///< the same
  std::optional<Ladder> sweep;        ///< from TrainingLadder::sweep
  std::vector<MachineRate> machine;
  std::vector<PlanReport::Input> sources;  ///< a configuration's; empty: a loader of other programs
  std::vector<std::string> notes;
};

/// Remedies of confirmed causes, with expected gain and memory; then generation on the device, cold
/// files, and what a sweep has found. The largest gain comes first.
std::vector<std::string> advice(const DiagnosisReport& report);
/// The rung of a sweep with the most samples per second whose interval is above that of the
/// configuration; otherwise the configuration.
const RungResult& best_of_sweep(const Ladder& sweep);
std::string to_text(const DiagnosisReport& report);
nlohmann::ordered_json to_json(const DiagnosisReport& report);
/// A self-contained page.
std::string to_html(const DiagnosisReport& report);

}  // namespace wellspring
