// Figures of a rate and its ceiling as JSON. Called by benchmarks and the metrics of runs; host
// only.
#pragma once

#include "core/measure/processor_load.h"
#include "core/measure/spread.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>

namespace wellspring {

/// [low, high], or null.
nlohmann::ordered_json to_json(const std::optional<Interval>& interval);
/// Processors that were taken: "own" by this program and, where that is known, by "others" and
/// "stolen" by the machine's host, "of" so many.
nlohmann::ordered_json to_json(const ProcessorLoad& load);

}  // namespace wellspring
