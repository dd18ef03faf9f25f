// Results of evaluations as text. Called by the subcommands; host only.
#pragma once

#include "train/metrics/observer.h"

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring::cli {

enum class Depth : std::uint8_t {
  summary,  ///< only scores that are not marked as details
  full,     ///< all scores, and the tables of classifiers
};

/// "81.3 %".
std::string percent(double fraction);
/// Cells aligned in columns; each line begins with a line break and an indent.
std::string aligned(const std::vector<std::vector<std::string>>& lines);
/// Result of one held-out source: "shapes: accuracy 98.10 +- 0.21 % (best possible 99.00 %), loss
/// 0.0710, 4096 samples". A summary of more than four scores, and any full result, continues with
/// tables.
std::string evaluation_text(const EvaluationResult& result, Depth depth = Depth::summary);

}  // namespace wellspring::cli
