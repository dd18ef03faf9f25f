// The results of a finished run, read from its folder. Called by the trainer and the command line;
// host only.
#pragma once

#include "train/config/run_config.h"
#include "train/metrics/observer.h"

#include <cstdint>
#include <filesystem>
#include <optional>

namespace wellspring {

/// The evaluation at `step` recorded in the folder's metrics.
std::optional<EvaluationReport> evaluation_at(const std::filesystem::path& folder,
                                              std::uint64_t step);

/// The final report of this run if its folder shows it as trained, evaluated and reported. nullopt
/// if anything is missing or damaged, the folder belongs to another run, or `config` lacks what the
/// trainer completes from the data (see open_normalised). Opens no data, changes nothing, and does
/// not restore rates. Error (data): damaged metrics.
std::optional<FinishReport> finished_run(const RunConfig& config);

}  // namespace wellspring
