// Intervals and processor loads as JSON. Called by benchmarks and run metrics; host only.
#pragma once

#include "core/measure/processor_load.h"
#include "core/measure/spread.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>

namespace wellspring {

/// [low, high], or null.
nlohmann::ordered_json to_json(const std::optional<Interval>& interval);
/// Processors used: "own" by this program and, if known, "others" by other programs, "stolen" by
/// the hypervisor, and "of", the number of processors.
nlohmann::ordered_json to_json(const ProcessorLoad& load);

}  // namespace wellspring
