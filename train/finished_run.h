// What a run folder holds of a run that was trained to its end. Called by the trainer and the
// command line; host only.
#pragma once

#include "train/config/run_config.h"
#include "train/metrics/observer.h"

#include <cstdint>
#include <filesystem>
#include <optional>

namespace wellspring {

/// The evaluation of a step, as a run folder's metrics have it.
std::optional<EvaluationReport> evaluation_at(const std::filesystem::path& folder,
                                              std::uint64_t step);

/// The end of a run of this configuration that is trained, evaluated and reported, from its folder
/// alone; nothing where any of that is missing or damaged, or the folder belongs to another run.
/// The data are not looked at. Rates are not known any more. Reads only. Error (data) where its
/// metrics are damaged.
std::optional<FinishReport> finished_run(const RunConfig& config);

/// Whether the learning rates of its steps would be the same in a run of more steps.
bool may_be_longer(const RunConfig& config);

}  // namespace wellspring
